import { useState } from "react";
import type { Schemas } from "@/api/client";
import { Badge, BreakerBadge, Button, Card, Meter, Tooltip } from "@/components";
import { cx } from "@/lib/cx";
import { counted, percent, whole } from "@/lib/numbers";
import { MARK, type Tone } from "@/lib/states";
import { duration } from "@/lib/time";
import { POOLS, poolLabel } from "./series";

type Pool = Schemas["PoolView"];
type Stage = Schemas["StageView"];

const HEALTH: Record<string, Tone> = {
  healthy: "ok",
  degraded: "wait",
  unhealthy: "bad",
  starting: "run",
  stopping: "idle",
};

/** The pools of stage executors of an orchestrator, and the health of each executor. */
export function Pools({ orchestrator }: { orchestrator: Schemas["OrchestratorView"] }) {
  const [open, setOpen] = useState(false);
  const known = Object.keys(POOLS);
  const pools = [...orchestrator.pools].sort((one, other) => known.indexOf(one.name) - known.indexOf(other.name));
  const sick = pools.some((pool) => pool.degraded + pool.unhealthy > 0);
  const shown = open || sick;
  return (
    <Card
      title="Pools"
      flush
      aside={
        <Button small look="quiet" aria-expanded={shown} disabled={sick} onClick={() => setOpen(!open)}>
          {shown ? "Hide the executors" : "Every executor"}
        </Button>
      }
    >
      <ul aria-label="Pools" className="grid bg-line [gap:1px] sm:grid-cols-2 xl:grid-cols-5">
        {pools.map((pool) => (
          <PoolItem key={pool.name} pool={pool} />
        ))}
      </ul>
      {shown && <Executors pools={pools} />}
    </Card>
  );
}

function PoolItem({ pool }: { pool: Pool }) {
  const { executors, min_executors: least, max_executors: most } = pool;
  return (
    <li aria-label={poolLabel(pool.name)} className="grid content-start gap-2 bg-surface px-3.5 py-3">
      <div className="flex items-center gap-2">
        <span aria-hidden="true" className={cx("size-2.5 rounded-sm", MARK[POOLS[pool.name]?.tone ?? "bad"])} />
        <Tooltip text={pool.name}>
          <h3 className="min-w-0 truncate font-semibold text-sm">{poolLabel(pool.name)}</h3>
        </Tooltip>
        <span className="ml-auto">
          {pool.breaker === "closed" ? (
            <Health pool={pool} />
          ) : (
            <span className="flex items-center gap-1 text-2xs">
              breaker <BreakerBadge state={pool.breaker} />
            </span>
          )}
        </span>
      </div>
      <p className="min-h-9 text-ink-3 text-xs">{POOLS[pool.name]?.about}</p>
      <p className="flex items-baseline gap-1.5">
        <span className="font-semibold text-2xl">{executors}</span>
        <span className="text-ink-2 text-xs">
          {executors === 1 ? "executor" : "executors"}, {least === most ? `always ${least}` : `${least} to ${most}`}
        </span>
      </p>
      <Meter share={pool.utilisation} tone={pool.utilisation > 0.9 ? "wait" : "run"}>
        {percent(pool.utilisation)} busy
      </Meter>
      <dl className="grid gap-y-0.5 text-xs">
        <Figure label="items" value={`${rate(pool.throughput)} / s`} />
        <Figure label="queued" value={whole(pool.queued)} bad={pool.queued > 1_000} />
        <Figure label="scaled" value={`↑ ${whole(pool.scaled_up)}  ↓ ${whole(pool.scaled_down)}`} />
        <Figure label="errors" value={whole(pool.errors)} bad={pool.errors > 0} />
        <Figure label="replaced" value={whole(pool.replaced + pool.restarted)} bad={pool.replaced > 0} />
      </dl>
    </li>
  );
}

function Figure({ label, value, bad = false }: { label: string; value: string; bad?: boolean }) {
  return (
    <div className="flex justify-between gap-2">
      <dt className="text-ink-3">{label}</dt>
      <dd className={bad ? "text-wait" : "text-ink-2"}>{value}</dd>
    </div>
  );
}

function rate(value: number): string {
  return value < 10 ? value.toFixed(1) : whole(Math.round(value));
}

function Health({ pool }: { pool: Pool }) {
  if (pool.unhealthy > 0) return <Badge tone="bad">{`${pool.unhealthy} unhealthy`}</Badge>;
  if (pool.degraded > 0) return <Badge tone="wait">{`${pool.degraded} degraded`}</Badge>;
  return <Badge tone="ok">healthy</Badge>;
}

/** Every stage executor with its health. */
function Executors({ pools }: { pools: readonly Pool[] }) {
  return (
    <div className="overflow-x-auto border-line border-t">
      <table className="w-full text-xs">
        <caption className="sr-only">Stage executors</caption>
        <thead className="text-left text-2xs text-ink-3">
          <tr className="h-8 border-line border-b [&>th]:px-3.5 [&>th]:font-medium">
            <th>Pool</th>
            <th>Executor</th>
            <th>Health</th>
            <th className="text-right max-md:hidden">Items</th>
            <th className="text-right max-md:hidden">Per second</th>
            <th className="text-right max-md:hidden">A batch</th>
            <th className="text-right">Errors</th>
          </tr>
        </thead>
        <tbody>
          {pools.flatMap((pool) =>
            pool.stage_executors.map((each) => <StageRow key={`${pool.name} ${each.id}`} pool={pool} stage={each} />),
          )}
        </tbody>
      </table>
    </div>
  );
}

function StageRow({ pool, stage }: { pool: Pool; stage: Stage }) {
  return (
    <tr className="h-8 border-line border-b last:border-b-0 [&>td]:px-3.5">
      <td>{poolLabel(pool.name)}</td>
      <td className="foreign font-mono text-ink-2">{stage.id}</td>
      <td>
        <span className="flex flex-wrap items-center gap-2">
          <Badge tone={HEALTH[stage.state] ?? "idle"}>{stage.state}</Badge>
          <span className="text-ink-3">for {duration(Math.round(stage.state_seconds))}</span>
          {stage.reason && <span className="foreign text-wait">{stage.reason}</span>}
        </span>
      </td>
      <td className="text-right max-md:hidden">{whole(stage.items)}</td>
      <td className="text-right max-md:hidden">{rate(stage.items_per_second)}</td>
      <td className="text-right max-md:hidden">{duration(stage.average_seconds)}</td>
      <td className={cx("text-right", stage.error_rate > 0 && "text-bad")} title={counted(pool.errors, "error")}>
        {(stage.error_rate * 100).toFixed(stage.error_rate > 0 && stage.error_rate < 0.1 ? 1 : 0)} %
      </td>
    </tr>
  );
}
