import { useQuery } from "@tanstack/react-query";
import { lazy, type ReactNode, Suspense, useMemo } from "react";
import type { Schemas } from "@/api/client";
import { orchestrationHistoryQuery } from "@/api/queries";
import { Card, ErrorBox, Skeleton, SkeletonLines } from "@/components";
import type { ChartSeries } from "@/components/TimeChart";
import { percent, whole } from "@/lib/numbers";
import { duration } from "@/lib/time";
import { columnsOf, line, poolSeries, span } from "./series";

const TimeChart = lazy(() => import("@/components/TimeChart"));

interface ChartsProps {
  shown: Schemas["OrchestratorView"];
  /** There are others on the database: the charts say of which they are. */
  several: boolean;
}

/** The last hour of an orchestrator: sizes and use of its pools, their queues, the database. Each server keeps its own. */
export function Charts({ shown, several }: ChartsProps) {
  const history = useQuery(orchestrationHistoryQuery);
  const data = history.data?.[shown.id];
  const columns = useMemo(() => data && columnsOf(data.samples, data.interval), [data]);
  const series = useMemo(() => {
    if (columns === undefined) return null;
    return {
      sizes: poolSeries(columns, (pool) => pool.executors),
      utilisation: poolSeries(columns, (pool) => pool.utilisation),
      queued: poolSeries(columns, (pool) => pool.queued),
      database: [
        line(columns, "saturation", "wait", (sample) => sample.saturation),
        line(columns, "speed that backpressure leaves", "run", (sample) => sample.backpressure),
      ],
    };
  }, [columns]);
  if (history.error && !history.data) return <ErrorBox error={history.error} onRetry={() => void history.refetch()} />;
  if (!history.data) return <SkeletonLines lines={6} />;
  if (columns === undefined || series === null) return <Elsewhere shown={shown} />;
  const { at } = columns;
  const [first, last] = [at[0] ?? 0, at.at(-1) ?? 0];
  const length = (
    <span className="foreign">
      {several && `${shown.host}, ${shown.pid}, `}last {duration(Math.max(60, Math.round((last - first) / 60) * 60))}
    </span>
  );
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      <Chart title="Size of the pools" aside={length} at={at} series={series.sizes} format={whole} />
      <Chart title="Utilisation" aside={length} at={at} series={series.utilisation} format={percent} />
      <Chart title="Queued" aside={length} at={at} series={series.queued} format={whole} />
      <Chart
        title="Database saturation and backpressure"
        aside={length}
        at={at}
        series={series.database}
        format={percent}
      />
    </div>
  );
}

/** Says where the history of an orchestrator is that another server answers for. */
function Elsewhere({ shown }: { shown: Schemas["OrchestratorView"] }) {
  return (
    <Card title="The last hour">
      <p className="foreign text-ink-2 text-sm">
        {shown.host}, process {shown.pid}, keeps its history itself, and another server answers this page. Its charts
        are on the page of its own server, if it has one; what it does now stands above.
      </p>
    </Card>
  );
}

interface ChartProps {
  title: string;
  aside: ReactNode;
  at: number[];
  series: ChartSeries[];
  format: (value: number) => string;
}

function Chart({ title, aside, at, series, format }: ChartProps) {
  const said = series.map((each) => {
    const range = span(each);
    return `${each.label} ${range === null ? "unknown" : range.map(format).join(" to ")}`;
  });
  return (
    <Card title={title} aside={aside}>
      <Suspense fallback={<Skeleton className="h-40 w-full" />}>
        <TimeChart label={`${title}: ${said.join(", ")}`} at={at} series={series} height={150} format={format} />
      </Suspense>
    </Card>
  );
}
