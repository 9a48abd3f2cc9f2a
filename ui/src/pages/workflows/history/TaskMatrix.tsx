import { Link } from "@tanstack/react-router";
import { Tooltip } from "@/components";
import { cx } from "@/lib/cx";
import { MARK, toneOf } from "@/lib/states";
import { duration, exact } from "@/lib/time";
import { cellWords, type Matrix, type MatrixRun } from "./matrix";

/** Tasks as rows, runs as columns, the newest at the right. Each cell leads to the task in its run. */
export function TaskMatrix({ matrix }: { matrix: Matrix }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard
    <section aria-label="Tasks by run" tabIndex={0} className="overflow-x-auto">
      <table className="border-separate border-spacing-0 text-sm">
        <thead>
          <tr>
            <th scope="col" className="sticky left-0 z-2 min-w-44 bg-surface px-3.5 text-left align-bottom">
              <span className="font-medium text-2xs text-ink-3">Longest run {duration(matrix.longest)}</span>
            </th>
            {matrix.runs.map((run) => (
              <th
                key={run.run_id}
                scope="col"
                className={cx("p-0 align-bottom", run.changed && "border-l border-line-strong border-dashed")}
              >
                <RunBar run={run} />
              </th>
            ))}
            <th scope="col" className="px-3.5 text-right align-bottom font-medium text-2xs text-ink-3">
              Median
            </th>
          </tr>
        </thead>
        <tbody>
          {matrix.rows.map((row) => (
            <tr key={row.name} className="group">
              <th
                scope="row"
                className="sticky left-0 z-2 max-w-60 border-line border-t bg-surface px-3.5 py-0 text-left font-normal group-hover:bg-hover"
              >
                <span className="foreign block truncate">{row.name}</span>
              </th>
              {matrix.runs.map((run, index) => {
                const cell = row.cells[index] ?? null;
                return (
                  <td
                    key={run.run_id}
                    className={cx(
                      "border-line border-t p-0 group-hover:bg-hover",
                      run.changed && "border-l border-l-line-strong border-dashed",
                    )}
                  >
                    {cell === null ? (
                      <span className="grid h-7 w-6 place-items-center text-ink-3">
                        <span className="sr-only">{cellWords(null)}</span>
                      </span>
                    ) : (
                      <Tooltip text={`${row.name} · ${cellWords(cell)}`}>
                        <Link
                          to="/runs/$runId"
                          params={{ runId: run.run_id }}
                          search={{ task: row.name }}
                          aria-label={`${row.name} ${cellWords(cell)}`}
                          className="grid h-7 w-6 place-items-center"
                        >
                          <span
                            className={cx(
                              "size-3.5 rounded-[4px] transition-transform hover:scale-125",
                              MARK[toneOf(cell.state)],
                              cell.reused && "opacity-40",
                              cell.state === "running" && "pulsing",
                              (cell.attempt ?? 0) > 1 && "ring-2 ring-wait-mark ring-offset-1 ring-offset-surface",
                            )}
                          />
                        </Link>
                      </Tooltip>
                    )}
                  </td>
                );
              })}
              <td className="whitespace-nowrap border-line border-t px-3.5 text-right text-ink-2 text-xs">
                {row.p50 === null ? "–" : duration(row.p50)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <Legend />
    </section>
  );
}

function RunBar({ run }: { run: MatrixRun }) {
  const words = [run.state, run.duration != null && duration(run.duration), exact(run.created_at)];
  if (run.changed) words.push("first run of another version");
  return (
    <Tooltip text={words.filter(Boolean).join(" · ")}>
      <Link
        to="/runs/$runId"
        params={{ runId: run.run_id }}
        aria-label={`run ${words.filter(Boolean).join(", ")}`}
        className="flex h-20 w-6 items-end justify-center pt-2 pb-1 hover:bg-hover"
      >
        <span
          className={cx("w-3.5 rounded-t-[3px]", MARK[toneOf(run.state)], run.state === "running" && "pulsing")}
          style={{ height: `${Math.max(6, run.share * 100)}%` }}
        />
      </Link>
    </Tooltip>
  );
}

function Legend() {
  return (
    <p className="sticky left-0 flex w-fit flex-wrap items-center gap-x-4 gap-y-1 px-3.5 py-2.5 text-2xs text-ink-3">
      {["completed", "running", "failed", "skipped"].map((state) => (
        <span key={state} className="flex items-center gap-1.5">
          <span aria-hidden="true" className={cx("size-2.5 rounded-[3px]", MARK[toneOf(state)])} />
          {state}
        </span>
      ))}
      <span className="flex items-center gap-1.5">
        <span aria-hidden="true" className="size-2.5 rounded-[3px] bg-ok-mark ring-2 ring-wait-mark ring-offset-1" />
        more than one attempt
      </span>
      <span className="flex items-center gap-1.5">
        <span aria-hidden="true" className="size-2.5 rounded-[3px] bg-ok-mark opacity-40" />
        result reused
      </span>
      <span>a dashed line: another version</span>
    </p>
  );
}
