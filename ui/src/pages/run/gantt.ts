import type { Schemas } from "@/api/client";

export type Timeline = Schemas["Timeline"];
type TimelineTask = Schemas["TimelineTask"];

/** A part of a row, in seconds since the begin of the picture. */
export interface Bar {
  kind: "wait" | "queue" | "run";
  from: number;
  to: number;
  /** It goes on. */
  open: boolean;
  attempt?: number;
  outcome?: string;
  title: string;
}

export interface GanttRow {
  name: string;
  state: string;
  critical: boolean;
  items?: Record<string, number>;
  bars: Bar[];
}

export interface Gantt {
  /** When the picture begins, in seconds since 1970. */
  start: number;
  /** How long it is, in seconds. */
  length: number;
  rows: GanttRow[];
}

const SHORTEST = 0.001;

/** Returns the rows and bars of a timeline: waits, the way to an executor, and every attempt are bars of their own. */
export function ganttOf(timeline: Timeline, now: number): Gantt {
  const start = timeline.created_at;
  const end = timeline.finished_at ?? Math.max(now, timeline.at);
  const rows = timeline.tasks.map((task) => rowOf(task, start, end));
  let last = end;
  for (const row of rows) for (const bar of row.bars) last = Math.max(last, bar.to + start);
  return { start, length: Math.max(SHORTEST, last - start), rows };
}

function rowOf(task: TimelineTask, start: number, end: number): GanttRow {
  const bars: Bar[] = [];
  const add = (
    kind: Bar["kind"],
    from: number,
    to: number | null | undefined,
    title: string,
    more: Partial<Bar> = {},
  ) => {
    const until = to ?? end;
    if (until - from < 0) return;
    bars.push({ kind, from: from - start, to: until - start, open: to === null || to === undefined, title, ...more });
  };
  for (const wait of task.waits ?? []) add("wait", wait.since, wait.until, wait.reason ?? "ready, waits to be started");
  for (const each of task.attempts ?? []) {
    const where = [each.executor, each.worker].filter(Boolean).join(" on ");
    const more = { attempt: each.attempt, outcome: each.outcome ?? undefined };
    const title = [`attempt ${each.attempt}`, where && `at ${where}`, each.outcome, each.error ?? each.reason];
    // An attempt that was handed back never began: all of it was the way to the executor and back.
    const never = each.outcome === "returned" && !each.started_at;
    const began = never ? (each.ended_at ?? end) : beginOf(each);
    const way = `attempt ${each.attempt}, on its way to ${where || "its executor"}`;
    if (began > each.began_at) add("queue", each.began_at, began, way, more);
    if (!never) add("run", began, each.ended_at, title.filter(Boolean).join(", "), more);
  }
  if (bars.every((bar) => bar.kind !== "run") && task.started_at) {
    add("run", task.started_at, task.finished_at, task.items ? "first item begins, last item ends" : task.state, {
      outcome: task.state,
    });
  }
  return {
    name: task.name,
    state: task.state,
    critical: task.critical ?? false,
    items: task.items ?? undefined,
    bars,
  };
}

/** Returns when the body of an attempt began: the clock of its executor may differ from that of the other times. */
function beginOf({ began_at, started_at, ended_at }: Schemas["TimelineAttempt"]): number {
  return Math.min(Math.max(started_at ?? began_at, began_at), ended_at ?? Number.POSITIVE_INFINITY);
}

const STEPS = [1, 2, 5];

/** Returns the times of marks that are at least `apart` pixels from each other, as seconds since the begin. */
export function ticks(from: number, to: number, width: number, apart = 90): number[] {
  if (!(to > from) || width <= 0) return [];
  const least = ((to - from) / width) * apart;
  const step = stepOf(least);
  const found: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(Math.round(at * 1e6) / 1e6);
  return found;
}

const CLOCK = [60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400];

function stepOf(least: number): number {
  if (least > 20) return CLOCK.find((each) => each >= least) ?? Math.ceil(least / 86_400) * 86_400;
  const power = 10 ** Math.floor(Math.log10(least));
  return (STEPS.find((each) => each * power >= least) ?? 10) * power;
}

/** A part of the picture, in seconds since its begin. */
export interface Span {
  from: number;
  to: number;
}

/** Returns the part that is shown after zooming by a factor around a moment, within the picture. */
export function zoomed({ from, to }: Span, factor: number, around: number, length: number): Span {
  const size = Math.min(length, Math.max(length / 10_000, (to - from) * factor));
  const share = to > from ? (around - from) / (to - from) : 0.5;
  const start = Math.min(Math.max(0, around - share * size), length - size);
  return { from: start, to: start + size };
}

/** Returns where a bar is in the part that is shown, in hundredths of its width; null if it is outside. */
export function placeOf(bar: Pick<Bar, "from" | "to">, { from, to }: Span): { left: number; width: number } | null {
  if (bar.to < from || bar.from > to) return null;
  const size = to - from;
  const left = Math.max(0, (bar.from - from) / size) * 100;
  const right = Math.min(1, (bar.to - from) / size) * 100;
  return { left, width: right - left };
}
