import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { statsQuery } from "@/api/queries";
import { Skeleton, StateDot } from "@/components";
import { whole } from "@/lib/numbers";
import type { RunState } from "@/lib/states";

const SHOWN: { state: RunState; label: string }[] = [
  { state: "running", label: "Running" },
  { state: "pending", label: "Pending" },
  { state: "paused", label: "Paused" },
  { state: "cancelling", label: "Cancelling" },
];

/** How many runs are open, by state; each leads to their list. */
export function Figures() {
  const { data } = useQuery(statsQuery("hour"));
  return (
    <ul className="grid grid-cols-2 overflow-hidden rounded-lg border border-line bg-line shadow-card max-sm:gap-px sm:grid-cols-4 sm:gap-px">
      {SHOWN.map(({ state, label }) => (
        <li key={state} className="bg-surface">
          <Link to="/runs" search={{ state: [state] }} className="grid gap-0.5 px-3.5 py-2.5 hover:bg-hover">
            <span className="flex items-center gap-1.5 text-ink-2 text-xs">
              <StateDot state={state} size={7} />
              {label}
            </span>
            <span className="font-semibold text-xl">
              {data ? whole(data.open_runs[state] ?? 0) : <Skeleton className="my-1.5 w-10" />}
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
