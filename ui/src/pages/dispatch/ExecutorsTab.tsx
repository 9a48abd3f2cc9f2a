import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "@/api/client";
import { executorsQuery, openTasksQuery } from "@/api/queries";
import {
  Badge,
  BreakerBadge,
  Card,
  type Column,
  EmptyState,
  ErrorBox,
  Meter,
  Panel,
  RelativeTime,
  SkeletonLines,
  StateDot,
  Table,
} from "@/components";
import { lastSegment, shortId } from "@/lib/names";
import { compact, counted, whole } from "@/lib/numbers";
import { duration } from "@/lib/time";

type Executor = Schemas["ExecutorView"];
type OpenTask = Schemas["OpenTaskView"];

const COLUMNS: Column<Executor>[] = [
  {
    key: "key",
    header: "Executor",
    cell: (executor) => (
      <span className="flex items-center gap-2">
        <span className="foreign truncate font-medium">{executor.key}</span>
        {executor.shared && <Badge title="Its slots are those of workers, which all orchestrators use">workers</Badge>}
        {!executor.here && <Badge tone="wait">not on this server</Badge>}
      </span>
    ),
  },
  {
    key: "kinds",
    header: "Runs",
    phone: false,
    cell: (executor) => <span className="foreign text-ink-2">{executor.kinds?.join(", ") || "–"}</span>,
  },
  {
    key: "load",
    header: "Load",
    width: "minmax(7rem, 1.2fr)",
    cell: (executor) => <Load executor={executor} />,
  },
  {
    key: "waiting",
    header: "Waiting",
    width: "4.5rem",
    align: "end",
    phone: false,
    cell: (executor) => whole(executor.waiting),
  },
  {
    key: "rate",
    header: "Attempts",
    width: "6rem",
    align: "end",
    phone: false,
    cell: (executor) => `${executor.attempts_per_second.toFixed(1)} / s`,
  },
  {
    key: "average",
    header: "Average",
    width: "5rem",
    align: "end",
    phone: false,
    cell: (executor) => (executor.average_seconds == null ? "–" : duration(executor.average_seconds)),
  },
  {
    key: "failed",
    header: "Failed",
    width: "7rem",
    align: "end",
    phone: false,
    cell: (executor) => (
      <span className={executor.failed > 0 ? "text-bad" : "text-ink-2"}>
        {compact(executor.failed)} of {compact(executor.executed)}
      </span>
    ),
  },
  {
    key: "breaker",
    header: "Breaker",
    width: "5.5rem",
    cell: (executor) => <BreakerBadge state={executor.breaker} />,
  },
];

/** Columns that there is room for beside the panel of an executor. */
const BESIDE_PANEL = new Set(["key", "load", "breaker"]);

function Load({ executor: { active, capacity, async_running: light = 0 } }: { executor: Executor }) {
  const more = light > 0 ? `, ${whole(light)} async` : "";
  if (capacity == null) return <span className="text-ink-2 text-xs">{`${whole(active)} in hand${more}`}</span>;
  const share = capacity === 0 ? 0 : active / capacity;
  return (
    <Meter share={share} tone={share >= 1 ? "wait" : "run"}>{`${whole(active)} / ${whole(capacity)}${more}`}</Meter>
  );
}

interface ExecutorsTabProps {
  chosen: string | undefined;
  onChoose: (key: string | undefined) => void;
}

/** The task executors of all orchestrators, and what one of them runs. */
export function ExecutorsTab({ chosen, onChoose }: ExecutorsTabProps) {
  const executors = useQuery(executorsQuery);
  const found = executors.data?.executors.find((each) => each.key === chosen);
  if (executors.error && !executors.data) {
    return <ErrorBox error={executors.error} onRetry={() => void executors.refetch()} />;
  }
  return (
    <div className="flex min-h-0 flex-1">
      <div className="min-w-0 flex-1 p-4 md:px-6">
        <Card flush>
          <Table
            label="Executors"
            columns={chosen ? COLUMNS.filter(({ key }) => BESIDE_PANEL.has(key)) : COLUMNS}
            rows={executors.data?.executors}
            rowKey={(each) => each.key}
            onRowOpen={(each) => onChoose(each.key)}
            isSelected={(each) => each.key === chosen}
            empty={
              <EmptyState icon="dispatch" title="No executor is known">
                No orchestrator is alive on this database.
              </EmptyState>
            }
          />
        </Card>
      </div>
      {chosen && (
        <Panel title={chosen} onClose={() => onChoose(undefined)}>
          {found && <Facts executor={found} />}
          <OpenTasks executor={chosen} />
        </Panel>
      )}
    </div>
  );
}

function Facts({ executor }: { executor: Executor }) {
  return (
    <section aria-label="By orchestrator" className="border-line border-b px-4 py-3">
      <h3 className="mb-2 font-semibold text-sm">
        By orchestrator <span className="font-normal text-ink-3">{executor.orchestrators.length}</span>
      </h3>
      <ul className="grid gap-1.5 text-sm">
        {executor.orchestrators.map((each) => (
          <li key={each.orchestrator} className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <span className="font-mono text-ink-2 text-xs">{shortId(each.orchestrator)}</span>
            <span className="text-xs">
              {each.capacity == null
                ? counted(each.active, "attempt")
                : `${whole(each.active)} / ${whole(each.capacity)}`}
            </span>
            <span className="text-ink-2 text-xs">
              {whole(each.executed)} executed, {whole(each.failed)} failed
            </span>
            <span className="ml-auto">
              <BreakerBadge state={each.breaker} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function OpenTasks({ executor }: { executor: string }) {
  const open = useQuery(openTasksQuery(executor));
  if (open.error && !open.data) return <ErrorBox error={open.error} onRetry={() => void open.refetch()} />;
  if (!open.data) return <SkeletonLines lines={5} />;
  const running = open.data.tasks.filter((each) => each.state === "running");
  const waiting = open.data.tasks.filter((each) => each.state !== "running");
  return (
    <>
      <Tasks title="Runs now" tasks={running} none="Nothing: it is free." />
      <Tasks title="Waits for it" tasks={waiting} none="No task waits for it." />
      {open.data.more && <p className="px-4 py-2 text-ink-3 text-xs">There are more; these are of the oldest runs.</p>}
    </>
  );
}

function Tasks({ title, tasks, none }: { title: string; tasks: readonly OpenTask[]; none: string }) {
  return (
    <section aria-label={title} className="border-line border-b px-4 py-3">
      <h3 className="mb-2 font-semibold text-sm">
        {title} <span className="font-normal text-ink-3">{tasks.length}</span>
      </h3>
      {tasks.length === 0 && <p className="text-ink-2 text-sm">{none}</p>}
      <ul className="grid gap-1.5">
        {tasks.map((each) => (
          <li key={`${each.run_id} ${each.name}`} className="grid gap-0.5 text-sm">
            <span className="flex items-baseline gap-3">
              <StateDot state={each.state} size={7} />
              <Link
                to="/runs/$runId"
                params={{ runId: each.run_id }}
                search={{ task: each.name }}
                className="foreign min-w-0 flex-1 truncate hover:underline"
              >
                <span className="font-medium">{lastSegment(each.workflow)}</span> · {each.name}{" "}
                <span className="font-mono text-ink-3 text-xs">{shortId(each.run_id)}</span>
              </Link>
              <span className="text-ink-2 text-xs">
                <RelativeTime at={each.since} />
              </span>
            </span>
            {each.wait && <span className="foreign pl-5 text-wait text-xs">{each.wait.meaning}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}
