import { cx } from "@/lib/cx";

/** Stands for a line of text that is being read. */
export function Skeleton({ className }: { className?: string }) {
  return <span aria-hidden="true" className={cx("skeleton block h-3.5", className ?? "w-32")} />;
}

const WIDTHS = ["w-3/4", "w-1/2", "w-5/6", "w-2/3", "w-2/5"];

/** Stands for lines that are being read. */
export function SkeletonLines({ lines = 4, className }: { lines?: number; className?: string }) {
  return (
    <div role="status" aria-label="Loading" className={cx("grid gap-3 p-3.5", className)}>
      {Array.from({ length: lines }, (_, index) => (
        <Skeleton key={index} className={WIDTHS[index % WIDTHS.length]} />
      ))}
    </div>
  );
}
