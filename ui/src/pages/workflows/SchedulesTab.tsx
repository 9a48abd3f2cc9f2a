import { useQuery } from "@tanstack/react-query";
import { schedulesQuery } from "@/api/queries";
import { Card, EmptyState, ErrorBox, SkeletonLines } from "@/components";
import { ScheduleList } from "@/pages/schedules/ScheduleList";

/** The schedules of one workflow, with all that can be done with them. */
export function SchedulesTab({ name }: { name: string }) {
  const schedules = useQuery(schedulesQuery);
  if (schedules.error && !schedules.data) return <ErrorBox error={schedules.error} />;
  if (!schedules.data) return <SkeletonLines lines={4} />;
  const own = schedules.data.schedules.filter((each) => each.workflow === name || each.workflow.endsWith(`::${name}`));
  return (
    <Card flush>
      {own.length === 0 ? (
        <EmptyState icon="schedules" title="It has no schedule">
          Declare one: in YAML with <code>schedule:</code>, in Python with the argument of the same name.
        </EmptyState>
      ) : (
        <ScheduleList schedules={own} />
      )}
    </Card>
  );
}
