import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, call, type Schemas } from "@/api/client";
import { runGraphQuery } from "@/api/queries";
import { Button, Dialog, Input, toast, toastError } from "@/components";
import { ENDED } from "@/lib/states";
import { useCommands } from "@/shell/commands";
import { useShortcuts } from "@/shell/shortcuts";
import { consequences } from "./consequences";
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
  const graph = useQuery(runGraphQuery(run.id));
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
          {consequences(run, graph.data?.nodes ?? [], action).map((each) => (
            <li key={each} className="foreign">
              {each}
            </li>
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
