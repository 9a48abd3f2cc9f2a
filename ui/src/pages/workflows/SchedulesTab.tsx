import { useInfiniteQuery } from "@tanstack/react-query";
import { schedulesQuery } from "@/api/queries";
import { Card, EmptyState, ErrorBox, SkeletonLines } from "@/components";
import { ScheduleList } from "@/pages/schedules/ScheduleList";

/** The schedules of one workflow, with all that can be done with them. */
export function SchedulesTab({ name }: { name: string }) {
  const schedules = useInfiniteQuery(schedulesQuery(name));
  const own = schedules.data?.pages.flatMap((page) => page.schedules);
  if (schedules.error && !own) return <ErrorBox error={schedules.error} onRetry={() => void schedules.refetch()} />;
  if (!own) return <SkeletonLines lines={4} />;
  return (
    <Card flush>
      {own.length === 0 ? (
        <EmptyState icon="schedules" title="It has no schedule">
          Declare one: in YAML with <code>schedule:</code>, in Python with the argument of the same name.
        </EmptyState>
      ) : (
        <ScheduleList
          schedules={own}
          reading={schedules.isFetchingNextPage}
          onMore={schedules.hasNextPage ? () => void schedules.fetchNextPage() : undefined}
        />
      )}
    </Card>
  );
}
