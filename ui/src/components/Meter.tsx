import { cx } from "@/lib/cx";
import { MARK, type Tone } from "@/lib/states";

interface MeterProps {
  /** From 0 to 1. */
  share: number;
  tone?: Tone;
  /** Beside the bar, in words: the bar itself is decoration. */
  children?: React.ReactNode;
  className?: string;
}

/** A bar that is filled to a share, with its figures beside it. */
export function Meter({ share, tone = "run", children, className }: MeterProps) {
  return (
    <span className={cx("flex items-center gap-2", className)}>
      <span aria-hidden="true" className="h-1.5 min-w-8 flex-1 overflow-hidden rounded-full bg-idle-soft">
        <span
          className={cx("block h-full", MARK[tone])}
          style={{ width: `${Math.min(1, Math.max(0, share)) * 100}%` }}
        />
      </span>
      {children && <span className="min-w-12 shrink-0 text-right text-xs">{children}</span>}
    </span>
  );
}
