import { useVirtualizer } from "@tanstack/react-virtual";
import { useDeferredValue, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { readLogPage } from "@/api/queries";
import { Button, EmptyState, ErrorBox, Input, SkeletonLines, toastError } from "@/components";
import { useTyped } from "@/lib/debounce";
import { counted } from "@/lib/numbers";
import { useStream } from "@/live/LiveProvider";
import { LogRow } from "./LogRow";
import { asText, type LogLine, matches } from "./lines";
import { behindLine, LogReader } from "./logReader";
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

/** Pixels from the end within which a log counts as scrolled to its end. */
const END = 24;

/** Lines of a log as they are written: with colours, search, and the way to errors. */
export function LogView({ runId, task, live, position, find, onFind }: LogViewProps) {
  const { reader, status } = useLines(runId, task, live, position);
  const { lines, dropped, generation } = reader.buffer;
  const progress = live ? progressOf(reader.buffer.progress) : null;
  const [typed, setTyped] = useTyped(find, onFind);
  const [follow, setFollow] = useState(live);
  const [wrap, setWrap] = useState(true);
  /** The id of the line that a search has led to. */
  const [current, setCurrent] = useState<number | null>(null);
  const wanted = useDeferredValue(typed);
  // biome-ignore lint/correctness/useExhaustiveDependencies: lines have other places in another generation
  const found = useMemo(() => matches(wanted), [wanted, generation]);
  const hits = found.extend(lines);
  const bad = reader.buffer.troubles.found;
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

  const top = useRef(0);
  /** The page has scrolled to a line by itself: that this is the end does not mean to follow. */
  const led = useRef(false);
  const byHand = () => {
    led.current = false;
  };
  const scrolled = (element: HTMLElement) => {
    const up = element.scrollTop < top.current;
    top.current = element.scrollTop;
    const atEnd = element.scrollHeight - element.scrollTop - element.clientHeight < END;
    if (atEnd && live && !led.current) setFollow(true);
    else if (!atEnd && up) setFollow(false);
  };
  const show = (index: number | undefined) => {
    if (index === undefined) return;
    setFollow(false);
    led.current = true;
    setCurrent(lines[index]?.id ?? null);
    virtualizer.scrollToIndex(index, { align: "center" });
  };
  const next = (places: readonly number[], back = false) => {
    const from = current === null ? -1 : lines.findIndex((line) => line.id === current);
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
    try {
      const all = status.state === "end" && dropped === 0 ? lines : await reader.all();
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([asText(all)], { type: "text/plain" }));
      link.download = `${task ?? "run"}-${runId}.log`.replace(/[^\w.-]+/g, "_");
      link.click();
      URL.revokeObjectURL(link.href);
    } catch (error) {
      toastError("The log could not be read to its end", error);
    } finally {
      setReading(false);
    }
  };

  if (count === 0 && status.error) return <ErrorBox error={status.error} onRetry={() => void reader.readOn()} />;
  if (count === 0 && status.state === "reading") return <SkeletonLines lines={6} />;
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
      {dropped > 0 && (
        <p className="border-line border-b px-3 py-1.5 text-ink-2 text-xs">
          The first {counted(dropped, "line")} are not kept here; the download has them.
        </p>
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
          onScroll={(event) => scrolled(event.currentTarget)}
          onWheel={byHand}
          onTouchMove={byHand}
          onPointerDown={byHand}
          onKeyDown={byHand}
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
                    current={current === line.id}
                  />
                </div>
              );
            })}
          </div>
        </section>
      )}
      {status.state === "more" && (
        <div className="grid place-items-center border-line border-t p-1.5">
          <Button small look="quiet" onClick={() => void reader.readMore()}>
            Read more lines
          </Button>
        </div>
      )}
    </div>
  );
}

/** Reads the lines that are stored, and follows those that come. */
function useLines(runId: string, task: string | undefined, live: boolean, position: string | undefined) {
  const [reader] = useState(() => new LogReader((cursor, signal) => readLogPage(runId, task, cursor, signal)));
  const status = useSyncExternalStore(reader.subscribe, reader.snapshot);
  // The last lines may be stored after the end of the run.
  useEffect(() => {
    reader.open(live);
    return () => reader.close();
  }, [reader, live]);

  const topic = `/api/v1/runs/${encodeURIComponent(runId)}/logs/stream`;
  const readOn = () => void reader.readOn();
  useStream(
    live && status.state === "end" ? (task === undefined ? topic : `${topic}?task=${encodeURIComponent(task)}`) : null,
    {
      onEvent: (event) => event.event === "log" && reader.append(JSON.parse(event.data) as LogLine),
      onStale: readOn,
      onStatus: (now) => now === "open" && readOn(),
    },
    behindLine(position, reader.buffer.last),
  );
  return { reader, status };
}
