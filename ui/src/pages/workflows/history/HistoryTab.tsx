import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo, useState } from "react";
import type { Schemas } from "@/api/client";
import { workflowHistoryQuery } from "@/api/queries";
import { Button, Card, EmptyState, ErrorBox, SkeletonLines } from "@/components";
import { duration } from "@/lib/time";
import { matrixOf, slowestOf } from "./matrix";
import { TaskMatrix } from "./TaskMatrix";

const TimeChart = lazy(() => import("@/components/TimeChart"));
const RUNS = 40;

/** How the runs of a workflow went: task by task, how long they took, and which tasks are the slowest. */
export function HistoryTab({ name, onStart }: { name: string; onStart: () => void }) {
  const [cursor, setCursor] = useState<string | undefined>();
  const history = useQuery(workflowHistoryQuery(name, RUNS, cursor));
  if (history.error && !history.data) return <ErrorBox error={history.error} onRetry={() => void history.refetch()} />;
  const { data } = history;
  if (data === undefined) return <SkeletonLines lines={8} />;
  if (data.runs.length === 0) {
    return (
      <Card>
        <EmptyState icon="runs" title="No runs yet">
          <Button small look="primary" icon="runs" onClick={onStart}>
            Start the first one
          </Button>
        </EmptyState>
      </Card>
    );
  }
  return (
    <div className="grid gap-4">
      <div className="grid gap-4 lg:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]">
        <Trend history={data} />
        <Slowest history={data} />
      </div>
      <Card
        title="Tasks by run"
        flush
        aside={
          <>
            {cursor !== undefined && (
              <Button small look="quiet" onClick={() => setCursor(undefined)}>
                Newest
              </Button>
            )}
            {data.next && (
              <Button small look="quiet" onClick={() => setCursor(data.next ?? undefined)}>
                Older runs
              </Button>
            )}
          </>
        }
      >
        <TaskMatrix matrix={matrixOf(data)} />
      </Card>
    </div>
  );
}

function Trend({ history }: { history: Schemas["WorkflowHistory"] }) {
  const ended = useMemo(
    () => [...history.runs].reverse().filter((run) => run.duration !== null && run.duration !== undefined),
    [history.runs],
  );
  const at = useMemo(() => ended.map((run) => run.created_at), [ended]);
  const series = useMemo(
    () => [
      {
        label: "completed",
        tone: "ok" as const,
        values: ended.map((run) => (run.state === "completed" ? (run.duration ?? null) : null)),
      },
      {
        label: "failed",
        tone: "bad" as const,
        values: ended.map((run) => (run.state === "failed" ? (run.duration ?? null) : null)),
      },
    ],
    [ended],
  );
  const { p50, p95 } = history.duration;
  return (
    <Card
      title="Duration of runs"
      aside={
        p50 != null && (
          <>
            <span>median {duration(p50)}</span>
            <span>95 % {duration(p95 ?? p50)}</span>
          </>
        )
      }
    >
      {ended.length < 2 ? (
        <p className="text-ink-2 text-sm">A trend needs two runs that have ended.</p>
      ) : (
        <Suspense fallback={<div style={{ height: 165 }} />}>
          <TimeChart
            label={`Durations of the last ${ended.length} runs; the median is ${duration(p50 ?? 0)}`}
            at={at}
            series={series}
            kind="points"
            height={140}
            format={duration}
          />
        </Suspense>
      )}
    </Card>
  );
}

function Slowest({ history }: { history: Schemas["WorkflowHistory"] }) {
  const slowest = slowestOf(history).slice(0, 6);
  return (
    <Card title="Slowest tasks" aside="median, 95 %">
      {slowest.length === 0 && <p className="text-ink-2 text-sm">No task has completed in these runs.</p>}
      <ol className="grid gap-2.5">
        {slowest.map((task) => (
          <li key={task.name} className="grid gap-1 text-sm">
            <span className="flex justify-between gap-3">
              <span className="foreign truncate">{task.name}</span>
              <span className="shrink-0 text-ink-2 text-xs">
                {duration(task.p50)}
                <span className="text-ink-3"> · {duration(task.p95)}</span>
              </span>
            </span>
            <span aria-hidden="true" className="h-1.5 overflow-hidden rounded-full bg-idle-soft">
              <span
                className="block h-full rounded-full bg-run-mark"
                style={{ width: `${Math.max(2, task.share * 100)}%` }}
              />
            </span>
          </li>
        ))}
      </ol>
    </Card>
  );
}
