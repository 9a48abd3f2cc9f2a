import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, call, type Schemas } from "@/api/client";
import { Button, Dialog, Input, toast, toastError } from "@/components";
import { counted } from "@/lib/numbers";
import { ENDED } from "@/lib/states";
import { useCommands } from "@/shell/commands";
import { useShortcuts } from "@/shell/shortcuts";
import { RerunDialog } from "./RerunDialog";

type Asked = "cancel" | "pause" | "resume" | "rerun";
type Run = Schemas["RunDetail"];

/** What can be done with a run. Each action says beforehand what it does to the tasks. */
export function RunActions({ run }: { run: Run }) {
  const [asked, setAsked] = useState<Asked | null>(null);
  const ended = ENDED.has(run.state);
  const allowed: Asked[] = ended
    ? ["rerun"]
    : run.state === "cancelling"
      ? []
      : [run.state === "paused" ? "resume" : "pause", "cancel"];
  useShortcuts(allowed.map((each) => ({ ...KEYS[each], group: "This run", run: () => setAsked(each) })));
  useCommands(
    allowed.map((each) => ({ id: `run ${each}`, label: `${TITLES[each]} this run`, run: () => setAsked(each) })),
  );
  const close = () => setAsked(null);
  return (
    <>
      {allowed.map((each) => (
        <Button
          key={each}
          look={each === "cancel" ? "danger" : each === "rerun" ? "primary" : "plain"}
          icon={ICONS[each]}
          onClick={() => setAsked(each)}
        >
          {TITLES[each]}
        </Button>
      ))}
      {asked === "rerun" && <RerunDialog runId={run.id} onClose={close} />}
      {asked !== null && asked !== "rerun" && <Confirm key={asked} run={run} action={asked} onClose={close} />}
    </>
  );
}

const ICONS = { cancel: "stop", pause: "pause", resume: "play", rerun: "rerun" } as const;
const TITLES = { cancel: "Cancel", pause: "Pause", resume: "Resume", rerun: "Rerun" };
const KEYS = {
  cancel: { keys: "x", label: "Cancel the run" },
  pause: { keys: "p", label: "Pause the run" },
  resume: { keys: "p", label: "Resume the run" },
  rerun: { keys: "r", label: "Rerun" },
};

function Confirm({ run, action, onClose }: { run: Run; action: Exclude<Asked, "rerun">; onClose: () => void }) {
  const [reason, setReason] = useState("");
  const params = { path: { run_id: run.id } };
  const act = useMutation({
    mutationFn: () => {
      if (action === "pause") return call(api.POST("/api/v1/runs/{run_id}/pause", { params }));
      if (action === "resume") return call(api.POST("/api/v1/runs/{run_id}/resume", { params }));
      return call(api.POST("/api/v1/runs/{run_id}/cancel", { params, body: reason ? { reason } : null }));
    },
    onSuccess: () => {
      toast(DONE[action]);
      onClose();
    },
    onError: (error) => toastError(`The run could not be changed`, error),
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={`${TITLES[action]} this run?`}
      actions={
        <>
          <Button onClick={onClose}>Close</Button>
          <Button look={action === "cancel" ? "danger" : "primary"} busy={act.isPending} onClick={() => act.mutate()}>
            {TITLES[action]} the run
          </Button>
        </>
      }
    >
      <div className="grid gap-3">
        <ul className="grid list-disc gap-1 pl-4 text-sm">
          {consequences(run, action).map((each) => (
            <li key={each}>{each}</li>
          ))}
        </ul>
        {action === "cancel" && (
          <Input
            label="Reason"
            hint="It is kept in the history of the run."
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
        )}
      </div>
    </Dialog>
  );
}

const DONE = { cancel: "The run is cancelled", pause: "The run is paused", resume: "The run goes on" };

/** Returns what an action does to the tasks, in sentences. */
export function consequences(run: Pick<Run, "tasks">, action: Exclude<Asked, "rerun">): string[] {
  const count = (state: string) => run.tasks?.[state] ?? 0;
  const running = counted(count("running"), "task");
  const waiting = counted(count("ready") + count("pending"), "task");
  const done = counted(count("completed"), "task");
  if (action === "pause")
    return [`${running} that run go on to their end.`, `${waiting} do not start until you resume.`];
  if (action === "resume") return [`${waiting} start as soon as they can.`, `Results of ${done} stay.`];
  return [
    `${running} that run are stopped.`,
    `${waiting} that have not started never will.`,
    `Results of ${done} are kept; a rerun can use them.`,
  ];
}
