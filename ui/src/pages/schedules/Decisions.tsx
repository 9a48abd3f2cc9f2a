import { useInfiniteQuery, useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "@/api/client";
import { decisionsQuery, scheduleQuery } from "@/api/queries";
import { Badge, Button, Card, type Column, EmptyState, ErrorBox, RelativeTime, Table } from "@/components";
import { lastSegment, shortId } from "@/lib/names";

type Decision = Schemas["DecisionRow"];

/** What was decided at due times, newest first, with the reason. */
export function Decisions({ schedules }: { schedules: readonly Schemas["ScheduleView"][] }) {
  const decisions = useInfiniteQuery(decisionsQuery());
  const rows = decisions.data?.pages.flatMap((page) => page.decisions);
  const known = new Map(schedules.map((each) => [each.id, each]));
  // Schedules are read page by page: a decision may be about one of a later page.
  const others = [...new Set(rows?.map((each) => each.schedule_id))].filter((id) => !known.has(id));
  const read = useQueries({ queries: others.map((id) => ({ ...scheduleQuery(id), retry: false })) });
  for (const { data } of read) if (data) known.set(data.id, data);
  const columns: Column<Decision>[] = [
    {
      key: "schedule",
      header: "Schedule",
      cell: (each) => {
        const schedule = known.get(each.schedule_id);
        return (
          <span className="foreign">
            <span className="font-medium">{schedule ? lastSegment(schedule.workflow) : each.schedule_id}</span>{" "}
            <span className="text-ink-2">{schedule?.name}</span>
          </span>
        );
      },
    },
    { key: "due", header: "Due", width: "6rem", cell: (each) => <RelativeTime at={each.due_at} /> },
    {
      key: "outcome",
      header: "Decision",
      width: "6rem",
      cell: (each) => <Badge tone={each.outcome === "fired" ? "ok" : "wait"}>{each.outcome}</Badge>,
    },
    {
      key: "reason",
      header: "Reason",
      width: "minmax(0, 2fr)",
      phone: false,
      cell: (each) => (
        <span className="foreign text-ink-2" title={each.reason}>
          {each.reason}
          {each.due_times > 1 && ` · ${each.due_times} due times`}
        </span>
      ),
    },
    {
      key: "actor",
      header: "By",
      width: "7rem",
      phone: false,
      cell: (each) => <span className="foreign text-ink-2">{each.actor ?? "the schedule"}</span>,
    },
    {
      key: "run",
      header: "Run",
      width: "6rem",
      align: "end",
      cell: (each) =>
        each.run_id && (
          <Link to="/runs/$runId" params={{ runId: each.run_id }} className="font-mono text-xs hover:underline">
            {shortId(each.run_id)}
          </Link>
        ),
    },
  ];
  return (
    <Card title="Decisions" flush>
      {decisions.error && !decisions.data ? (
        <ErrorBox error={decisions.error} />
      ) : (
        <Table
          label="Decisions"
          columns={columns}
          rows={rows}
          rowKey={(each) => String(each.id)}
          empty={
            <EmptyState icon="schedules" title="No due time has come yet">
              The calendar above has the next ones. Fire now starts a run at once, and Backfill those of past due times.
            </EmptyState>
          }
          footer={
            decisions.hasNextPage && (
              <div className="border-line border-t p-2 text-center">
                <Button small look="quiet" busy={decisions.isFetching} onClick={() => void decisions.fetchNextPage()}>
                  Show more
                </Button>
              </div>
            )
          }
        />
      )}
    </Card>
  );
}
