import { Link, type LinkProps } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type ReactNode, useRef } from "react";
import { cx } from "@/lib/cx";
import { Skeleton } from "./Skeleton";

export interface Column<Row> {
  key: string;
  header: ReactNode;
  cell: (row: Row) => ReactNode;
  /** A size of a grid track, such as "8rem" or "minmax(8rem, 2fr)"; by default it takes its share. */
  width?: string;
  align?: "start" | "end";
  /** False: phones do not show it. */
  phone?: boolean;
}

interface TableProps<Row> {
  label: string;
  columns: readonly Column<Row>[];
  /** Undefined while they are read. */
  rows: readonly Row[] | undefined;
  rowKey: (row: Row) => string;
  /** Where a row leads to. Its first cell is the link; the rest of the row follows it. */
  rowLink?: (row: Row) => Pick<LinkProps, "to" | "params" | "search">;
  onRowOpen?: (row: Row) => void;
  isSelected?: (row: Row) => boolean;
  /** Shown instead of rows if there are none. */
  empty?: ReactNode;
  /** Below the rows: a button for the next page, a sentence. */
  footer?: ReactNode;
  /** True: the table scrolls by itself and only the rows in sight exist. Its parent has a bounded height. */
  virtual?: boolean;
  /** Called when the last rows come into sight; for virtual tables. */
  onEnd?: () => void;
}

export const ROW_HEIGHT = 36;
const SKELETON_ROWS = 8;

/** Rows of things. j and k (or the arrows) move between rows, Enter opens one. */
export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows, rowKey, empty, footer, virtual = false } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: virtual ? (rows?.length ?? 0) : 0,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
    onChange: (instance) => {
      const last = instance.getVirtualItems().at(-1);
      if (virtual && last && rows && last.index >= rows.length - 5) props.onEnd?.();
    },
  });

  if (rows !== undefined && rows.length === 0 && empty) return <>{empty}</>;
  const tracks = columns.map((column) => column.width ?? "minmax(0, 1fr)").join(" ");
  const onPhones = columns.filter((column) => column.phone !== false);
  const narrow = onPhones.map((column) => column.width ?? "minmax(0, 1fr)").join(" ");
  const style = { "--tracks": tracks, "--narrow": narrow } as React.CSSProperties;

  const move = (event: KeyboardEvent) => {
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    if (step === undefined || event.metaKey || event.ctrlKey || event.altKey) return;
    const all = [...(body.current?.querySelectorAll<HTMLElement>("[data-row]") ?? [])];
    const at = all.findIndex((each) => each.contains(document.activeElement));
    const next = all[at + step];
    if (!next) return;
    event.preventDefault();
    (next.querySelector<HTMLElement>("[data-open]") ?? next).focus();
    next.scrollIntoView({ block: "nearest" });
  };

  const row = (each: Row, index: number, top?: number) => (
    <TableRow key={rowKey(each)} {...props} row={each} index={index} top={top} />
  );
  return (
    <div ref={scroller} className={cx("min-w-0 overflow-x-auto", virtual && "h-full overflow-y-auto")}>
      <div role="table" aria-label={label} aria-rowcount={rows?.length} style={style} className="min-w-full text-sm">
        <div role="rowgroup" className={cx(virtual && "sticky top-0 z-10 bg-surface")}>
          <div role="row" className={cx(GRID, "h-8 border-line border-b font-medium text-2xs text-ink-3")}>
            {columns.map((column) => (
              <div key={column.key} role="columnheader" className={cell(column)}>
                {column.header}
              </div>
            ))}
          </div>
        </div>
        <div
          ref={body}
          role="rowgroup"
          onKeyDown={move}
          className={cx(virtual && "relative")}
          style={virtual ? { height: virtualizer.getTotalSize() } : undefined}
        >
          {rows === undefined
            ? Array.from({ length: SKELETON_ROWS }, (_, index) => (
                <div key={index} role="row" className={cx(GRID, "h-9 border-line border-b")}>
                  {columns.map((column) => (
                    <div key={column.key} role="cell" className={cell(column)}>
                      <Skeleton className="w-2/3" />
                    </div>
                  ))}
                </div>
              ))
            : virtual
              ? virtualizer.getVirtualItems().map((item) => {
                  const each = rows[item.index];
                  return each === undefined ? null : row(each, item.index, item.start);
                })
              : rows.map((each, index) => row(each, index))}
        </div>
      </div>
      {footer}
    </div>
  );
}

const GRID = "grid items-center gap-x-3 px-3.5 grid-cols-[var(--narrow)] md:grid-cols-[var(--tracks)]";

function cell<Row>(column: Column<Row>): string {
  return cx("min-w-0 truncate", column.align === "end" && "text-right", column.phone === false && "hidden md:block");
}

type RowProps<Row> = TableProps<Row> & { row: Row; index: number; top?: number };

function TableRow<Row>({ columns, row, index, top, rowLink, onRowOpen, isSelected }: RowProps<Row>) {
  const opens = rowLink !== undefined || onRowOpen !== undefined;
  const selected = isSelected?.(row) ?? false;
  const content = (column: Column<Row>, first: boolean) => {
    if (!first || !opens) return column.cell(row);
    const shape = "block truncate outline-none after:absolute after:inset-0";
    if (rowLink) {
      return (
        <Link {...rowLink(row)} data-open="" className={shape}>
          {column.cell(row)}
        </Link>
      );
    }
    return (
      <button type="button" data-open="" onClick={() => onRowOpen?.(row)} className={cx(shape, "w-full text-left")}>
        {column.cell(row)}
      </button>
    );
  };
  return (
    <div
      role="row"
      data-row=""
      aria-rowindex={index + 1}
      aria-current={selected || undefined}
      tabIndex={opens ? undefined : -1}
      style={top === undefined ? undefined : { position: "absolute", top: 0, transform: `translateY(${top}px)` }}
      className={cx(
        GRID,
        "relative h-9 w-full border-line border-b last:border-b-0",
        opens &&
          "hover:bg-hover has-[[data-open]:focus-visible]:bg-hover has-[[data-open]:focus-visible]:shadow-[inset_2px_0_0_var(--accent)]",
        selected && "bg-accent-soft hover:bg-accent-soft",
      )}
    >
      {columns.map((column, position) => (
        <div
          key={column.key}
          role="cell"
          className={cx(
            cell(column),
            position > 0 &&
              "[&_a]:relative [&_a]:z-1 [&_button]:relative [&_button]:z-1 [&_time]:relative [&_time]:z-1",
          )}
        >
          {content(column, position === 0)}
        </div>
      ))}
    </div>
  );
}
