import { type ReactNode, useId } from "react";
import { cx } from "@/lib/cx";

interface CardProps {
  title?: ReactNode;
  /** Beside the title: a count, a link, buttons. */
  aside?: ReactNode;
  children: ReactNode;
  /** True if the content brings its own padding, as tables and lists do. */
  flush?: boolean;
  className?: string;
}

/** A part of a page. With a title it is a region that a screen reader can jump to. */
export function Card({ title, aside, children, flush = false, className }: CardProps) {
  const id = useId();
  return (
    <section
      aria-labelledby={title ? id : undefined}
      className={cx("min-w-0 overflow-hidden rounded-lg border border-line bg-surface shadow-card", className)}
    >
      {title && (
        <header className="flex h-10 items-center justify-between gap-3 border-line border-b px-3.5">
          <h2 id={id} className="truncate font-semibold text-sm">
            {title}
          </h2>
          {aside && <div className="flex shrink-0 items-center gap-2 text-ink-3 text-xs">{aside}</div>}
        </header>
      )}
      <div className={flush ? undefined : "p-3.5"}>{children}</div>
    </section>
  );
}
