import "uplot/dist/uPlot.min.css";
import { useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import { cx } from "@/lib/cx";
import { MARK, type Tone } from "@/lib/states";
import { useStore } from "@/lib/store";
import { clock, hourAndMinute } from "@/lib/time";
import { theme } from "@/shell/theme";

export interface ChartSeries {
  label: string;
  tone: Tone;
  values: readonly (number | null)[];
}

interface TimeChartProps {
  /** What it shows, in a sentence: screen readers have it instead of the picture. */
  label: string;
  /** When each value is from, in seconds since 1970. */
  at: readonly number[];
  series: readonly ChartSeries[];
  /** `bars` are stacked, the first series at the bottom; `lines` are not. `points` stand for themselves, unconnected. */
  kind?: "bars" | "lines" | "points";
  height?: number;
  format?: (value: number) => string;
}

/** Values over time. The values of the moment under the pointer stand in the legend. */
export default function TimeChart(props: TimeChartProps) {
  const { label, at, series, kind = "lines", height = 140, format = String } = props;
  const holder = useRef<HTMLDivElement>(null);
  const [hovered, setHovered] = useState<number | null>(null);
  const chosenTheme = useStore(theme);
  const shape = series.map((each) => each.label + each.tone).join("|");
  const chart = useRef<uPlot | null>(null);
  const latest = useRef(props);
  useEffect(() => {
    latest.current = props;
  });

  // biome-ignore lint/correctness/useExhaustiveDependencies: a chart is made anew for other series and another theme only
  useEffect(() => {
    const element = holder.current;
    if (element === null) return;
    const made = new uPlot(
      options(latest.current, element.clientWidth, height, setHovered),
      data(latest.current),
      element,
    );
    chart.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      made.destroy();
    };
  }, [shape, kind, height, chosenTheme]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the values are those of the properties
  useEffect(() => {
    chart.current?.setData(data(latest.current));
  }, [at, series]);

  const moment = hovered === null ? undefined : at[hovered];
  return (
    <div className="grid min-w-0 gap-1">
      <div className="flex min-h-5 flex-wrap items-center gap-x-3 text-2xs text-ink-2">
        {series.map((each) => (
          <span key={each.label} className="flex items-center gap-1.5">
            <span aria-hidden="true" className={cx("size-2 rounded-sm", MARK[each.tone])} />
            {each.label}
            {hovered !== null && <b className="font-semibold text-ink">{shown(each.values[hovered], format)}</b>}
          </span>
        ))}
        {moment !== undefined && <span className="ml-auto text-ink-3">{clock(moment)}</span>}
      </div>
      <div ref={holder} role="img" aria-label={label} className="min-w-0" style={{ height }} />
    </div>
  );
}

function shown(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? "–" : format(value);
}

/** Returns the columns that are drawn: stacked series are sums, the tallest first so that the others cover it. */
function data({ at, series, kind }: TimeChartProps): uPlot.AlignedData {
  if (kind !== "bars") return [[...at], ...series.map((each) => [...each.values])];
  const sums = at.map(() => 0);
  const stacked = series.map((each) => {
    for (const [index, value] of each.values.entries()) sums[index] = (sums[index] ?? 0) + (value ?? 0);
    return [...sums];
  });
  return [[...at], ...stacked.reverse()];
}

/** Returns the range of the times; bars have half of their step around them. */
function padded(plot: uPlot, low: number, high: number, bars: boolean): [number, number] {
  const [first = 0, second = first] = plot.data[0];
  const half = bars ? (second - first) / 2 : 0;
  return [low - half, high + half];
}

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function options(
  { series, kind, format = String }: TimeChartProps,
  width: number,
  height: number,
  onHover: (index: number | null) => void,
): uPlot.Options {
  const bars = kind === "bars";
  const drawn = bars ? [...series].reverse() : series;
  const axis: uPlot.Axis = {
    stroke: colour("ink-3"),
    font: "11px system-ui, sans-serif",
    grid: { stroke: colour("line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width,
    height,
    legend: { show: false },
    padding: [6, 6, 0, 0],
    cursor: { y: false, points: { show: !bars }, drag: { x: false, y: false } },
    scales: {
      x: { range: (plot, low, high) => padded(plot, low, high, bars) },
      y: {
        range: (_, __, highest) => [0, kind === "points" ? (highest || 1) * 1.1 : Math.max(1, (highest ?? 1) * 1.1)],
      },
    },
    series: [
      {},
      ...drawn.map((each): uPlot.Series => {
        const mark = colour(`${each.tone}-mark`);
        if (kind === "points") {
          const points = { show: true, size: 7, fill: mark, stroke: mark };
          return { label: each.label, stroke: mark, paths: () => null, points };
        }
        if (!bars) return { label: each.label, stroke: mark, width: 1.5, points: { show: false } };
        const paths = uPlot.paths.bars?.({ size: [0.72, 14], radius: 0.15 });
        return { label: each.label, stroke: mark, fill: mark, width: 0, points: { show: false }, paths };
      }),
    ],
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 24,
        space: 70,
        values: (_, times) => times.map((time) => hourAndMinute(time)),
      },
      {
        ...axis,
        size: 44,
        space: 32,
        values: (_, values) => values.map((value) => (value === null ? "" : format(value))),
      },
    ],
    hooks: { setCursor: [(plot) => onHover(plot.cursor.idx ?? null)] },
  };
}
