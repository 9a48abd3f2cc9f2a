/** A task as a picture of a graph shows it. Its place is a column and a row of the server's layout. */
export interface GraphTask {
  name: string;
  column: number;
  row: number;
  kind?: string;
  state?: string;
  /** Below the name: an executor, a reason, what changed. */
  note?: string;
  attempt?: number;
  startedAt?: number | null;
  finishedAt?: number | null;
  /** Of a mapped task: its items by state; empty if they are not known yet. */
  items?: Record<string, number>;
  hook?: string;
  /** The run that this task has started; it can be opened in place. */
  childRun?: string;
  /** Of a mapped task whose items start runs: how many, one of which can be opened in place. */
  childRuns?: number;
  /** In a comparison of two graphs. */
  change?: "added" | "removed" | "changed";
}

export interface GraphLink {
  from: string;
  to: string;
  via?: readonly { column: number; row: number }[];
}

export interface TaskGraph {
  tasks: readonly GraphTask[];
  links: readonly GraphLink[];
  /** The item of a mapped task whose run it is. */
  item?: number;
  /** In the place of tasks, where it has none. */
  note?: string;
}

export interface PlacedNode {
  /** Its task, behind those of the graphs around it: "fulfil/charge". */
  id: string;
  task: GraphTask;
  x: number;
  y: number;
  width: number;
  height: number;
  /** The graph inside it is shown. */
  opened: boolean;
  /** Of a mapped task: the item whose run is shown inside. */
  item?: number;
  /** What is said in the place of a graph inside. */
  inside?: string;
  /** How many graphs are around it. */
  depth: number;
}

export interface PlacedLink {
  id: string;
  from: string;
  to: string;
  path: string;
}

export interface Picture {
  nodes: PlacedNode[];
  links: PlacedLink[];
  width: number;
  height: number;
}

export const NODE = { width: 212, height: 58 };
const GAP = { x: 56, y: 20 };
/** Room around a graph that is shown inside a node; above it is the head of the node. */
const INSET = { x: 16, top: 44, bottom: 16 };

interface Point {
  x: number;
  y: number;
}

/**
 * Returns where the nodes and the lines of a graph are. `opened` has the graphs inside of nodes, by the id of the node;
 * its column is then as wide and its row as high as they need.
 */
export function arranged(graph: TaskGraph, opened: ReadonlyMap<string, TaskGraph> = new Map()): Picture {
  return within(graph, opened, "", 0);
}

function within(graph: TaskGraph, opened: ReadonlyMap<string, TaskGraph>, prefix: string, depth: number): Picture {
  const inner = new Map<string, Picture>();
  for (const task of graph.tasks) {
    const found = opened.get(prefix + task.name);
    if (found) inner.set(task.name, within(found, opened, `${prefix}${task.name}/`, depth + 1));
  }
  const sizeOf = (task: GraphTask) => {
    const picture = inner.get(task.name);
    if (!picture) return NODE;
    return {
      width: Math.max(NODE.width, picture.width + 2 * INSET.x),
      height: picture.height + INSET.top + INSET.bottom,
    };
  };
  const grid = gridOf(graph, sizeOf);
  const nodes: PlacedNode[] = [];
  const links: PlacedLink[] = [];
  const places = new Map<string, PlacedNode>();
  for (const task of graph.tasks) {
    const place = { x: grid.x(task.column), y: grid.y(task.row), ...sizeOf(task) };
    const picture = inner.get(task.name);
    const { item, note: inside } = opened.get(prefix + task.name) ?? {};
    const node = { id: prefix + task.name, task, ...place, opened: picture !== undefined, item, inside, depth };
    places.set(task.name, node);
    nodes.push(node);
    for (const each of picture?.nodes ?? []) {
      nodes.push({ ...each, x: each.x + place.x + INSET.x, y: each.y + place.y + INSET.top });
    }
    for (const each of picture?.links ?? []) {
      links.push({ ...each, path: moved(each.path, place.x + INSET.x, place.y + INSET.top) });
    }
  }
  for (const link of graph.links) {
    const from = places.get(link.from);
    const to = places.get(link.to);
    if (!from || !to) continue;
    const points: Point[] = [{ x: from.x + from.width, y: from.y + NODE.height / 2 }];
    for (const { column, row } of link.via ?? []) {
      const y = grid.y(row) + NODE.height / 2;
      points.push({ x: grid.x(column), y }, { x: grid.x(column) + grid.width(column), y });
    }
    points.push({ x: to.x, y: to.y + NODE.height / 2 });
    links.push({ id: `${from.id}→${to.id}`, from: from.id, to: to.id, path: curve(points) });
  }
  const right = Math.max(0, ...[...places.values()].map((each) => each.x + each.width));
  const bottom = Math.max(0, ...[...places.values()].map((each) => each.y + each.height));
  return { nodes, links, width: right, height: bottom };
}

/** Returns where columns and rows begin: wide nodes move the columns behind them, high ones the rows below them. */
function gridOf(graph: TaskGraph, sizeOf: (task: GraphTask) => { width: number; height: number }) {
  const first = Math.min(0, ...graph.tasks.map((task) => task.column));
  const last = Math.max(0, ...graph.tasks.map((task) => task.column));
  const widths = new Map<number, number>();
  const extras = new Map<number, number>();
  for (const task of graph.tasks) {
    const { width, height } = sizeOf(task);
    widths.set(task.column, Math.max(width, widths.get(task.column) ?? NODE.width));
    extras.set(task.row, Math.max(height - NODE.height, extras.get(task.row) ?? 0));
  }
  const starts = new Map<number, number>();
  let x = 0;
  for (let column = first; column <= last; column++) {
    starts.set(column, x);
    x += (widths.get(column) ?? NODE.width) + GAP.x;
  }
  const higher = [...extras].filter(([, extra]) => extra > 0);
  return {
    x: (column: number) => starts.get(column) ?? 0,
    width: (column: number) => widths.get(column) ?? NODE.width,
    y: (row: number) =>
      row * (NODE.height + GAP.y) + higher.reduce((sum, [at, extra]) => (at < row ? sum + extra : sum), 0),
  };
}

/** Returns a line through points that leaves and reaches each of them horizontally. */
function curve(points: readonly Point[]): string {
  const [start, ...rest] = points;
  if (!start) return "";
  let path = `M ${start.x} ${start.y}`;
  let at = start;
  for (const next of rest) {
    const middle = (at.x + next.x) / 2;
    path += at.y === next.y ? ` L ${next.x} ${next.y}` : ` C ${middle} ${at.y} ${middle} ${next.y} ${next.x} ${next.y}`;
    at = next;
  }
  return path;
}

function moved(path: string, x: number, y: number): string {
  return path.replace(
    /(-?[\d.]+) (-?[\d.]+)/g,
    (_, left: string, top: string) => `${Number(left) + x} ${Number(top) + y}`,
  );
}
