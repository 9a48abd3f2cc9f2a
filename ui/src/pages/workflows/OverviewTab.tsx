import { useQuery } from "@tanstack/react-query";
import { lazy, type ReactNode, Suspense, useMemo, useState } from "react";
import type { Schemas } from "@/api/client";
import { workflowGraphQuery } from "@/api/queries";
import { Badge, Card, type Column, EmptyState, ErrorBox, RelativeTime, SkeletonLines, Table } from "@/components";
import { written } from "@/lib/json";
import { counted } from "@/lib/numbers";
import { duration } from "@/lib/time";
import { graphOf } from "./versions/graphDiff";

const GraphView = lazy(() => import("@/components/graph/GraphView"));

type Workflow = Schemas["WorkflowDetail"];
type Task = Schemas["PlacedTask"];

/** What a workflow is: its graph, its tasks and its parameters. */
export function OverviewTab({ name, workflow }: { name: string; workflow: Workflow | undefined }) {
  const graph = useQuery(workflowGraphQuery(name));
  const [chosen, setChosen] = useState<string | undefined>();
  const picture = useMemo(() => (graph.data ? graphOf(graph.data) : undefined), [graph.data]);
  if (graph.error && !graph.data) return <ErrorBox error={graph.error} onRetry={() => void graph.refetch()} />;
  const tasks = graph.data?.tasks;
  const height = Math.min(460, Math.max(200, (graph.data?.rows ?? 1) * 80 + 80));
  return (
    <div className="grid gap-4 xl:grid-cols-[minmax(0,1fr)_20rem]">
      <div className="grid min-w-0 content-start gap-4">
        <Card title="Graph" flush aside={tasks && counted(tasks.length, "task")}>
          <div style={{ height }}>
            {picture === undefined ? (
              <SkeletonLines lines={4} />
            ) : picture.tasks.length === 0 ? (
              <EmptyState icon="workflows" title="Its tasks are known when it runs" />
            ) : (
              <Suspense fallback={<SkeletonLines lines={4} />}>
                <GraphView
                  label={`Graph of ${name}`}
                  graph={picture}
                  selected={chosen}
                  onSelect={(id) => setChosen(id === chosen ? undefined : id)}
                />
              </Suspense>
            )}
          </div>
        </Card>
        <Card title="Tasks" flush>
          <Table
            label="Tasks"
            columns={TASKS}
            rows={tasks}
            rowKey={(task) => task.name}
            isSelected={(task) => task.name === chosen}
          />
        </Card>
      </div>
      <div className="grid min-w-0 content-start gap-4">
        <Facts workflow={workflow} />
        <Parameters parameters={workflow?.parameters} />
      </div>
    </div>
  );
}

const TASKS: Column<Task>[] = [
  {
    key: "name",
    header: "Task",
    cell: (task) => (
      <span className="flex items-center gap-2">
        <span className="foreign truncate font-medium">{task.name}</span>
        {task.mapped && <Badge tone="run">mapped</Badge>}
        {task.hook && <Badge>on {task.hook}</Badge>}
      </span>
    ),
  },
  {
    key: "ref",
    header: "Runs",
    width: "minmax(0, 1.4fr)",
    cell: (task) => (
      <span className="foreign font-mono text-ink-2 text-xs" title={task.ref}>
        {task.ref}
      </span>
    ),
  },
  {
    key: "after",
    header: "After",
    phone: false,
    cell: (task) => <span className="foreign text-ink-2">{task.depends_on?.join(", ") || "–"}</span>,
  },
  {
    key: "where",
    header: "Where",
    phone: false,
    cell: (task) => <span className="foreign text-ink-2">{place(task)}</span>,
  },
  {
    key: "attempts",
    header: "Attempts",
    width: "4.5rem",
    align: "end",
    phone: false,
    cell: (task) => task.attempts ?? 1,
  },
  {
    key: "timeout",
    header: "Timeout",
    width: "5rem",
    align: "end",
    phone: false,
    cell: (task) => (task.timeout ? duration(task.timeout) : "–"),
  },
];

/** Returns what a task or a workflow asks for: an executor, or labels of workers. */
function place({ executor, worker_selector: selector }: Pick<Task, "executor" | "worker_selector">): string {
  if (executor) return executor;
  if (selector === "local") return "local";
  if (!selector) return "by the rules";
  return Object.entries(selector)
    .map(([label, value]) => `${label}=${value}`)
    .join(", ");
}

function Facts({ workflow }: { workflow: Workflow | undefined }) {
  if (workflow === undefined) {
    return (
      <Card title="About">
        <SkeletonLines lines={5} className="p-0" />
      </Card>
    );
  }
  const origins = { file: "a file", api: "uploaded", code: "the server's program" };
  return (
    <Card title="About">
      <dl className="grid grid-cols-[5rem_minmax(0,1fr)] gap-x-3 gap-y-2 text-sm">
        <Fact label="Name">
          <span className="foreign font-mono text-xs">{workflow.full_name}</span>
        </Fact>
        <Fact label="Source">{`${workflow.kind === "yaml" ? "YAML" : "Python"}, ${origins[workflow.origin]}`}</Fact>
        <Fact label="File">{workflow.file && <span className="foreign font-mono text-xs">{workflow.file}</span>}</Fact>
        <Fact label="Version">{workflow.version || null}</Fact>
        <Fact label="Changed">
          {workflow.updated_at && (
            <>
              <RelativeTime at={workflow.updated_at} />
              {workflow.updated_by && <span className="foreign text-ink-2"> by {workflow.updated_by}</span>}
            </>
          )}
        </Fact>
        <Fact label="Group">{workflow.group && <span className="foreign">{workflow.group}</span>}</Fact>
        <Fact label="Timeout">{workflow.timeout && duration(workflow.timeout)}</Fact>
        <Fact label="Where">{workflow.worker_selector && place({ worker_selector: workflow.worker_selector })}</Fact>
        <Fact label="Affinity">{workflow.affinity && "all tasks of a run on one worker"}</Fact>
        <Fact label="Runs on">{workflow.remote_only && "workers only"}</Fact>
      </dl>
    </Card>
  );
}

/** A line about a workflow; nothing if there is nothing to say. */
function Fact({ label, children }: { label: string; children: ReactNode }) {
  if (!children) return null;
  return (
    <div className="contents">
      <dt className="text-ink-3 text-xs leading-5">{label}</dt>
      <dd className="min-w-0">{children}</dd>
    </div>
  );
}

function Parameters({ parameters }: { parameters: readonly Schemas["WorkflowParameter"][] | undefined }) {
  return (
    <Card title="Parameters" aside={parameters?.length}>
      {parameters?.length === 0 && <p className="text-ink-2 text-sm">It has none.</p>}
      <ul className="grid gap-3">
        {parameters?.map((each) => (
          <li key={each.name} className="grid gap-0.5 text-sm">
            <span className="flex flex-wrap items-baseline gap-x-2">
              <span className="foreign font-medium">{each.name}</span>
              <span className="foreign font-mono text-2xs text-ink-3">{each.type}</span>
              {each.required && <Badge tone="wait">required</Badge>}
            </span>
            {!each.required && (
              <span className="foreign font-mono text-ink-2 text-xs">
                = {each.default === undefined ? "none" : written(each.default)}
              </span>
            )}
            {each.description && <span className="foreign text-ink-2 text-xs">{each.description}</span>}
          </li>
        ))}
      </ul>
    </Card>
  );
}
