import type { Schemas } from "@/api/client";

type ChangedTask = Schemas["ChangedTask"];
type Decision = Schemas["Decision"];

/** Decisions that other rules would move from one place to another. */
export interface Shift {
  from: Place;
  /** Null: the tasks would be refused. */
  to: Place | null;
  /** Decisions, over all tasks. */
  count: number;
  /** The tasks, the most frequent first. */
  tasks: ChangedTask[];
}

export interface Place {
  executor: string;
  labels: Record<string, string>;
}

/** Returns changed decisions by where they went and where they would go: refusals first, then the most frequent. */
export function shiftsOf(changes: readonly ChangedTask[]): Shift[] {
  const found = new Map<string, Shift>();
  for (const change of changes) {
    const from = placeOf(change.was);
    const to = change.now ? placeOf(change.now) : null;
    const key = JSON.stringify([keyOf(from), to && keyOf(to)]);
    const shift = found.get(key) ?? { from, to, count: 0, tasks: [] };
    shift.count += change.count;
    shift.tasks.push(change);
    found.set(key, shift);
  }
  const shifts = [...found.values()];
  for (const shift of shifts) shift.tasks.sort((one, other) => other.count - one.count);
  return shifts.sort((one, other) => Number(one.to !== null) - Number(other.to !== null) || other.count - one.count);
}

function placeOf({ executor, labels }: Decision): Place {
  return { executor, labels: labels ?? {} };
}

function keyOf({ executor, labels }: Place): unknown {
  return [executor, Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1))];
}

/** Returns the number of decisions that would change, and of those that would be refused. */
export function totals(shifts: readonly Shift[]): { changed: number; refused: number } {
  const sum = (some: readonly Shift[]) => some.reduce((all, each) => all + each.count, 0);
  return { changed: sum(shifts), refused: sum(shifts.filter((each) => each.to === null)) };
}
