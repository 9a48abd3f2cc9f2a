import { useQuery } from "@tanstack/react-query";
import { lazy, type ReactNode, Suspense } from "react";
import type { Schemas } from "@/api/client";
import { statsQuery } from "@/api/queries";
import { Card, ErrorBox, Skeleton, SkeletonLines } from "@/components";
import { counted, whole } from "@/lib/numbers";
import { duration } from "@/lib/time";

const TimeChart = lazy(() => import("@/components/TimeChart"));

function total(values: readonly number[] | undefined): number {
  return (values ?? []).reduce((sum, each) => sum + each, 0);
}

/** How many runs and tasks ended in the last hour, and how long they took. */
export function ThroughputCard() {
  const stats = useQuery(statsQuery("hour"));
  const { data } = stats;
  if (data === undefined) {
    return (
      <Card title="Last hour" flush>
        {stats.error ? (
          <ErrorBox error={stats.error} onRetry={() => void stats.refetch()} />
        ) : (
          <SkeletonLines lines={5} />
        )}
      </Card>
    );
  }
  const { runs, at } = data.series;
  const completed = total(runs.completed);
  const failed = total(runs.failed);
  const series = [
    { label: "completed", tone: "ok" as const, values: runs.completed ?? [] },
    { label: "failed", tone: "bad" as const, values: runs.failed ?? [] },
    { label: "cancelled", tone: "idle" as const, values: runs.cancelled ?? [] },
  ];
  const label = `Runs that ended per ${duration(data.step)} in the last hour: ${whole(completed)} completed, ${whole(failed)} failed`;
  return (
    <Card title="Last hour" aside={`${counted(completed + failed + total(runs.cancelled), "run")} ended`}>
      <div className="grid gap-4">
        <Suspense fallback={<Skeleton className="h-40 w-full" />}>
          <TimeChart label={label} at={at} series={series} kind="bars" height={132} format={whole} />
        </Suspense>
        <Latencies latency={data.latency} />
      </div>
    </Card>
  );
}

function Latencies({ latency }: { latency: Schemas["Latency"] }) {
  const rows: [string, Schemas["Spread"]][] = [
    ["Until a task starts", latency.start_delay],
    ["A task", latency.task_duration],
    ["A run", latency.run_duration],
  ];
  return (
    <table className="w-full text-xs">
      <caption className="sr-only">Latency of the runs that ended last</caption>
      <thead className="text-left text-2xs text-ink-3">
        <tr>
          <th className="pb-1 font-medium">Latency</th>
          <th className="pb-1 text-right font-medium">p50</th>
          <th className="pb-1 text-right font-medium">p95</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, spread]) => (
          <tr key={name} className="border-line border-t">
            <td className="py-1.5 text-ink-2">{name}</td>
            <td className="py-1.5 text-right">{length(spread.p50)}</td>
            <td className="py-1.5 text-right">{length(spread.p95)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function length(seconds: number | null | undefined): ReactNode {
  return seconds === null || seconds === undefined ? <span className="text-ink-3">–</span> : duration(seconds);
}
