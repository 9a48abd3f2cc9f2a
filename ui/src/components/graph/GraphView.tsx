import "@xyflow/react/dist/base.css";
import {
  BaseEdge,
  type EdgeProps,
  type Edge as Line,
  Panel,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
} from "@xyflow/react";
import { useEffect, useMemo, useRef } from "react";
import { Button } from "../Button";
import { arranged, type TaskGraph } from "./arrange";
import { type FlowNode, GraphNode, type NodeActions } from "./GraphNode";

interface GraphViewProps extends NodeActions {
  /** What it shows, for screen readers. */
  label: string;
  graph: TaskGraph;
  /** Graphs of child runs that are shown inside of nodes, by the id of the node. */
  opened?: ReadonlyMap<string, TaskGraph>;
}

type FlowLine = Line<{ path: string; state?: string }, "route">;

const NODES = { task: GraphNode };
const LINES = { route: Route };
const FIT = { padding: 0.12, maxZoom: 1.1, minZoom: 0.35 };
const NONE: ReadonlyMap<string, TaskGraph> = new Map();

/**
 * The picture of a graph: it can be moved and zoomed, and its tasks chosen. Load it lazily, as it brings React Flow:
 * `const GraphView = lazy(() => import("@/components/graph/GraphView"))`. Its parent has a height.
 */
export default function GraphView(props: GraphViewProps) {
  return (
    <ReactFlowProvider>
      <Flow {...props} />
    </ReactFlowProvider>
  );
}

function Flow({ label, graph, opened = NONE, selected, onSelect, onOpen, onItem }: GraphViewProps) {
  const flow = useReactFlow();
  const picture = useMemo(() => arranged(graph, opened), [graph, opened]);
  const handlers = useRef({ onSelect, onOpen, onItem });
  useEffect(() => {
    handlers.current = { onSelect, onOpen, onItem };
  });
  const chooses = onSelect !== undefined;
  const opens = onOpen !== undefined;

  const nodes = useMemo(() => {
    const actions: NodeActions = {
      selected,
      onSelect: chooses ? (id) => handlers.current.onSelect?.(id) : undefined,
      onOpen: opens ? (id, task) => handlers.current.onOpen?.(id, task) : undefined,
      onItem: (id, item) => handlers.current.onItem?.(id, item),
    };
    return picture.nodes.map(
      (node): FlowNode => ({
        id: node.id,
        type: "task",
        position: { x: node.x, y: node.y },
        width: node.width,
        height: node.height,
        zIndex: node.depth * 2,
        data: { node, actions },
      }),
    );
  }, [picture, selected, chooses, opens]);

  const lines = useMemo(() => {
    const states = new Map(picture.nodes.map((node) => [node.id, node]));
    return picture.links.map(
      (link): FlowLine => ({
        id: link.id,
        source: link.from,
        target: link.to,
        type: "route",
        zIndex: (states.get(link.from)?.depth ?? 0) * 2 + 1,
        data: { path: link.path, state: states.get(link.from)?.task.state },
      }),
    );
  }, [picture]);

  // The picture is shown whole when its shape changes, not when a state does.
  const shape = `${picture.width}x${picture.height}`;
  const known = useRef(shape);
  useEffect(() => {
    if (known.current === shape) return;
    known.current = shape;
    requestAnimationFrame(() => void flow.fitView({ ...FIT, duration: 200 }));
  }, [shape, flow]);

  // Nor when the viewer has chosen a part of it; else it fits a window or a phone that is turned.
  const frame = useRef<HTMLElement>(null);
  const moved = useRef(false);
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const observer = new ResizeObserver(() => {
      if (!moved.current) void flow.fitView(FIT);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [flow]);

  return (
    <section ref={frame} aria-label={label} className="graph h-full min-h-0 w-full">
      <ReactFlow
        nodes={nodes}
        edges={lines}
        nodeTypes={NODES}
        edgeTypes={LINES}
        fitView
        fitViewOptions={FIT}
        minZoom={0.1}
        maxZoom={2}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        disableKeyboardA11y
        zoomOnDoubleClick={false}
        preventScrolling={false}
        zoomOnScroll={false}
        panOnScroll={false}
        zoomActivationKeyCode={["Control", "Meta"]}
        onlyRenderVisibleElements={nodes.length > 200}
        onMoveStart={(event) => {
          if (event) moved.current = true;
        }}
      >
        <Panel position="bottom-left" className="flex gap-1 rounded-lg border border-line bg-raised p-1 shadow-card">
          <Button look="quiet" small icon="plus" label="Zoom in" onClick={() => void flow.zoomIn()} />
          <Button look="quiet" small icon="minus" label="Zoom out" onClick={() => void flow.zoomOut()} />
          <Button look="quiet" small icon="fit" label="Show all" onClick={() => void flow.fitView(FIT)} />
        </Panel>
      </ReactFlow>
    </section>
  );
}

function Route({ id, data }: EdgeProps<FlowLine>) {
  const done = data?.state === "completed";
  return (
    <BaseEdge
      id={id}
      path={data?.path ?? ""}
      style={{ stroke: done ? "var(--ok-mark)" : "var(--line-strong)", strokeWidth: 1.5, opacity: done ? 0.7 : 1 }}
    />
  );
}
