import type { Schemas } from "@/api/client";
import { duration } from "@/lib/time";

type History = Schemas["WorkflowHistory"];
type PastRun = Schemas["PastRun"];
type PastTask = Schemas["PastTask"];

export interface MatrixRun extends PastRun {
  /** The height of its bar: its duration as a share of the longest one, from 0 to 1. */
  share: number;
  /** True: the run has another version than the one before it. */
  changed: boolean;
}

export interface MatrixRow {
  name: string;
  /** One for each run, oldest first; null where the run has no such task. */
  cells: readonly (PastTask | null)[];
  p50: number | null;
  p95: number | null;
}

export interface Matrix {
  runs: readonly MatrixRun[];
  rows: readonly MatrixRow[];
  longest: number;
}

/** Returns the tasks × runs of a history with the oldest run at the left. */
export function matrixOf(history: History): Matrix {
  const runs = [...history.runs].reverse();
  const longest = Math.max(0, ...runs.map((run) => run.duration ?? 0));
  return {
    longest,
    runs: runs.map((run, index) => ({
      ...run,
      share: longest > 0 ? (run.duration ?? 0) / longest : 0,
      changed: index > 0 && runs[index - 1]?.version !== run.version,
    })),
    rows: history.tasks.map((task) => ({
      name: task.name,
      cells: [...task.cells].reverse(),
      p50: task.duration.p50 ?? null,
      p95: task.duration.p95 ?? null,
    })),
  };
}

/** Returns what a cell means, in words. */
export function cellWords(cell: PastTask | null): string {
  if (cell === null) return "not in this version";
  const words: string[] = [cell.state];
  if (cell.reused) words.push("result reused");
  if (cell.attempt !== undefined && cell.attempt > 1) words.push(`attempt ${cell.attempt}`);
  if (cell.duration !== null && cell.duration !== undefined) words.push(duration(cell.duration));
  if (cell.items)
    words.push(
      Object.entries(cell.items)
        .map(([state, count]) => `${count} ${state}`)
        .join(", "),
    );
  return words.join(" · ");
}

/** The slowest tasks with their share of the slowest one's median, the slowest first. */
export function slowestOf(history: History): { name: string; p50: number; p95: number; share: number }[] {
  const known = new Map(history.tasks.map((task) => [task.name, task.duration]));
  const found = history.slowest.flatMap((name) => {
    const spread = known.get(name);
    return spread?.p50 === null || spread?.p50 === undefined
      ? []
      : [{ name, p50: spread.p50, p95: spread.p95 ?? spread.p50 }];
  });
  const longest = Math.max(0, ...found.map((each) => each.p95));
  return found.map((each) => ({ ...each, share: longest > 0 ? each.p50 / longest : 0 }));
}
