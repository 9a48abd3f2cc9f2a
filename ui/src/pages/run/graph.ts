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
      note: node.reason && node.state === "ready" ? node.reason : (node.executor ?? undefined),
    })),
    links: graph.edges.map((edge) => ({ from: edge.from, to: edge.to, via: edge.via })),
  };
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
