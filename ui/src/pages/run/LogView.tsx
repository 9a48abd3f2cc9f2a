import { useInfiniteQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { logsQuery } from "@/api/queries";
import { Button, EmptyState, ErrorBox, Input, SkeletonLines, toastError } from "@/components";
import { useTyped } from "@/lib/debounce";
import { counted } from "@/lib/numbers";
import { useStream } from "@/live/LiveProvider";
import { LogRow } from "./LogRow";
import { asText, type LogLine, matches, merged, troubles } from "./lines";
import { ProgressBar } from "./TasksTab";
import { progressOf } from "./tasks";

interface LogViewProps {
  runId: string;
  /** Without one: the lines of all tasks. */
  task?: string;
  /** More lines may come. */
  live: boolean;
  /** Where the stream goes on behind what was read. */
  position?: string;
  /** What is searched, if the address of the page has it. */
  find?: string;
  onFind?: (text: string | undefined) => void;
}

/** Pages of 1,000 lines that are read at once; more on demand. */
const MAX_PAGES = 20;

/** Lines of a log as they are written: with colours, search, and the way to errors. */
export function LogView({ runId, task, live, position, find, onFind }: LogViewProps) {
  const { lines, query, progress } = useLines(runId, task, live, position);
  const [typed, setTyped] = useTyped(find, onFind);
  const [follow, setFollow] = useState(live);
  const [wrap, setWrap] = useState(true);
  const [current, setCurrent] = useState<number | null>(null);
  const wanted = useDeferredValue(typed);
  const hits = useMemo(() => matches(lines, wanted), [lines, wanted]);
  const bad = useMemo(() => troubles(lines), [lines]);
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 20,
    overscan: 30,
    getItemKey: (index) => lines[index]?.id ?? index,
  });
  const count = lines.length;
  useEffect(() => {
    if (follow && count > 0) virtualizer.scrollToIndex(count - 1, { align: "end" });
  }, [follow, count, virtualizer]);

  const show = (index: number | undefined) => {
    if (index === undefined) return;
    setFollow(false);
    setCurrent(index);
    virtualizer.scrollToIndex(index, { align: "center" });
  };
  const next = (places: readonly number[], back = false) => {
    const from = current ?? -1;
    show(
      back
        ? (places.findLast((each) => each < from) ?? places.at(-1))
        : (places.find((each) => each > from) ?? places[0]),
    );
  };
  const [reading, setReading] = useState(false);
  /** Keeps all lines as a file: those that are not in the page are read first. */
  const download = async () => {
    setReading(true);
    let found: Pick<typeof query, "data" | "hasNextPage" | "isError"> = query;
    while (found.hasNextPage && !found.isError) found = await query.fetchNextPage();
    setReading(false);
    if (found.isError) return toastError("The log could not be read to its end", query.error);
    const all = merged(found.data?.pages.flatMap((page) => page.lines) ?? [], lines);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(
      new Blob([asText(all.filter((line) => line.stream !== "progress"))], { type: "text/plain" }),
    );
    link.download = `${task ?? "run"}-${runId}.log`.replace(/[^\w.-]+/g, "_");
    link.click();
    URL.revokeObjectURL(link.href);
  };

  if (query.error && lines.length === 0) return <ErrorBox error={query.error} onRetry={() => void query.refetch()} />;
  if (query.isPending) return <SkeletonLines lines={6} />;
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="flex flex-wrap items-center gap-1 border-line border-b px-3 py-1.5">
        <Input
          label="Search the log"
          hidden
          icon="search"
          placeholder="Search"
          className="w-40"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") next(hits, event.shiftKey);
          }}
        />
        {wanted && (
          <span role="status" className="px-1 text-ink-3 text-xs">
            {counted(hits.length, "line")}
          </span>
        )}
        <span className="ml-auto flex flex-wrap items-center gap-1">
          <Button small look="quiet" icon="alert" disabled={bad.length === 0} onClick={() => next(bad)}>
            {bad.length > 0 ? "Next error" : "No errors"}
          </Button>
          <Button
            small
            look={follow ? "plain" : "quiet"}
            aria-pressed={follow}
            icon="down"
            onClick={() => setFollow(!follow)}
          >
            Follow
          </Button>
          <Button small look={wrap ? "plain" : "quiet"} aria-pressed={wrap} onClick={() => setWrap(!wrap)}>
            Wrap
          </Button>
          <Button
            small
            look="quiet"
            icon="download"
            label="Download the log"
            busy={reading}
            disabled={count === 0}
            onClick={() => void download()}
          />
        </span>
      </div>
      {progress && task !== undefined && (
        <div className="border-line border-b px-3 py-1.5">
          <ProgressBar progress={progress} />
        </div>
      )}
      {count === 0 ? (
        <EmptyState icon="list" title={live ? "No lines yet" : "No lines"}>
          {live ? "What the task prints or logs appears here at once." : "Nothing was printed or logged."}
        </EmptyState>
      ) : (
        <section
          ref={scroller}
          aria-label="Log"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
          tabIndex={0}
          onWheel={(event) => event.deltaY < 0 && setFollow(false)}
          onKeyDown={(event) => /^(ArrowUp|PageUp|Home)$/.test(event.key) && setFollow(false)}
          className="min-h-0 flex-1 overflow-auto bg-sunken font-mono text-xs leading-5"
        >
          <div className="relative min-w-full" style={{ height: virtualizer.getTotalSize() }}>
            {virtualizer.getVirtualItems().map((item) => {
              const line = lines[item.index];
              if (!line) return null;
              return (
                <div
                  key={item.key}
                  data-index={item.index}
                  ref={virtualizer.measureElement}
                  style={{ transform: `translateY(${item.start}px)` }}
                  className="absolute top-0 left-0 min-w-full"
                >
                  <LogRow
                    line={line}
                    before={lines[item.index - 1]}
                    named={task === undefined || line.task !== task}
                    wrap={wrap}
                    wanted={wanted}
                    current={current === item.index}
                  />
                </div>
              );
            })}
          </div>
        </section>
      )}
      {query.hasNextPage && !query.isFetchingNextPage && (query.data?.pages.length ?? 0) >= MAX_PAGES && (
        <div className="grid place-items-center border-line border-t p-1.5">
          <Button small look="quiet" onClick={() => void query.fetchNextPage()}>
            Read more lines
          </Button>
        </div>
      )}
    </div>
  );
}

