import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "@/api/client";
import { nextFiresQuery, runsQuery, waitingTasksQuery } from "@/api/queries";
import {
  ButtonLink,
  Card,
  type Column,
  Duration,
  EmptyState,
  ErrorBox,
  PageHeader,
  RelativeTime,
  StateBadge,
  Table,
} from "@/components";
import { lastSegment, shortId } from "@/lib/names";
import { useTitle } from "@/lib/title";
import { AttentionCard } from "./AttentionCard";
import { Figures } from "./Figures";
import { ThroughputCard } from "./Throughput";

/** A run, and a task of it that waits. */
interface RunningRun {
  run: Schemas["Run"];
  waiting?: Schemas["OpenTaskView"];
}

const RUNNING: Column<RunningRun>[] = [
  { key: "name", header: "Workflow", cell: ({ run }) => <span className="foreign font-medium">{run.name}</span> },
  { key: "state", header: "State", width: "6.5rem", cell: ({ run }) => <StateBadge state={run.state} /> },
  {
    key: "reason",
    header: "Waits for",
    phone: false,
    cell: ({ run, waiting }) => (
      <span className="foreign text-ink-2">
        {run.driver === "not_driven" ? "no orchestrator drives it" : (run.reason ?? waitOf(waiting))}
      </span>
    ),
  },
  {
    key: "id",
    header: "Run",
    width: "5.5rem",
    phone: false,
    cell: ({ run }) => <span className="font-mono text-ink-3 text-xs">{shortId(run.id)}</span>,
  },
  {
    key: "duration",
    header: "For",
    width: "4.5rem",
    align: "end",
    cell: ({ run }) => <Duration from={run.started_at ?? run.created_at} />,
  },
];

function waitOf(waiting: RunningRun["waiting"]): string {
  return waiting ? `${lastSegment(waiting.name)}: ${waiting.reason ?? "its turn"}` : "";
}

const FIRES: Column<Schemas["NextFire"]>[] = [
  {
    key: "workflow",
    header: "Workflow",
    cell: (fire) => <span className="foreign font-medium">{lastSegment(fire.workflow)}</span>,
  },
  { key: "action", header: "Does", width: "4rem", cell: (fire) => <span className="text-ink-2">{fire.action}</span> },
  { key: "due", header: "Due", width: "5rem", align: "end", cell: (fire) => <RelativeTime at={fire.acts_at} /> },
];

/** What needs the viewer, what runs, how it goes, and what comes next. */
export function HomePage() {
  useTitle("Home");
  return (
    <>
      <PageHeader
        title="Home"
        actions={
          <ButtonLink to="/workflows" icon="runs" look="primary">
            Start a run
          </ButtonLink>
        }
      />
      <div className="grid items-start gap-4 px-4 pb-6 md:px-6 xl:grid-cols-[minmax(0,5fr)_minmax(0,3fr)]">
        <div className="grid min-w-0 gap-4">
          <Figures />
          <AttentionCard />
          <RunningCard />
        </div>
        <div className="grid min-w-0 gap-4">
          <ThroughputCard />
          <NextCard />
        </div>
      </div>
    </>
  );
}

function RunningCard() {
  const running = useInfiniteQuery(runsQuery({ state: ["running", "cancelling"], limit: 10 }));
  const tasks = useQuery(waitingTasksQuery).data?.tasks;
  const page = running.data?.pages[0];
  const rows = page?.runs.map((run) => ({ run, waiting: tasks?.find((task) => task.run_id === run.id) }));
  return (
    <Card
      title="Running now"
      flush
      aside={
        <Link to="/runs" search={{ state: ["running"] }} className="hover:text-ink">
          All
        </Link>
      }
    >
      {running.error && !page ? (
        <ErrorBox error={running.error} onRetry={() => void running.refetch()} />
      ) : (
        <Table
          label="Running now"
          columns={RUNNING}
          rows={rows}
          rowKey={({ run }) => run.id}
          rowLink={({ run }) => ({ to: "/runs/$runId", params: { runId: run.id } })}
          empty={
            <EmptyState icon="runs" title="Nothing runs">
              Start a run on the page of a{" "}
              <Link to="/workflows" className="text-accent-text underline">
                workflow
              </Link>
              .
            </EmptyState>
          }
        />
      )}
    </Card>
  );
}

function NextCard() {
  const next = useQuery(nextFiresQuery(6));
  const fires = next.data?.fires;
  return (
    <Card
      title="Next schedules"
      flush
      aside={
        <Link to="/schedules" className="hover:text-ink">
          All
        </Link>
      }
    >
      {next.error && !next.data ? (
        <ErrorBox error={next.error} onRetry={() => void next.refetch()} />
      ) : (
        <Table
          label="Next schedules"
          columns={FIRES}
          rows={fires}
          rowKey={(fire) => `${fire.schedule_id} ${fire.due_at}`}
          empty={
            <EmptyState icon="schedules" title="Nothing is scheduled">
              A workflow declares its schedule itself.
            </EmptyState>
          }
        />
      )}
    </Card>
  );
}
