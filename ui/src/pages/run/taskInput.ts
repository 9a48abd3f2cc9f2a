import type { Schemas } from "@/api/client";

/** True if the task has been given an input: it became ready, and was not skipped or cancelled before. */
export function hasInput(task: Pick<Schemas["TaskDetail"], "state" | "attempt">): boolean {
  if (task.state === "pending" || task.state === "skipped") return false;
  return task.state !== "cancelled" || (task.attempt ?? 0) > 0;
}
