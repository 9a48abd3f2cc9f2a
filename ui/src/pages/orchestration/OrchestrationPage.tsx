import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { Schemas } from "@/api/client";
import { orchestrationQuery } from "@/api/queries";
import { Badge, Card, type Column, EmptyState, ErrorBox, Meter, PageHeader, SkeletonLines, Table } from "@/components";
import { bytes } from "@/lib/bytes";
import { shortId } from "@/lib/names";
import { counted, percent, whole } from "@/lib/numbers";
import type { Tone } from "@/lib/states";
import { duration } from "@/lib/time";
import { useTitle } from "@/lib/title";
import { Breakers } from "./Breakers";
import { Charts } from "./Charts";
import { DatabaseCard } from "./DatabaseCard";
import { Events } from "./Events";
import { Pools } from "./Pools";
import { Troubles } from "./Troubles";

type Orchestrator = Schemas["OrchestratorView"];

const route = getRouteApi("/shell/orchestration");

const CONDITIONS: Record<string, Tone> = { healthy: "ok", degraded: "wait", unhealthy: "bad" };

function columns(here: string): Column<Orchestrator>[] {
  return [
    {
      key: "host",
      header: "Orchestrator",
      cell: (one) => (
        <span className="flex items-center gap-2">
          <span className="foreign truncate font-medium">
            {one.host}, {one.pid}
          </span>
          {one.id === here && <Badge title="The server that answers this page">here</Badge>}
          {one.stopping && <Badge tone="wait">stopping</Badge>}
        </span>
      ),
    },
    {
      key: "condition",
      header: "Condition",
      width: "6rem",
      cell: (one) => <Badge tone={CONDITIONS[one.condition] ?? "idle"}>{one.condition}</Badge>,
    },
    { key: "runs", header: "Runs", width: "5rem", align: "end", cell: (one) => whole(one.owned_runs) },
    {
      key: "saturation",
      header: "Database",
      width: "8rem",
      phone: false,
      cell: (one) => (
        <Meter share={one.saturation} tone={one.saturation > 0.5 ? "wait" : "run"}>
          {percent(one.saturation)}
        </Meter>
      ),
    },
    { key: "cpu", header: "CPU", width: "4.5rem", align: "end", phone: false, cell: (one) => percent(one.cpu_ratio) },
    {
      key: "memory",
      header: "Memory",
      width: "5.5rem",
      align: "end",
      phone: false,
      cell: (one) => bytes(one.memory_bytes),
    },
    {
      key: "heard",
      header: "Heard",
      width: "5.5rem",
      align: "end",
      phone: false,
      cell: (one) => `${duration(one.silent_seconds)} ago`,
    },
    { key: "up", header: "Up", width: "5rem", align: "end", phone: false, cell: (one) => duration(one.uptime_seconds) },
  ];
}

/** The orchestrators on the database; of one of them pools over time, events, the database and breakers. */
export function OrchestrationPage() {
  useTitle("Orchestration");
  const found = useQuery(orchestrationQuery);
  const search = route.useSearch();
  const navigate = route.useNavigate();
  if (found.error && !found.data) return <ErrorBox error={found.error} onRetry={() => void found.refetch()} />;
  if (!found.data) return <SkeletonLines lines={8} />;
  const { orchestrators, this: here } = found.data;
  const chosen = orchestrators.find((one) => one.id === search.task) ?? orchestrators.find((one) => one.id === here);
  const shown = chosen ?? orchestrators[0];
  return (
    <>
      <PageHeader
        title="Orchestration"
        about={
          shown && (
            <span className="flex flex-wrap items-center gap-x-2">
              <Badge tone={CONDITIONS[shown.condition] ?? "idle"}>{shown.condition}</Badge>
              <span className="foreign">
                {counted(orchestrators.length, "orchestrator")} on this database; shown is{" "}
                <span className="font-mono">{shortId(shown.id)}</span>
                {shown.hub && `, hub ${shown.hub} with ${counted(shown.workers ?? 0, "worker")}`}
              </span>
            </span>
          )
        }
      />
      <div className="grid gap-4 px-4 pb-6 md:px-6">
        {shown === undefined ? (
          <Card flush>
            <EmptyState icon="orchestration" title="No orchestrator is alive">
              Runs wait until one is: every server has one, and so has every program with a Runner.
            </EmptyState>
          </Card>
        ) : (
          <>
            <Troubles orchestrator={shown} />
            {orchestrators.length > 1 && (
              <Card title="Orchestrators" flush>
                <Table
                  label="Orchestrators"
                  columns={columns(here)}
                  rows={orchestrators}
                  rowKey={(one) => one.id}
                  onRowOpen={(one) => void navigate({ search: { task: one.id }, replace: true })}
                  isSelected={(one) => one.id === shown.id}
                />
              </Card>
            )}
            <Pools orchestrator={shown} />
            <Charts shown={shown} several={orchestrators.length > 1} />
            <div className="grid items-start gap-4 xl:grid-cols-2">
              <Events orchestrator={shown} />
              <div className="grid gap-4">
                <DatabaseCard orchestrator={shown} />
                <Breakers orchestrator={shown} />
              </div>
            </div>
          </>
        )}
      </div>
    </>
  );
}
