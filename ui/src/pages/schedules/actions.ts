import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { api, call, type Schemas } from "@/api/client";
import { toast, toastError } from "@/components";

type Schedule = Schemas["ScheduleView"];
type Verb = "pause" | "resume" | "fire";

const FAILED: Record<Verb, string> = {
  pause: "The schedule was not paused",
  resume: "The schedule was not resumed",
  fire: "The schedule was not fired",
};

/** Pauses, resumes or fires a schedule; a run that was fired is shown. */
export function useScheduleActions() {
  const client = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: async ({ schedule, verb }: { schedule: Schedule; verb: Verb }): Promise<string | null> => {
      const params = { path: { schedule_id: schedule.id } };
      if (verb === "fire") {
        return (await call(api.POST("/api/v1/schedules/{schedule_id}/fire", { params }))).run_id;
      }
      if (verb === "pause") await call(api.POST("/api/v1/schedules/{schedule_id}/pause", { params }));
      else await call(api.POST("/api/v1/schedules/{schedule_id}/resume", { params }));
      return null;
    },
    onSuccess: (runId, { schedule, verb }) => {
      void client.invalidateQueries({ queryKey: ["schedules"] });
      if (runId === null) {
        toast(verb === "pause" ? `${schedule.name} is paused` : `${schedule.name} goes on`);
      } else {
        toast(`${schedule.name} was fired`);
        void navigate({ to: "/runs/$runId", params: { runId } });
      }
    },
    onError: (error, { verb }) => toastError(FAILED[verb], error),
  });
}
