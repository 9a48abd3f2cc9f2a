import { Handle, type NodeProps, type Node as Placed, Position } from "@xyflow/react";
import { cx } from "@/lib/cx";
import { MARK, toneOf } from "@/lib/states";
import { StateDot } from "../Badge";
import { Button } from "../Button";
import { Icon } from "../Icon";
import { Duration } from "../Times";
import type { GraphTask, PlacedNode } from "./arrange";

export interface NodeActions {
  selected?: string;
  onSelect?: (id: string) => void;
  /** Shows or hides the run that a task, or an item of a mapped task, has started. */
  onOpen?: (id: string, task: GraphTask) => void;
  /** Shows the run of another item. */
  onItem?: (id: string, item: number) => void;
}

export type FlowNode = Placed<{ node: PlacedNode; actions: NodeActions }, "task">;

const CHANGES = {
  added: "border-ok-mark bg-ok-soft",
  removed: "border-bad-mark bg-bad-soft border-dashed opacity-80",
  changed: "border-wait-mark bg-wait-soft",
};

/** One task in a graph: its name, its state, and where it ran; a mapped task has the counts of its items. */
export function GraphNode({ data: { node, actions } }: NodeProps<FlowNode>) {
  const { task } = node;
  const chosen = actions.selected === node.id;
  const tone = task.state ? toneOf(task.state) : null;
  return (
    <div
      style={{ width: node.width, height: node.height }}
      className={cx(
        "pointer-events-auto relative rounded-lg border shadow-card",
        task.change ? CHANGES[task.change] : node.opened ? "bg-canvas/70" : "bg-surface",
        !task.change && (chosen ? "border-accent" : "border-line-strong"),
        chosen && "ring-2 ring-accent/40",
        task.items && !node.opened && "shadow-[3px_3px_0_-1px_var(--surface),3px_3px_0_0_var(--line-strong)]",
      )}
    >
      <Handle type="target" position={Position.Left} isConnectable={false} className="graph-handle" />
      <Handle type="source" position={Position.Right} isConnectable={false} className="graph-handle" />
      <div className={cx("flex items-center gap-1 pr-1.5", node.opened ? "h-9" : "h-full")}>
        {tone && (
          <span
            aria-hidden="true"
            className={cx(
              "absolute inset-y-1.5 left-1.5 w-1 rounded-full",
              MARK[tone],
              node.opened && "bottom-auto h-6",
            )}
          />
        )}
        <button
          type="button"
          disabled={!actions.onSelect}
          aria-pressed={actions.onSelect ? chosen : undefined}
          onClick={() => actions.onSelect?.(node.id)}
          className="nopan grid min-w-0 flex-1 gap-0.5 rounded-lg py-1.5 pr-1 pl-4.5 text-left disabled:cursor-default"
        >
          <span className="flex min-w-0 items-center gap-1.5">
            <span className="foreign truncate font-medium text-sm leading-5">{task.name}</span>
            {task.hook && <span className="rounded bg-idle-soft px-1 text-2xs text-idle">on {task.hook}</span>}
          </span>
          {!node.opened && <Below task={task} />}
        </button>
        {node.item !== undefined && <ItemChoice node={node} item={node.item} onItem={actions.onItem} />}
        {(task.childRun || task.childRuns) && actions.onOpen && (
          <Button
            look="quiet"
            small
            className="nopan"
            aria-expanded={node.opened}
            label={node.opened ? `Close the run of ${task.name}` : `Open the run of ${task.name} here`}
            onClick={() => actions.onOpen?.(node.id, task)}
            icon={node.opened ? "close" : "plus"}
          />
        )}
      </div>
      {node.inside && <p className="px-4.5 text-2xs text-ink-3">{node.inside}</p>}
    </div>
  );
}

/** Steps through the items of a mapped task, each of which has a run of its own. */
function ItemChoice({ node, item, onItem }: { node: PlacedNode; item: number; onItem: NodeActions["onItem"] }) {
  const last = (node.task.childRuns ?? 1) - 1;
  const step = (label: string, to: number, back: boolean) => (
    <Button
      look="quiet"
      small
      className={cx("nopan", back && "-scale-x-100")}
      icon="chevron"
      label={label}
      disabled={to < 0 || to > last}
      onClick={() => onItem?.(node.id, to)}
    />
  );
  return (
    <span className="flex items-center whitespace-nowrap text-2xs text-ink-2">
      {step("Previous item", item - 1, true)}
      <span aria-live="polite">
        [{item}] of {last + 1}
      </span>
      {step("Next item", item + 1, false)}
    </span>
  );
}

function Below({ task }: { task: PlacedNode["task"] }) {
  if (task.items && Object.keys(task.items).length > 0) return <Items items={task.items} />;
  return (
    <span className="flex min-w-0 items-center gap-1.5 text-2xs text-ink-2">
      {task.state ? <span>{task.state}</span> : task.kind && <span>{task.kind}</span>}
      {(task.attempt ?? 0) > 1 && <span className="text-wait">attempt {task.attempt}</span>}
      {task.startedAt && (
        <span className="text-ink-3">
          <Duration from={task.startedAt} to={task.finishedAt} />
        </span>
      )}
      {task.note && <span className="foreign ml-auto min-w-0 truncate text-ink-3">{task.note}</span>}
      {task.items && <Icon name="list" size={12} />}
    </span>
  );
}

/** The items of a mapped task by state, as a bar and in numbers. */
export function Items({ items }: { items: Readonly<Record<string, number>> }) {
  const shown = Object.entries(items).filter(([, count]) => count > 0);
  return (
    <span className="grid gap-1">
      <span aria-hidden="true" className="flex h-1.5 gap-px overflow-hidden rounded-full bg-idle-soft">
        {shown.map(([state, count]) => (
          <span key={state} style={{ flexGrow: count }} className={MARK[toneOf(state)]} />
        ))}
      </span>
      <span className="flex min-w-0 items-center gap-2 overflow-hidden text-2xs text-ink-2 leading-3">
        {shown.map(([state, count]) => (
          <span key={state} className="flex items-center gap-1 whitespace-nowrap">
            <StateDot state={state} size={6} />
            {count} <span className="sr-only">{state}</span>
          </span>
        ))}
      </span>
    </span>
  );
}