/** Reads the lines that are stored, and follows those that come. */
function useLines(runId: string, task: string | undefined, live: boolean, position: string | undefined) {
  const query = useInfiniteQuery(logsQuery(runId, task));
  const { hasNextPage, isFetching, fetchNextPage, refetch } = query;
  const pages = query.data?.pages.length ?? 0;
  useEffect(() => {
    if (hasNextPage && !isFetching && pages < MAX_PAGES) void fetchNextPage();
  }, [hasNextPage, isFetching, pages, fetchNextPage]);

  const [streamed, setStreamed] = useState<readonly LogLine[]>([]);
  const arrived = useRef<LogLine[]>([]);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const topic = `/api/v1/runs/${encodeURIComponent(runId)}/logs/stream`;
  useStream(
    live ? (task === undefined ? topic : `${topic}?task=${encodeURIComponent(task)}`) : null,
    {
      onEvent: (event) => {
        if (event.event !== "log") return;
        arrived.current.push(JSON.parse(event.data) as LogLine);
        timer.current ??= setTimeout(() => {
          timer.current = undefined;
          const lines = arrived.current;
          arrived.current = [];
          setStreamed((known) => [...known, ...lines]);
        }, 80);
      },
      onStale: () => void refetch(),
      onStatus: (status) => status === "open" && void refetch(),
    },
    position,
  );
  const all = useMemo(
    () => merged(query.data?.pages.flatMap((page) => page.lines) ?? [], streamed),
    [query.data, streamed],
  );
  const lines = useMemo(() => all.filter((line) => line.stream !== "progress"), [all]);
  const progress = live ? progressOf(all.findLast((line) => line.stream === "progress")?.text) : null;
  return { lines, query, progress };
}
