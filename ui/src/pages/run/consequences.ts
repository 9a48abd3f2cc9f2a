import type { Schemas } from "@/api/client";
import { counted } from "@/lib/numbers";

type Counts = Pick<Schemas["RunDetail"], "tasks">;
type Node = Pick<Schemas["GraphNode"], "name" | "state">;

/** Names of tasks that a sentence has at most. */
const NAMED = 5;

/** Returns what an action does to the tasks of a run, in sentences; the tasks of its graph are named. */
export function consequences(run: Counts, nodes: readonly Node[], action: "cancel" | "pause" | "resume"): string[] {
  const count = (...states: string[]) => states.reduce((sum, state) => sum + (run.tasks?.[state] ?? 0), 0);
  const named = (...states: string[]) => {
    const names = nodes.filter((node) => states.includes(node.state)).map((node) => node.name);
    if (names.length === 0) return "";
    const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : "";
    return `: ${names.slice(0, NAMED).join(", ")}${more}`;
  };
  const [running, waiting, done] = [count("running"), count("ready", "pending"), count("completed")];
  const says = (number: number, one: string, many: string) => `${counted(number, "task")} ${number === 1 ? one : many}`;
  if (action === "resume") {
    return [
      `${says(waiting, "starts as soon as it can", "start as soon as they can")}${named("ready", "pending")}.`,
      `The results of ${counted(done, "completed task")} stay: none runs again.`,
    ];
  }
  if (action === "pause") {
    return [
      `${says(running, "that runs goes on to its end", "that run go on to their end")}${named("running")}.`,
      `${says(waiting, "does not start until you resume", "do not start until you resume")}${named("ready", "pending")}.`,
      `The results of ${counted(done, "completed task")} stay: none runs again.`,
    ];
  }
  return [
    `${says(running, "that runs is stopped", "that run are stopped")}${named("running")}.`,
    `${says(waiting, "that has not started never will", "that have not started never will")}${named("ready", "pending")}.`,
    `The results of ${counted(done, "completed task")} are kept: a rerun reuses them and runs the rest.`,
  ];
}
