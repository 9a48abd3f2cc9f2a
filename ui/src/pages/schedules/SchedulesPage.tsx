import { useInfiniteQuery } from "@tanstack/react-query";
import { schedulesQuery } from "@/api/queries";
import { Card, EmptyState, ErrorBox, PageHeader } from "@/components";
import { useTitle } from "@/lib/title";
import { Agenda } from "./Agenda";
import { Decisions } from "./Decisions";
import { ScheduleList } from "./ScheduleList";

/** The schedules of all workflows: when they fire next, what was decided before, and what can be done with them. */
export function SchedulesPage() {
  useTitle("Schedules");
  const schedules = useInfiniteQuery(schedulesQuery());
  const all = schedules.data?.pages.flatMap((page) => page.schedules);
  return (
    <>
      <PageHeader title="Schedules" />
      <div className="grid gap-4 px-4 pb-6 md:px-6">
        <Card title="Schedules" flush>
          {schedules.error && !all ? (
            <ErrorBox error={schedules.error} onRetry={() => void schedules.refetch()} />
          ) : all?.length === 0 ? (
            <EmptyState icon="schedules" title="No schedules">
              A workflow declares its schedule: in YAML with <code>schedule:</code>, in Python with the argument of the
              same name.
            </EmptyState>
          ) : (
            <ScheduleList
              schedules={all}
              reading={schedules.isFetchingNextPage}
              onMore={schedules.hasNextPage ? () => void schedules.fetchNextPage() : undefined}
            />
          )}
        </Card>
        {all !== undefined && all.length > 0 && (
          <>
            <Agenda />
            <Decisions schedules={all} />
          </>
        )}
      </div>
    </>
  );
}
