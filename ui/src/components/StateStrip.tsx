import { Link } from "@tanstack/react-router";
import { cx } from "@/lib/cx";
import { MARK, toneOf } from "@/lib/states";
import { exact } from "@/lib/time";
import { Tooltip } from "./Tooltip";

export interface StripRun {
  run_id: string;
  state: string;
  created_at?: number | null;
}

/** The last states of a workflow as a row of marks, the newest at the right; each leads to its run. */
export function StateStrip({ runs, length = 15 }: { runs: readonly StripRun[]; length?: number }) {
  const shown = runs.slice(0, length).reverse();
  return (
    <div className="flex h-5 items-center gap-[3px]">
      {Array.from({ length: length - shown.length }, (_, index) => (
        <span key={index} aria-hidden="true" className="h-3 w-1.5 rounded-sm bg-idle-soft" />
      ))}
      {shown.map((run) => (
        <Tooltip key={run.run_id} text={run.created_at ? `${run.state} · ${exact(run.created_at)}` : run.state}>
          <Link
            to="/runs/$runId"
            params={{ runId: run.run_id }}
            aria-label={`run ${run.state}`}
            className="group grid h-5 place-items-center"
          >
            <span
              className={cx(
                "h-3.5 w-1.5 rounded-sm transition-transform group-hover:scale-y-125",
                MARK[toneOf(run.state)],
                run.state === "running" && "pulsing",
              )}
            />
          </Link>
        </Tooltip>
      ))}
    </div>
  );
}
