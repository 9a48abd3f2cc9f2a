import { useInfiniteQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { runTimelineQuery } from "@/api/queries";
import { Button, EmptyState, ErrorBox, SkeletonLines } from "@/components";
import { cx } from "@/lib/cx";
import { useNow } from "@/lib/now";
import { MARK, stateOfOutcome, toneOf } from "@/lib/states";
import { duration } from "@/lib/time";
import { type Bar, type GanttRow, ganttOf, placeOf, type Span, ticks, zoomed } from "./gantt";

interface TimelineTabProps {
  runId: string;
  selected: string | undefined;
  onSelect: (task: string) => void;
  /** The mapped task whose items are shown. */
  group: string | undefined;
  onGroup: (task: string | undefined) => void;
}

/** When each task waited and ran: queue time apart from run time, every attempt a bar, the critical path marked. */
export function TimelineTab({ runId, selected, onSelect, group, onGroup }: TimelineTabProps) {
  const query = useInfiniteQuery(runTimelineQuery(runId, group));
  const { hasNextPage, isFetching, fetchNextPage } = query;
  const readMore = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  const now = useNow();
  const first = query.data?.pages[0];
  const moment = first?.finished_at ? 0 : now;
  const gantt = useMemo(() => {
    const pages = query.data?.pages;
    if (!pages?.[0]) return null;
    return ganttOf({ ...pages[0], tasks: pages.flatMap((page) => page.tasks) }, moment);
  }, [query.data, moment]);
  const [zoom, setZoom] = useState<Span | null>(null);

  if (query.error && !gantt) return <ErrorBox error={query.error} onRetry={() => void query.refetch()} />;
  if (!gantt) return <SkeletonLines lines={8} />;
  const span = zoom ?? { from: 0, to: gantt.length };
  const scale = (factor: number, around = (span.from + span.to) / 2) => {
    const next = zoomed(span, factor, around, gantt.length);
    setZoom(next.to - next.from >= gantt.length ? null : next);
  };
  const shift = (share: number) => {
    const size = span.to - span.from;
    const from = Math.min(Math.max(0, span.from + share * size), gantt.length - size);
    setZoom({ from, to: from + size });
  };
  return (
    <div className="flex min-h-[20rem] flex-1 flex-col bg-surface">
      <div className="flex flex-wrap items-center gap-1 border-line border-b px-4 py-1.5 text-xs md:px-6">
        {group !== undefined && (
          <Button small look="quiet" icon="close" onClick={() => onGroup(undefined)}>
            Items of {group}
          </Button>
        )}
        <Legend />
        <span className="ml-auto flex items-center gap-1">
          <Button small look="quiet" label="Earlier" disabled={!zoom} onClick={() => shift(-0.5)} icon="left" />
          <Button small look="quiet" label="Later" disabled={!zoom} onClick={() => shift(0.5)} icon="chevron" />
          <Button small look="quiet" icon="plus" label="Zoom in" onClick={() => scale(0.5)} />
          <Button small look="quiet" icon="minus" label="Zoom out" disabled={!zoom} onClick={() => scale(2)} />
          <Button small look="quiet" icon="fit" label="Show all" disabled={!zoom} onClick={() => setZoom(null)} />
        </span>
      </div>
      {gantt.rows.length > 0 && gantt.rows.every((row) => row.bars.length === 0) && (
        <p className="border-line border-b px-4 py-2 text-ink-2 text-sm md:px-6">
          Nothing has begun. Choose a task to see what it waits for.
        </p>
      )}
      {gantt.rows.length === 0 ? (
        <EmptyState icon="schedules" title={group === undefined ? "No tasks" : "No items yet"}>
          {group === undefined
            ? "This workflow has no tasks: a run of it ends at once."
            : "They appear once the list that the task is mapped over is there: the task before it says what it waits for."}
        </EmptyState>
      ) : (
        <Chart
          rows={gantt.rows}
          span={span}
          selected={selected}
          onSelect={onSelect}
          onGroup={group === undefined ? onGroup : undefined}
          onZoom={scale}
          onEnd={readMore}
          more={hasNextPage}
        />
      )}
    </div>
  );
}

function Legend() {
  const entry = (className: string, label: string) => (
    <span className="flex items-center gap-1.5 text-ink-2">
      <span aria-hidden="true" className={cx("h-2.5 w-4 rounded-xs", className)} />
      {label}
    </span>
  );
  return (
    <span className="flex flex-wrap items-center gap-x-3">
      {entry("bg-wait-soft border border-wait-mark", "waits")}
      {entry("hatched border border-run-mark", "on its way")}
      {entry("bg-ok-mark", "ran")}
      {entry("bg-run-mark", "runs")}
      {entry("bg-bad-mark", "failed")}
      {entry("bg-surface border-2 border-accent", "critical path")}
    </span>
  );
}

interface ChartProps {
  rows: readonly GanttRow[];
  span: Span;
  selected: string | undefined;
  onSelect: (task: string) => void;
  /** Shows the items of a mapped task. */
  onGroup?: (task: string) => void;
  onZoom: (factor: number, around: number) => void;
  /** Called while the last rows are near: more are read then. */
  onEnd: () => void;
  more: boolean;
}

/** Rows before the last one at which more are read. */
const READ_AHEAD = 60;
const HEIGHT = 30;
const COLUMNS = "grid grid-cols-[9rem_minmax(0,1fr)] md:grid-cols-[14rem_minmax(0,1fr)]";

function Chart({ rows, span, selected, onSelect, onGroup, onZoom, onEnd, more }: ChartProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const axis = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(800);
  useEffect(() => {
    const element = axis.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => HEIGHT,
    overscan: 10,
  });
  const lowest = virtualizer.range?.endIndex ?? 0;
  useEffect(() => {
    if (more && lowest >= rows.length - READ_AHEAD) onEnd();
  }, [more, lowest, rows.length, onEnd]);
  const marks = ticks(span.from, span.to, width);
  const at = (time: number) => `${((time - span.from) / (span.to - span.from)) * 100}%`;
  const wheel = (event: WheelEvent) => {
    const box = axis.current?.getBoundingClientRect();
    if (!box || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault(); // the browser would zoom the page
    const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    onZoom(event.deltaY > 0 ? 1.25 : 0.8, span.from + share * (span.to - span.from));
  };
  const latest = useRef(wheel);
  useEffect(() => {
    latest.current = wheel;
  });
  // A listener of React is passive: it cannot keep the browser from zooming.
  useEffect(() => {
    const element = scroller.current;
    const turned = (event: WheelEvent) => latest.current(event);
    element?.addEventListener("wheel", turned, { passive: false });
    return () => element?.removeEventListener("wheel", turned);
  }, []);
  return (
    <div ref={scroller} className="min-h-0 flex-1 overflow-y-auto">
      <div className={cx(COLUMNS, "sticky top-0 z-2 h-7 border-line border-b bg-surface text-2xs text-ink-3")}>
        <span className="self-center px-4 font-medium md:px-6">Task</span>
        <div ref={axis} className="relative mr-4 overflow-hidden">
          {marks.map((mark) => (
            <span key={mark} className="absolute inset-y-0 border-line border-l pt-1.5 pl-1" style={{ left: at(mark) }}>
              {(mark - span.from) / (span.to - span.from) > 1 - 50 / width
                ? "" // it would be cut off
                : mark === 0
                  ? "start"
                  : `+${duration(mark)}`}
            </span>
          ))}
        </div>
      </div>
      <ul aria-label="Timeline" className="relative" style={{ height: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map((item) => {
          const row = rows[item.index];
          if (!row) return null;
          return (
            <li
              key={row.name}
              style={{ transform: `translateY(${item.start}px)`, height: HEIGHT }}
              className={cx(
                COLUMNS,
                "absolute inset-x-0 top-0 border-line border-b",
                row.name === selected ? "bg-accent-soft" : "hover:bg-hover",
              )}
            >
              <span className="flex min-w-0 items-center gap-1 pr-1 pl-4 md:pl-6">
                <button
                  type="button"
                  onClick={() => onSelect(row.name)}
                  className={cx("foreign min-w-0 truncate text-left text-sm", row.critical && "font-semibold")}
                >
                  {row.name}
                  {row.critical && <span className="sr-only">, on the critical path</span>}
                </button>
                {row.items && onGroup && (
                  <Button
                    look="quiet"
                    small
                    icon="list"
                    label={`Items of ${row.name}`}
                    onClick={() => onGroup(row.name)}
                  />
                )}
              </span>
              <span className="relative mr-4 overflow-hidden">
                {marks.map((mark) => (
                  <span
                    key={mark}
                    aria-hidden="true"
                    className="absolute inset-y-0 border-line border-l"
                    style={{ left: at(mark) }}
                  />
                ))}
                {row.bars.map((bar, index) => (
                  <BarView key={index} bar={bar} span={span} row={row} onSelect={onSelect} />
                ))}
              </span>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

function BarView({
  bar,
  span,
  row,
  onSelect,
}: {
  bar: Bar;
  span: Span;
  row: GanttRow;
  onSelect: (task: string) => void;
}) {
  const place = placeOf(bar, span);
  if (!place) return null;
  const long = duration(bar.to - bar.from);
  const style = { left: `min(${place.left}%, 100% - 3px)`, width: `max(3px, ${place.width}%)` };
  const title = `${bar.title} · ${long}`;
  if (bar.kind !== "run") {
    return (
      <span
        title={title}
        style={style}
        className={cx(
          "absolute top-[11px] h-2 rounded-xs border",
          bar.kind === "wait" ? "border-wait-mark bg-wait-soft" : "hatched border-run-mark",
        )}
      />
    );
  }
  const tone = toneOf(bar.outcome === undefined ? row.state : stateOfOutcome(bar.outcome));
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the name of the task at the begin of the row does the same by keyboard
    // biome-ignore lint/a11y/noStaticElementInteractions: as above
    <span
      title={title}
      style={style}
      onClick={() => onSelect(row.name)}
      className={cx(
        "absolute top-[6px] h-[18px] cursor-pointer rounded-sm",
        MARK[tone],
        row.critical && "ring-2 ring-accent ring-offset-1 ring-offset-surface",
        bar.open && "pulsing",
      )}
    />
  );
}
