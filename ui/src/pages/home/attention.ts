import type { LinkProps } from "@tanstack/react-router";
import type { Schemas } from "@/api/client";
import type { IconName } from "@/components";
import { lastSegment, shortId } from "@/lib/names";
import type { Tone } from "@/lib/states";
import { duration } from "@/lib/time";

/** One thing that needs the viewer: what it is, why, and where to look. */
export interface Item {
  key: string;
  kind: string;
  icon: IconName;
  tone: Tone;
  title: string;
  /** Why, in words. */
  detail: string;
  /** What would end it. */
  remedy?: string;
  at?: number;
  link: Pick<LinkProps, "to" | "params" | "search">;
}

/** Returns all that needs attention, the most urgent kinds first. */
export function itemsOf(found: Schemas["Attention"]): Item[] {
  return [
    ...found.troubles.map(trouble),
    ...found.breakers.map(breaker),
    ...found.workers.map(worker),
    ...found.waiting.map(waiting),
    ...found.schedules.map(schedule),
    ...grouped(found.failed).map(failure),
  ];
}

function trouble(each: Schemas["Trouble"]): Item {
  const bad = each.condition === "unhealthy";
  return {
    key: `trouble ${each.where} ${each.why}`,
    kind: each.condition,
    icon: "orchestration",
    tone: bad ? "bad" : "wait",
    title: `The ${each.where} is ${each.condition}`,
    detail: sentence(each.why),
    link: { to: each.where === "hub" ? "/workers" : "/orchestration" },
  };
}

function breaker(each: Schemas["OpenBreaker"]): Item {
  const half = each.state === "half_open";
  return {
    key: `breaker ${each.kind} ${each.name} ${each.orchestrator}`,
    kind: "breaker",
    icon: "alert",
    tone: half ? "wait" : "bad",
    title: `The breaker of ${each.kind} ${each.name} is ${half ? "half open" : "open"}`,
    detail: each.cause || "It failed too often; it is tried again by and by.",
    link: { to: each.kind === "worker" ? "/workers" : each.kind === "pool" ? "/orchestration" : "/dispatch" },
  };
}

function worker(each: Schemas["LostWorker"]): Item {
  return {
    key: `worker ${each.id}`,
    kind: "lost worker",
    icon: "workers",
    tone: "bad",
    title: `Worker ${each.name} was lost`,
    detail: `It ran on ${each.host || "an unknown host"} and has not come back.`,
    at: each.lost_at,
    link: { to: "/workers" },
  };
}

function waiting(each: Schemas["LongWait"]): Item {
  const what = each.task ? `${lastSegment(each.task)} of ${lastSegment(each.workflow)}` : lastSegment(each.workflow);
  const usual = each.usual ? `, usually at most ${duration(each.usual)}` : "";
  return {
    key: `wait ${each.run_id} ${each.task ?? ""}`,
    kind: "waiting",
    icon: "schedules",
    tone: "wait",
    title: `${what} has waited for ${duration(each.waited)}${usual}`,
    detail: whyItWaits(each),
    remedy: each.wait?.remedy,
    at: each.since,
    link: { to: "/runs/$runId", params: { runId: each.run_id }, search: each.task ? { task: each.task } : {} },
  };
}

/** Returns the reason with the names that it has, such as labels and limits, and what it means. */
function whyItWaits(each: Schemas["LongWait"]): string {
  const named = each.reason && /[:{(\s]/.test(each.reason) ? each.reason : undefined;
  const parts = [named, each.wait?.meaning].filter((part) => part !== undefined);
  return parts.length > 0 ? parts.join(": ") : (each.reason ?? "It gives no reason.");
}

function schedule(each: Schemas["LateSchedule"]): Item {
  return {
    key: `schedule ${each.id}`,
    kind: "late schedule",
    icon: "schedules",
    tone: "wait",
    title: `The schedule of ${lastSegment(each.workflow)} is ${duration(each.late)} late`,
    detail: "No server that has its workflow decides about its due times.",
    at: each.due_at,
    link: { to: "/schedules" },
  };
}

/** Returns failed runs of one workflow together, in the order of the first of each. */
function grouped(runs: readonly Schemas["Run"][]): Schemas["Run"][][] {
  const groups = new Map<string, Schemas["Run"][]>();
  for (const run of runs) groups.set(run.workflow, [...(groups.get(run.workflow) ?? []), run]);
  return [...groups.values()];
}

function failure(runs: Schemas["Run"][]): Item {
  const [run] = runs as [Schemas["Run"]];
  const several = runs.length > 1;
  const latest = run.error?.message || run.reason || `Run ${shortId(run.id)} gives no reason.`;
  return {
    key: `failed ${run.id}`,
    kind: "failed",
    icon: "close",
    tone: "bad",
    title: several ? `${run.name} failed ${runs.length} times` : `${run.name} failed`,
    detail: several ? `The last time: ${latest}` : sentence(latest),
    at: run.finished_at ?? run.created_at,
    link: several
      ? { to: "/runs", search: { workflow: run.workflow, state: ["failed"] } }
      : { to: "/runs/$runId", params: { runId: run.id } },
  };
}

/** Returns a text with a capital letter at its beginning. */
function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
