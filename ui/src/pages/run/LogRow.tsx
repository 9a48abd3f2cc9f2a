import { memo } from "react";
import { ansiSpans, type Ink, type Span } from "@/lib/ansi";
import { cx } from "@/lib/cx";
import { clock, exact } from "@/lib/time";
import { type LogLine, split } from "./lines";

const INKS: Record<Ink, string> = {
  ok: "text-ok",
  bad: "text-bad",
  run: "text-run",
  wait: "text-wait",
  hold: "text-hold",
  idle: "text-idle",
  cyan: "text-accent-text",
  faint: "text-ink-3",
};
const FILLS: Record<Ink, string> = {
  ok: "bg-ok-soft",
  bad: "bg-bad-soft",
  run: "bg-run-soft",
  wait: "bg-wait-soft",
  hold: "bg-hold-soft",
  idle: "bg-idle-soft",
  cyan: "bg-accent-soft",
  faint: "bg-idle-soft",
};

interface LogRowProps {
  line: LogLine;
  before: LogLine | undefined;
  /** Says which task wrote it. */
  named: boolean;
  wrap: boolean;
  wanted: string;
  current: boolean;
}

/** One line of a log: its text is text, and of its ANSI sequences only the colours count. */
export const LogRow = memo(function LogRow({ line, before, named, wrap, wanted, current }: LogRowProps) {
  const another = before !== undefined && (before.attempt !== line.attempt || before.task !== line.task);
  return (
    <div
      aria-current={current || undefined}
      className={cx(
        "flex gap-3 border-l-2 px-3",
        current ? "border-accent bg-accent-soft" : line.stream === "stderr" ? "border-bad-mark" : "border-transparent",
        another && !current && "border-t border-t-line",
      )}
    >
      <time
        className="shrink-0 select-none text-ink-3"
        dateTime={new Date(line.at * 1_000).toISOString()}
        title={exact(line.at)}
      >
        {clock(line.at)}
      </time>
      {(line.attempt > 1 || named) && (
        <span className="foreign w-28 shrink-0 select-none truncate text-ink-3">
          {named ? line.task : "attempt"}
          {line.attempt > 1 && ` #${line.attempt}`}
        </span>
      )}
      <span className={cx("foreign min-w-0", wrap ? "whitespace-pre-wrap" : "whitespace-pre")}>
        {ansiSpans(line.text).map((span, index) => (
          <Piece key={index} span={span} wanted={wanted} />
        ))}
      </span>
    </div>
  );
});

function Piece({ span, wanted }: { span: Span; wanted: string }) {
  const look = cx(
    span.ink && INKS[span.ink],
    span.fill && FILLS[span.fill],
    span.bold && "font-semibold",
    span.italic && "italic",
    span.underlined && "underline",
  );
  const pieces = split(span.text, wanted);
  return (
    <span className={look || undefined}>
      {pieces.map((piece, index) =>
        index % 2 ? (
          <mark key={index} className="rounded-xs bg-wait-soft text-wait outline outline-wait-mark">
            {piece}
          </mark>
        ) : (
          piece
        ),
      )}
    </span>
  );
}
