import type { Schemas } from "@/api/client";

export type RunState = Schemas["RunState"];
export type TaskState = Schemas["TaskState"];
export type AnyState = RunState | TaskState;

/** A colour by its meaning. */
export type Tone = "ok" | "bad" | "run" | "wait" | "hold" | "idle";

const TONES: Record<AnyState, Tone> = {
  pending: "idle",
  ready: "wait",
  running: "run",
  paused: "hold",
  cancelling: "wait",
  completed: "ok",
  failed: "bad",
  skipped: "idle",
  cancelled: "idle",
};

/** Returns the colour of a state; one that this page does not know yet is neutral. */
export function toneOf(state: string): Tone {
  return TONES[state as AnyState] ?? "idle";
}

/** Outcomes of attempts that are no states of tasks. */
const OUTCOMES: Record<string, string> = {
  retry: "failed",
  timed_out: "failed",
  crashed: "failed",
  lost: "failed",
  returned: "ready",
  deferred: "ready",
};

/** Returns the state whose colour an attempt with this outcome has. */
export function stateOfOutcome(outcome: string): string {
  return OUTCOMES[outcome] ?? outcome;
}

export const RUN_STATES: RunState[] = [
  "running",
  "pending",
  "paused",
  "cancelling",
  "failed",
  "completed",
  "cancelled",
];
export const ENDED: ReadonlySet<string> = new Set(["completed", "failed", "cancelled", "skipped"]);

/** Classes of a filled label of each colour. */
export const SOFT: Record<Tone, string> = {
  ok: "bg-ok-soft text-ok",
  bad: "bg-bad-soft text-bad",
  run: "bg-run-soft text-run",
  wait: "bg-wait-soft text-wait",
  hold: "bg-hold-soft text-hold",
  idle: "bg-idle-soft text-idle",
};

/** Classes of a mark of each colour: dots, bars, strips. */
export const MARK: Record<Tone, string> = {
  ok: "bg-ok-mark",
  bad: "bg-bad-mark",
  run: "bg-run-mark",
  wait: "bg-wait-mark",
  hold: "bg-hold-mark",
  idle: "bg-idle-mark",
};
