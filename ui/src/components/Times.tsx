import { useNow } from "@/lib/now";
import { duration, exact, relative } from "@/lib/time";
import { Tooltip } from "./Tooltip";

/** A moment as seen from now; the exact one, in the zone of the viewer, while the pointer is over it. */
export function RelativeTime({ at }: { at: number | null | undefined }) {
  const now = useNow();
  if (at === null || at === undefined) return <span className="text-ink-3">–</span>;
  return (
    <Tooltip text={exact(at)}>
      <time dateTime={new Date(at * 1_000).toISOString()} className="whitespace-nowrap">
        {relative(at, now)}
      </time>
    </Tooltip>
  );
}

interface DurationProps {
  from: number | null | undefined;
  /** Without an end it goes on until now. */
  to?: number | null;
}

/** The time between two moments; it counts while it has no end. */
export function Duration({ from, to }: DurationProps) {
  if (from === null || from === undefined) return <span className="text-ink-3">–</span>;
  return to === null || to === undefined ? <Counting from={from} /> : <Length seconds={to - from} />;
}

function Counting({ from }: { from: number }) {
  const now = useNow();
  return <Length seconds={Math.max(0, Math.floor(now - from))} />;
}

function Length({ seconds }: { seconds: number }) {
  return <span className="whitespace-nowrap">{duration(seconds)}</span>;
}
