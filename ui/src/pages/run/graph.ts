import type { Schemas } from "@/api/client";
import type { TaskGraph } from "@/components/graph/arrange";

/** Returns the graph of a run as the picture takes it. */
export function graphOf(graph: Schemas["RunGraph"]): TaskGraph {
  return {
    tasks: graph.nodes.map((node) => ({
      name: node.name,
      column: node.column ?? 0,
      row: node.row ?? 0,
      kind: node.kind,
      state: node.state,
      attempt: node.attempt,
      startedAt: node.started_at,
      finishedAt: node.finished_at,
      items: node.items ?? undefined,
      hook: node.hook ?? undefined,
      childRun: node.child_run ?? undefined,
      childRuns: node.kind === "workflow" && node.items ? sum(Object.values(node.items)) : undefined,
      note: node.reason && node.state === "ready" ? node.reason : (node.executor ?? undefined),
    })),
    links: graph.edges.map((edge) => ({ from: edge.from, to: edge.to, via: edge.via })),
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}

/** A node that is opened in place: the run inside it, or the item of a mapped task whose run it is. */
export interface OpenedNode {
  id: string;
  /** The run that its task belongs to. */
  owner: string;
  task: string;
  /** The run inside it; absent for a mapped task, whose items have one each. */
  run?: string;
  item?: number;
}

/** Returns the nodes that are open once this one is opened or closed; what is open inside of it closes with it. */
export function toggled(known: readonly OpenedNode[], node: OpenedNode): readonly OpenedNode[] {
  return known.some((each) => each.id === node.id)
    ? known.filter((each) => each.id !== node.id && !each.id.startsWith(`${node.id}/`))
    : [...known, node];
}

/** Returns the nodes that are open once a mapped task shows another item: those inside were of the one before. */
export function atItem(known: readonly OpenedNode[], id: string, item: number): readonly OpenedNode[] {
  return known
    .filter((each) => !each.id.startsWith(`${id}/`))
    .map((each) => (each.id === id ? { ...each, item } : each));
}

/** Returns the item of this mapped task that is chosen, as "price[3]" is. */
export function chosenItem(task: string, selected: string | undefined): number | undefined {
  if (!selected?.startsWith(`${task}[`)) return undefined;
  const found = /^\[(\d+)\]$/.exec(selected.slice(task.length));
  return found ? Number(found[1]) : undefined;
}

/** Returns the run and the task that a node stands for if it is inside of another one; null for one of the run itself. */
export function ownerOf(
  id: string,
  opened: readonly (readonly [id: string, run: string])[],
): { run: string; task: string } | null {
  let found: { run: string; task: string; length: number } | null = null;
  for (const [outer, run] of opened) {
    if (id.startsWith(`${outer}/`) && outer.length > (found?.length ?? -1)) {
      found = { run, task: id.slice(outer.length + 1), length: outer.length };
    }
  }
  return found && { run: found.run, task: found.task };
}
