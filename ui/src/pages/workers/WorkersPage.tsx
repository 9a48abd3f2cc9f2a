import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { Schemas } from "@/api/client";
import { workersQuery } from "@/api/queries";
import { Badge, Code, type Column, EmptyState, Panel, Table } from "@/components";
import { duration } from "@/lib/time";
import { ListPage } from "@/pages/ListPage";
import { UnmatchedWaits } from "./UnmatchedWaits";
import { WorkerHoldings } from "./WorkerHoldings";

type Worker = Schemas["WorkerView"];

const route = getRouteApi("/shell/workers");

const COLUMNS: Column<Worker>[] = [
  {
    key: "name",
    header: "Worker",
    cell: (worker) => (
      <span className="flex items-center gap-2">
        <span className="foreign truncate font-medium">{worker.name}</span>
        {worker.draining && <Badge tone="hold">draining</Badge>}
        {worker.breaker && worker.breaker !== "closed" && <Badge tone="bad">breaker {worker.breaker}</Badge>}
      </span>
    ),
  },
  {
    key: "language",
    header: "Language",
    width: "9rem",
    phone: false,
    cell: (worker) => <span className="foreign text-ink-2">{`${worker.language} ${worker.sdk_version}`}</span>,
  },
  {
    key: "labels",
    header: "Labels",
    cell: (worker) => (
      <span className="flex gap-1 overflow-hidden">
        {Object.entries(worker.labels ?? {}).map(([label, value]) => (
          <Badge key={label}>{`${label}=${value}`}</Badge>
        ))}
      </span>
    ),
  },
  { key: "load", header: "Load", width: "9rem", cell: (worker) => <Load worker={worker} /> },
  {
    key: "executed",
    header: "Executed",
    width: "5rem",
    align: "end",
    phone: false,
    cell: (worker) => worker.executed ?? 0,
  },
  {
    key: "up",
    header: "Up",
    width: "5rem",
    align: "end",
    phone: false,
    cell: (worker) => duration(worker.up_seconds ?? 0),
  },
];

function Load({ worker }: { worker: Worker }) {
  const [busy, room] = [worker.in_flight ?? 0, worker.capacity ?? 0];
  return (
    <span className="flex items-center gap-2">
      <span aria-hidden="true" className="h-1.5 flex-1 overflow-hidden rounded-full bg-idle-soft">
        <span
          className="block h-full bg-run-mark"
          style={{ width: `${room > 0 ? Math.min(1, busy / room) * 100 : 0}%` }}
        />
      </span>
      <span className="w-12 text-right text-xs">{`${busy} / ${room}`}</span>
    </span>
  );
}

/** The workers that are connected, what each holds, and the tasks that none of them matches. */
export function WorkersPage() {
  const workers = useQuery(workersQuery);
  const { task: chosen } = route.useSearch();
  const navigate = route.useNavigate();
  const show = (id?: string) => void navigate({ search: id ? { task: id } : {}, replace: true });
  const worker = workers.data?.workers.find((each) => each.id === chosen);
  return (
    <div className="flex min-h-0 flex-1">
      <div className="min-w-0 flex-1">
        <ListPage
          title="Workers"
          error={workers.data === undefined ? workers.error : null}
          onRetry={() => void workers.refetch()}
        >
          <Table
            label="Workers"
            columns={COLUMNS}
            rows={workers.data?.workers}
            rowKey={(each) => each.id}
            onRowOpen={(each) => show(each.id)}
            isSelected={(each) => each.id === chosen}
            empty={
              <EmptyState icon="workers" title="No worker is connected">
                <Code>turnout worker --connect ADDRESS --import MODULE</Code> starts one; a server needs a hub for it.
              </EmptyState>
            }
          />
        </ListPage>
        <UnmatchedWaits />
      </div>
      {chosen && (
        <Panel title={worker?.name ?? "Worker"} onClose={() => show()}>
          <WorkerHoldings id={chosen} />
        </Panel>
      )}
    </div>
  );
}
