import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { Schemas } from "@/api/client";
import { orchestrationQuery, workersQuery } from "@/api/queries";
import { Badge, Code, type Column, EmptyState, Labels, Meter, Panel, Table } from "@/components";
import { counted } from "@/lib/numbers";
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
        <Labels labels={worker.labels} none="none" />
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

/** Columns that there is room for beside the panel of a worker. */
const BESIDE_PANEL = new Set(["name", "labels", "load"]);

function Load({ worker }: { worker: Worker }) {
  const [busy, room] = [worker.in_flight ?? 0, worker.capacity ?? 0];
  return (
    <Meter share={room > 0 ? busy / room : 0} tone={room > 0 && busy >= room ? "wait" : "run"}>
      {`${busy} / ${room}`}
    </Meter>
  );
}

/** The hubs that workers connect to. */
function Hubs({ hubs, workers }: { hubs: readonly string[] | undefined; workers: number | undefined }) {
  if (hubs === undefined || workers === undefined) return null;
  if (hubs.length === 0) {
    return (
      <>
        No server of this database has a hub: <Code>turnout server --hub tcp://0.0.0.0:8471</Code> opens one.
      </>
    );
  }
  return (
    <span className="foreign">
      {counted(workers, "worker")} connected to {counted(hubs.length, "hub")}: {hubs.join(", ")}
    </span>
  );
}

/** The workers that are connected, what each holds, and the tasks that none of them matches. */
export function WorkersPage() {
  const workers = useQuery(workersQuery);
  const orchestration = useQuery(orchestrationQuery);
  const hubs = orchestration.data?.orchestrators.flatMap(({ hub }) => (hub ? [hub] : []));
  const address = hubs?.[0] ?? "tcp://HOST:PORT";
  const { task: chosen } = route.useSearch();
  const navigate = route.useNavigate();
  const show = (id?: string) => void navigate({ search: id ? { task: id } : {}, replace: true });
  const worker = workers.data?.workers.find((each) => each.id === chosen);
  return (
    <div className="flex min-h-0 flex-1">
      <div className="min-w-0 flex-1">
        <ListPage
          title="Workers"
          about={<Hubs hubs={hubs} workers={workers.data?.workers.length} />}
          error={workers.data === undefined ? workers.error : null}
          onRetry={() => void workers.refetch()}
        >
          <Table
            label="Workers"
            columns={chosen ? COLUMNS.filter(({ key }) => BESIDE_PANEL.has(key)) : COLUMNS}
            rows={workers.data?.workers}
            rowKey={(each) => each.id}
            onRowOpen={(each) => show(each.id)}
            isSelected={(each) => each.id === chosen}
            empty={
              <EmptyState icon="workers" title="No worker is connected">
                <Code>{`turnout worker --connect ${address} --import MODULE`}</Code> starts one; a server needs a hub
                for it.
              </EmptyState>
            }
          />
        </ListPage>
        <UnmatchedWaits address={address} />
      </div>
      {chosen && (
        <Panel title={worker?.name ?? "Worker"} onClose={() => show()}>
          <WorkerHoldings id={chosen} />
        </Panel>
      )}
    </div>
  );
}
