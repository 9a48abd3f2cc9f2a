import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import type { Schemas } from "@/api/client";
import { runOpenTasksQuery, runTasksQuery } from "@/api/queries";
import { Button, Duration, EmptyState, ErrorBox, Input, SkeletonLines, StateBadge, StateDot } from "@/components";
import { cx } from "@/lib/cx";
import { useTyped } from "@/lib/debounce";
import { counted, whole } from "@/lib/numbers";
import { type Progress, progressOf, type Row, refreshed, rowsOf, type Task } from "./tasks";

const GRID =
  "grid items-center gap-x-3 px-4 md:px-6 grid-cols-[minmax(0,1fr)_7rem_5.5rem] @2xl:grid-cols-[minmax(0,1.4fr)_7rem_minmax(0,2fr)_8rem_4rem_5.5rem]";
const HEIGHT = 36;

interface TasksTabProps {
  run: Schemas["RunDetail"];
  selected: string | undefined;
  onSelect: (task: string) => void;
  filter?: string;
  onFilter?: (text: string | undefined) => void;
}

/** All tasks of a run with the items of mapped ones, by state. Only the rows in sight exist. */
export function TasksTab({ run, selected, onSelect, filter, onFilter }: TasksTabProps) {
  const query = useInfiniteQuery(runTasksQuery(run.id));
  const { hasNextPage, isFetching, fetchNextPage, refetch } = query;
  const [typed, setTyped] = useTyped(filter, onFilter);
  const [grouped, setGrouped] = useState(true);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const wanted = useDeferredValue(typed);
  const { data: open } = useQuery(runOpenTasksQuery(run.id, run.tasks ?? {}));
  const tasks = useMemo(() => {
    const all = query.data?.pages.flatMap((page) => page.tasks);
    return all && refreshed(all, open?.tasks ?? []);
  }, [query.data, open]);
  const rows = useMemo(() => rowsOf(tasks ?? [], wanted, grouped, closed), [tasks, wanted, grouped, closed]);
  const progress = useMemo(() => {
    const found = new Map<string, Progress>();
    for (const page of [...(query.data?.pages ?? []), ...(open ? [open] : [])]) {
      for (const [name, text] of Object.entries(page.progress ?? {})) {
        const each = progressOf(text);
        if (each) found.set(name, each);
      }
    }
    return found;
  }, [query.data, open]);

  useEffect(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);

  // Items of mapped tasks come into being while the run goes on.
  const total = Object.values(run.tasks ?? {}).reduce((sum, count) => sum + count, 0);
  const readFor = useRef(0);
  useEffect(() => {
    if (!tasks || isFetching || hasNextPage || tasks.length >= total || readFor.current === total) return;
    readFor.current = total;
    void refetch();
  }, [tasks, total, isFetching, hasNextPage, refetch]);

  if (query.error && !tasks) return <ErrorBox error={query.error} onRetry={() => void query.refetch()} />;
  if (!tasks) return <SkeletonLines lines={8} />;
  const toggle = (state: string) =>
    setClosed((known) => {
      const next = new Set(known);
      if (!next.delete(state)) next.add(state);
      return next;
    });
  return (
    <div className="flex min-h-[20rem] flex-1 flex-col bg-surface">
      <div className="flex flex-wrap items-center gap-2 border-line border-b px-4 py-2 md:px-6">
        <Input
          label="Filter tasks"
          hidden
          icon="search"
          placeholder="Name, executor or reason"
          className="w-64"
          data-filter=""
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        <Button small look="quiet" aria-pressed={grouped} icon="list" onClick={() => setGrouped(!grouped)}>
          {grouped ? "Grouped by state" : "In order"}
        </Button>
        <span role="status" className="ml-auto text-ink-3 text-xs">
          {hasNextPage
            ? `${whole(tasks.length)} of ${whole(Math.max(total, tasks.length))} tasks read`
            : counted(tasks.length, "task")}
        </span>
      </div>
      {rows.length === 0 ? (
        <EmptyState icon="search" title="No task fits">
          {typed ? "Clear the filter to see all tasks." : "This run has no tasks."}
        </EmptyState>
      ) : (
        <Rows rows={rows} selected={selected} onSelect={onSelect} onToggle={toggle} progress={progress} />
      )}
    </div>
  );
}

interface RowsProps {
  rows: readonly Row[];
  selected: string | undefined;
  onSelect: (task: string) => void;
  onToggle: (state: string) => void;
  progress: ReadonlyMap<string, Progress>;
}

