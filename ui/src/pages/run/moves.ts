import type { Schemas } from "@/api/client";
import type { Move } from "./tasks";

type Counts = Readonly<Record<string, number>>;

const POSITION = /:(\d+)\.(\d)\./;

/** Returns the moves that come behind a position, such as "0198…:9.0.17"; all of them if it is none. */
export function unknownTo(position: string | undefined, moves: readonly Move[]): Move[] {
  const found = POSITION.exec(position ?? "");
  const seq = Number(found?.[1] ?? -1);
  const part = Number(found?.[2] ?? 0);
  return moves.filter((move) => move.seq > seq || (move.seq === seq && (move.part ?? 0) > part));
}

function behind(position: string | undefined, moves: readonly Move[]): string | undefined {
  const last = moves.at(-1);
  return last && position?.replace(POSITION, `:${last.seq}.${last.part ?? 0}.`);
}

function counted(counts: Counts, move: Move): Counts {
  const next: Record<string, number> = { ...counts, [move.new]: (counts[move.new] ?? 0) + 1 };
  // An item that began with the commit that made it was not counted before.
  if (move.old && next[move.old]) next[move.old] = (next[move.old] ?? 1) - 1;
  return next;
}

/** Returns a run with the counts of its tasks after these moves; the same run if they change none. */
export function movedRun(run: Schemas["RunDetail"], moves: readonly Move[]): Schemas["RunDetail"] {
  const fresh = unknownTo(run.position, moves);
  const changes = fresh.filter((move) => move.task && move.old !== move.new);
  if (changes.length === 0) return run;
  return { ...run, tasks: changes.reduce(counted, run.tasks ?? {}), position: behind(run.position, fresh) };
}

const ITEM = /\[\d+\]$/;
const ENDS: ReadonlySet<string> = new Set(["completed", "failed", "skipped", "cancelled"]);

/** Returns a graph with the states of its tasks, and the counts of mapped ones, after these moves. */
export function movedGraph(graph: Schemas["RunGraph"], moves: readonly Move[]): Schemas["RunGraph"] {
  const fresh = unknownTo(graph.position, moves);
  const byTask = new Map<string, Move[]>();
  for (const move of fresh) {
    if (!move.task) continue;
    const name = move.task.replace(ITEM, "");
    const known = byTask.get(name);
    if (known) known.push(move);
    else byTask.set(name, [move]);
  }
  if (byTask.size === 0) return graph;
  const nodes = graph.nodes.map((node) => {
    const own = byTask.get(node.name);
    return own ? own.reduce(movedNode, node) : node;
  });
  return { ...graph, nodes, position: behind(graph.position, fresh) };
}

function movedNode(node: Schemas["GraphNode"], move: Move): Schemas["GraphNode"] {
  if (move.task !== node.name) {
    return move.old === move.new ? node : { ...node, items: counted(node.items ?? {}, move) };
  }
  const state = move.new as Schemas["TaskState"];
  const begins = state === "running" && (node.state !== "running" || node.attempt !== move.attempt);
  return {
    ...node,
    state,
    attempt: move.attempt || node.attempt,
    started_at: begins ? move.at : node.started_at,
    finished_at: ENDS.has(state) ? move.at : null,
  };
}
