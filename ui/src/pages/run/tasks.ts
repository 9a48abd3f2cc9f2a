import type { InfiniteData } from "@tanstack/react-query";
import type { Schemas } from "@/api/client";

export type Task = Schemas["TaskView"];
export type Move = Schemas["Move"];
type TaskPage = Schemas["TaskPage"];

/** The order of groups: what needs the viewer comes first. */
export const TASK_STATES: readonly Schemas["TaskState"][] = [
  "failed",
  "running",
  "ready",
  "pending",
  "cancelled",
  "completed",
  "skipped",
];

/** A row of the table: the head of a group, or a task. */
export type Row = { kind: "group"; state: string; count: number; closed: boolean } | { kind: "task"; task: Task };

/** Returns the rows of the table: tasks by state below the head of their group, or all of them in their order. */
export function rowsOf(tasks: readonly Task[], typed: string, grouped: boolean, closed: ReadonlySet<string>): Row[] {
  const wanted = typed.trim().toLowerCase();
  const fits = (task: Task) =>
    `${task.name} ${task.executor ?? ""} ${task.error?.message ?? task.reason ?? ""}`.toLowerCase().includes(wanted);
  const chosen = wanted === "" ? tasks : tasks.filter(fits);
  if (!grouped) return chosen.map((task) => ({ kind: "task", task }));
  const groups = new Map<string, Task[]>(TASK_STATES.map((state) => [state, []]));
  for (const task of chosen) {
    const group = groups.get(task.state);
    if (group) group.push(task);
    else groups.set(task.state, [task]);
  }
  const rows: Row[] = [];
  for (const [state, group] of groups) {
    if (group.length === 0) continue;
    const isClosed = closed.has(state);
    rows.push({ kind: "group", state, count: group.length, closed: isClosed });
    if (!isClosed) for (const task of group) rows.push({ kind: "task", task });
  }
  return rows;
}

/** Returns the pages with tasks as they are after these moves; pages without any of them stay the same. */
export function moved(
  data: InfiniteData<TaskPage, string | undefined> | undefined,
  moves: readonly Move[],
): InfiniteData<TaskPage, string | undefined> | undefined {
  const byTask = new Map<string, Move[]>();
  for (const move of moves) {
    if (!move.task) continue;
    const known = byTask.get(move.task);
    if (known) known.push(move);
    else byTask.set(move.task, [move]);
  }
  if (!data || byTask.size === 0) return data;
  let any = false;
  const pages = data.pages.map((page) => {
    if (!page.tasks.some((task) => byTask.has(task.name))) return page;
    any = true;
    return { ...page, tasks: page.tasks.map((task) => (byTask.get(task.name) ?? []).reduce(after, task)) };
  });
  return any ? { ...data, pages } : data;
}

const ENDS: ReadonlySet<string> = new Set(["completed", "failed", "skipped", "cancelled"]);

/** What a move says beside the states: of a start the executor and why it was chosen, else the reason and the error. */
interface Detail {
  executor?: string;
  reason?: string;
  /** The type and the message. */
  error?: string;
}

function detailOf({ detail }: Move): Detail {
  if (typeof detail !== "object" || detail === null) return {};
  const text = (name: keyof Detail) => {
    const found = (detail as Record<string, unknown>)[name];
    return typeof found === "string" ? found : undefined;
  };
  return { executor: text("executor"), reason: text("reason"), error: text("error") };
}

function errorOf(text: string): NonNullable<Task["error"]> {
  const [type = "", ...message] = text.split(": ");
  return { type, message: message.join(": ") };
}

function after(task: Task, move: Move): Task {
  const state = move.new as Task["state"];
  const begins = state === "running" && (task.state !== "running" || task.attempt !== move.attempt);
  const { executor, reason, error } = detailOf(move);
  const next = {
    ...task,
    state,
    attempt: move.attempt || task.attempt,
    started_at: begins ? move.at : task.started_at,
    finished_at: ENDS.has(state) ? move.at : null,
  };
  if (begins) return { ...next, executor: executor ?? task.executor, decision: reason, reason: null, error: null };
  return {
    ...next,
    reason: reason ?? (state === task.state ? task.reason : null),
    error: error === undefined ? (state === task.state ? task.error : null) : errorOf(error),
  };
}

/**
 * Returns tasks with what was read about the open ones since: where they run and why they wait. Moves may have come
 * meanwhile, so that a reading counts for a task in the same state and attempt only.
 */
export function refreshed(tasks: readonly Task[], open: readonly Task[]): readonly Task[] {
  if (open.length === 0) return tasks;
  const byName = new Map(open.map((task) => [task.name, task]));
  return tasks.map((task) => {
    const found = byName.get(task.name);
    if (found?.state !== task.state || found.attempt !== task.attempt) return task;
    // When an attempt began is stored with its end; its move has said it before.
    return { ...found, started_at: found.started_at ?? task.started_at };
  });
}

/** How much of a task is done, as it says itself. */
export interface Progress {
  done: number;
  total?: number;
  message?: string;
}

/** Reads the JSON of a progress; null if it is none. */
export function progressOf(text: string | null | undefined): Progress | null {
  if (!text) return null;
  try {
    const found: unknown = JSON.parse(text);
    if (typeof found !== "object" || found === null) return null;
    const { done, total, message } = found as Record<string, unknown>;
    if (typeof done !== "number") return null;
    return {
      done,
      total: typeof total === "number" ? total : undefined,
      message: typeof message === "string" ? message : undefined,
    };
  } catch {
    return null;
  }
}