function Rows({ rows, selected, onSelect, onToggle, progress }: RowsProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => HEIGHT,
    overscan: 10,
  });
  const move = (event: KeyboardEvent) => {
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    if (step === undefined || event.metaKey || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    const at = Number((document.activeElement as HTMLElement | null)?.dataset.index ?? -1) + step;
    if (at < 0 || at >= rows.length) return;
    virtualizer.scrollToIndex(at);
    requestAnimationFrame(() =>
      scroller.current?.querySelector<HTMLElement>(`button[data-index="${at}"]`)?.focus({ preventScroll: true }),
    );
  };
  return (
    <div ref={scroller} className="@container min-h-0 flex-1 overflow-auto">
      <div role="table" aria-label="Tasks" aria-rowcount={rows.length + 1}>
        <div role="rowgroup" className="sticky top-0 z-2 bg-surface">
          <div
            role="row"
            aria-rowindex={1}
            className={cx(GRID, "h-8 border-line border-b font-medium text-2xs text-ink-3")}
          >
            <div role="columnheader">Task</div>
            <div role="columnheader">State</div>
            <div role="columnheader" className="hidden @2xl:block">
              Why
            </div>
            <div role="columnheader" className="hidden @2xl:block">
              Executor
            </div>
            <div role="columnheader" className="hidden text-right @2xl:block">
              Attempt
            </div>
            <div role="columnheader" className="text-right">
              Duration
            </div>
          </div>
        </div>
        <div role="rowgroup" onKeyDown={move} className="relative" style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map((item) => {
            const row = rows[item.index];
            if (!row) return null;
            return (
              <div
                key={row.kind === "group" ? `state ${row.state}` : row.task.name}
                role="row"
                aria-rowindex={item.index + 2}
                style={{ transform: `translateY(${item.start}px)` }}
                className="absolute inset-x-0 top-0 h-9 border-line border-b"
              >
                {row.kind === "group" ? (
                  <div role="cell" className="h-full bg-canvas">
                    <button
                      type="button"
                      data-index={item.index}
                      aria-expanded={!row.closed}
                      onClick={() => onToggle(row.state)}
                      className="flex h-full w-full items-center gap-2 px-4 text-left font-medium text-xs md:px-6"
                    >
                      <StateDot state={row.state} />
                      {row.state}
                      <span className="text-ink-3">{whole(row.count)}</span>
                      <span className="ml-auto text-ink-3">{row.closed ? "show" : "hide"}</span>
                    </button>
                  </div>
                ) : (
                  <Cells
                    task={row.task}
                    index={item.index}
                    selected={row.task.name === selected}
                    onSelect={onSelect}
                    progress={progress.get(row.task.name)}
                  />
                )}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

interface CellsProps {
  task: Task;
  index: number;
  selected: boolean;
  onSelect: (task: string) => void;
  progress: Progress | undefined;
}

function Cells({ task, index, selected, onSelect, progress }: CellsProps) {
  const why = task.error?.message ?? task.reason ?? task.decision ?? "";
  return (
    <div
      className={cx(GRID, "relative h-full text-sm hover:bg-hover", selected && "bg-accent-soft hover:bg-accent-soft")}
    >
      <div role="cell" className="min-w-0">
        <button
          type="button"
          data-index={index}
          aria-pressed={selected}
          onClick={() => onSelect(task.name)}
          className="foreign block w-full truncate text-left font-medium outline-none after:absolute after:inset-0 focus-visible:after:shadow-[inset_2px_0_0_var(--accent)]"
        >
          {task.name}
        </button>
      </div>
      <div role="cell" className="min-w-0">
        <StateBadge state={task.state} />
      </div>
      <div role="cell" className="hidden min-w-0 @2xl:block">
        {progress && task.state === "running" ? (
          <ProgressBar progress={progress} />
        ) : (
          <span className={cx("foreign block truncate", task.error ? "text-bad" : "text-ink-2")}>{why}</span>
        )}
      </div>
      <div role="cell" className="foreign hidden min-w-0 truncate text-ink-2 @2xl:block">
        {task.executor ?? ""}
      </div>
      <div role="cell" className="hidden text-right text-ink-2 @2xl:block">
        {task.attempt ? task.attempt : "–"}
      </div>
      <div role="cell" className="text-right">
        <Duration
          from={task.started_at ?? (task.state === "running" ? task.dispatched_at : null)}
          to={task.finished_at}
        />
      </div>
    </div>
  );
}

/** How far a task says that it is. */
export function ProgressBar({ progress }: { progress: Progress }) {
  const share = progress.total ? Math.min(1, progress.done / progress.total) : undefined;
  return (
    <span className="flex min-w-0 items-center gap-2 text-ink-2 text-xs">
      {share !== undefined && (
        <span
          role="progressbar"
          aria-label="Progress"
          aria-valuenow={Math.round(share * 100)}
          className="h-1.5 w-24 shrink-0 overflow-hidden rounded-full bg-idle-soft"
        >
          <span className="block h-full bg-run-mark" style={{ width: `${share * 100}%` }} />
        </span>
      )}
      <span className="foreign truncate">
        {whole(progress.done)}
        {progress.total !== undefined && ` of ${whole(progress.total)}`} {progress.message}
      </span>
    </span>
  );
}
