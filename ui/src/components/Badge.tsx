import type { ReactNode } from "react";
import { cx } from "@/lib/cx";
import { MARK, SOFT, type Tone, toneOf } from "@/lib/states";

const SHAPE = "inline-flex max-w-full items-center gap-1.5 rounded px-1.5 text-2xs font-medium leading-5";

/** A short label. */
export function Badge({ tone = "idle", children, title }: { tone?: Tone; children: ReactNode; title?: string }) {
  return (
    <span className={cx(SHAPE, SOFT[tone])} title={title}>
      <span className="foreign truncate">{children}</span>
    </span>
  );
}

/** A dot in the colour of a state. */
export function StateDot({ state, size = 8 }: { state: string; size?: number }) {
  return (
    <span
      aria-hidden="true"
      style={{ width: size, height: size }}
      className={cx("inline-block shrink-0 rounded-full", MARK[toneOf(state)], state === "running" && "pulsing")}
    />
  );
}

/** The state of a run or a task, in words and in colour. */
export function StateBadge({ state, children }: { state: string; children?: ReactNode }) {
  return (
    <span className={cx(SHAPE, SOFT[toneOf(state)])}>
      <StateDot state={state} size={6} />
      <span className="truncate">{children ?? state}</span>
    </span>
  );
}
