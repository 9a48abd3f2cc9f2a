import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Schemas } from "@/api/client";
import { executorsQuery, workersQuery } from "@/api/queries";
import { BreakerBadge, Card } from "@/components";
import { counted } from "@/lib/numbers";
import { poolLabel } from "./series";

interface Breaker {
  key: string;
  state: string;
  what: ReactNode;
  cause?: string;
}

/** The breakers of an orchestrator's pools, of the task executors and of the workers. */
export function Breakers({ orchestrator }: { orchestrator: Schemas["OrchestratorView"] }) {
  const executors = useQuery(executorsQuery);
  const workers = useQuery(workersQuery);
  const all: Breaker[] = [
    ...orchestrator.pools.map((pool) => ({
      key: `pool ${pool.name}`,
      state: pool.breaker,
      what: <>pool {poolLabel(pool.name)}</>,
    })),
    ...(executors.data?.executors ?? []).map(({ key, breaker }) => ({
      key: `executor ${key}`,
      state: breaker,
      what: (
        <Link to="/dispatch" search={{ tab: "executors", task: key }} className="hover:underline">
          executor {key}
        </Link>
      ),
    })),
    ...(workers.data?.workers ?? []).map(({ id, name, breaker = "closed", cause }) => ({
      key: `worker ${id}`,
      state: breaker,
      what: (
        <Link to="/workers" search={{ task: id }} className="hover:underline">
          worker {name}
        </Link>
      ),
      cause,
    })),
  ];
  const tripped = all.filter((each) => each.state !== "closed");
  const rest = all.length - tripped.length;
  return (
    <Card title="Breakers" flush aside={tripped.length > 0 ? `${tripped.length} not closed` : undefined}>
      <ul aria-label="Breakers">
        {tripped.map((each) => (
          <li key={each.key} className="flex items-baseline gap-2.5 border-line border-b px-3.5 py-2 text-sm">
            <BreakerBadge state={each.state} />
            <span className="foreign font-medium">{each.what}</span>
            {each.cause && <span className="foreign min-w-0 flex-1 text-ink-2 text-xs">{each.cause}</span>}
          </li>
        ))}
        <li className="flex items-center gap-2.5 px-3.5 py-2 text-ink-2 text-sm">
          <BreakerBadge state="closed" />
          {tripped.length === 0 ? `all ${counted(rest, "breaker")}` : `the other ${rest}`}: pools, executors and workers
          take work
        </li>
      </ul>
    </Card>
  );
}
