import type { Schemas } from "@/api/client";
import type { GraphLink, GraphTask, TaskGraph } from "@/components/graph/arrange";

type Graph = Schemas["WorkflowGraph"];
type Task = Schemas["PlacedTask"];
type Parameter = Schemas["WorkflowParameter"];

/** One thing that two versions of a workflow have differently. */
export interface Change {
  kind: "added" | "removed" | "changed";
  noun: "task" | "edge" | "parameter";
  name: string;
  /** Of a change: what it was and is, by property. */
  details: readonly { property: string; was: string; now: string }[];
}

/** Returns the graph of a workflow as pictures show it. */
export function graphOf(graph: Graph): TaskGraph {
  return { tasks: graph.tasks.map(shown), links: graph.edges };
}

function shown(task: Task): GraphTask {
  return {
    name: task.name,
    column: task.column,
    row: task.row,
    kind: task.kind,
    note: task.executor ?? undefined,
    hook: task.hook ?? undefined,
    items: task.mapped ? {} : undefined,
  };
}

/** Properties by which two versions of a task are told apart; its place in the picture is none. */
const OF_TASKS = [
  "kind",
  "ref",
  "depends_on",
  "attempts",
  "timeout",
  "worker_selector",
  "executor",
  "mapped",
  "hook",
] as const satisfies readonly (keyof Task)[];
const OF_PARAMETERS = ["required", "default", "type", "description"] as const satisfies readonly (keyof Parameter)[];

/** Returns what changed between two versions of a graph: tasks, then edges, then parameters. */
export function changesOf(before: Graph, after: Graph): Change[] {
  return [
    ...compared("task", before.tasks, after.tasks, (task) => task.name, OF_TASKS),
    ...compared("edge", before.edges, after.edges, edgeName, []),
    ...compared("parameter", before.parameters, after.parameters, (each) => each.name, OF_PARAMETERS),
  ];
}

function edgeName({ from, to }: GraphLink): string {
  return `${from} → ${to}`;
}

function compared<Thing extends object>(
  noun: Change["noun"],
  before: readonly Thing[],
  after: readonly Thing[],
  nameOf: (thing: Thing) => string,
  properties: readonly (keyof Thing & string)[],
): Change[] {
  const old = new Map(before.map((each) => [nameOf(each), each]));
  const kept = new Set(after.map(nameOf));
  const changes: Change[] = [];
  for (const each of after) {
    const name = nameOf(each);
    const known = old.get(name);
    if (known === undefined) {
      changes.push({ kind: "added", noun, name, details: [] });
      continue;
    }
    const details = properties
      .map((property) => ({ property, was: text(known[property]), now: text(each[property]) }))
      .filter(({ was, now }) => was !== now);
    if (details.length > 0) changes.push({ kind: "changed", noun, name, details });
  }
  for (const name of old.keys()) if (!kept.has(name)) changes.push({ kind: "removed", noun, name, details: [] });
  return changes;
}

function text(value: unknown): string {
  if (value === undefined || value === null) return "none";
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}

/**
 * Returns one picture of two versions: the newer one with what changed marked, and below it the tasks that it has no
 * more.
 */
export function diffGraph(before: Graph, after: Graph): TaskGraph {
  const changes = new Map(
    changesOf(before, after)
      .filter((change) => change.noun === "task")
      .map((change) => [change.name, change]),
  );
  const tasks: GraphTask[] = after.tasks.map((task) => {
    const change = changes.get(task.name);
    const note = change?.details.map((each) => each.property).join(", ");
    return { ...shown(task), change: change?.kind, note: note || undefined };
  });
  const gone = before.tasks.filter((task) => changes.get(task.name)?.kind === "removed");
  const rows = [...new Set(gone.map((task) => task.row))].sort((left, right) => left - right);
  for (const task of gone) {
    tasks.push({ ...shown(task), row: after.rows + rows.indexOf(task.row), change: "removed", note: undefined });
  }
  const kept = new Set(after.edges.map(edgeName));
  const links: GraphLink[] = [...after.edges];
  for (const edge of before.edges) if (!kept.has(edgeName(edge))) links.push({ from: edge.from, to: edge.to });
  return { tasks, links };
}
