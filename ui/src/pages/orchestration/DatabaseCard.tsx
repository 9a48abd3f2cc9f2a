import type { Schemas } from "@/api/client";
import { Card, Meter } from "@/components";
import { percent, whole } from "@/lib/numbers";

/** How busy the database is for an orchestrator, and what that does to its speed. */
export function DatabaseCard({ orchestrator }: { orchestrator: Schemas["OrchestratorView"] }) {
  const { active_connections: active, pool_size: size, saturation, backpressure } = orchestrator;
  const slowed = backpressure < 1;
  return (
    <Card title="Database and backpressure" aside={`${whole(orchestrator.commits)} commits`}>
      <dl className="grid grid-cols-[7rem_minmax(0,1fr)] items-center gap-x-3 gap-y-2 text-sm">
        <dt className="text-ink-2 text-xs">Connections</dt>
        <dd>
          <Meter share={size === 0 ? 0 : active / size} tone={active >= size && size > 0 ? "wait" : "run"}>
            {active} / {size} in use
          </Meter>
        </dd>
        <dt className="text-ink-2 text-xs">Waiting for one</dt>
        <dd className="text-right text-xs">{whole(orchestrator.waiting_for_connections)}</dd>
        <dt className="text-ink-2 text-xs">Saturation</dt>
        <dd>
          <Meter share={saturation} tone={saturation > 0.5 ? "wait" : "run"}>
            {percent(saturation)}
          </Meter>
        </dd>
        <dt className="text-ink-2 text-xs">Speed</dt>
        <dd>
          <Meter share={backpressure} tone={slowed ? "wait" : "ok"}>
            {percent(backpressure)}
          </Meter>
        </dd>
      </dl>
      <p className="mt-3 text-ink-2 text-xs">
        {slowed
          ? `Backpressure leaves ${percent(backpressure)} of the speed: callers spent ${percent(saturation)} of their time waiting for a connection. It ends by itself when that is less.`
          : "Full speed: saturation is the share of callers' time that is spent waiting for a connection, and it is low."}
      </p>
    </Card>
  );
}
