import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, call, type Schemas } from "@/api/client";
import { Badge, Button, Dialog, ErrorBox, Input, toast } from "@/components";
import { counted } from "@/lib/numbers";
import { exact } from "@/lib/time";

type Schedule = Schemas["ScheduleView"];

/** Starts runs for due times of the past, after it has shown which they are. */
export function BackfillDialog({ schedule, onClose }: { schedule: Schedule | null; onClose: () => void }) {
  const [first, setFirst] = useState("");
  const [last, setLast] = useState("");
  const client = useQueryClient();
  const ask = useMutation({
    mutationFn: (dryRun: boolean) =>
      call(
        api.POST("/api/v1/schedules/{schedule_id}/backfill", {
          params: { path: { schedule_id: schedule?.id ?? 0 } },
          body: { first, last: last === "" ? null : last, dry_run: dryRun },
        }),
      ),
    onSuccess: (found) => {
      if (found.dry_run) return;
      toast(`${counted(found.runs, "run")} of ${schedule?.name} will start`);
      void client.invalidateQueries({ queryKey: ["schedules"] });
      onClose();
    },
  });
  const preview = ask.data?.dry_run ? ask.data : undefined;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    ask.mutate(true);
  };
  return (
    <Dialog
      open={schedule !== null}
      onClose={onClose}
      title={`Backfill ${schedule?.name}`}
      actions={
        <>
          <Button onClick={onClose}>Close</Button>
          <Button
            look="primary"
            disabled={!preview || preview.runs === 0}
            busy={ask.isPending && ask.variables === false}
            onClick={() => ask.mutate(false)}
          >
            {preview ? `Start ${counted(preview.runs, "run")}` : "Start runs"}
          </Button>
        </>
      }
    >
      <form onSubmit={submit} className="grid gap-3">
        <p className="text-ink-2 text-sm">
          Runs start for the due times in this span that have not fired. Times are those of{" "}
          <span className="foreign">{schedule?.timezone}</span>.
        </p>
        <div className="grid items-start gap-3 sm:grid-cols-2">
          <Input
            label="From"
            type="datetime-local"
            required
            value={first}
            onChange={(event) => {
              setFirst(event.target.value);
              ask.reset();
            }}
          />
          <Input
            label="Until"
            type="datetime-local"
            hint="without it, until now"
            value={last}
            onChange={(event) => {
              setLast(event.target.value);
              ask.reset();
            }}
          />
        </div>
        <div>
          <Button type="submit" small icon="search" disabled={first === ""} busy={ask.isPending}>
            Preview
          </Button>
        </div>
      </form>
      {ask.error && <ErrorBox error={ask.error} />}
      {preview && <Preview found={preview} />}
    </Dialog>
  );
}

function Preview({ found }: { found: Schemas["Backfilled"] }) {
  if (found.due_times.length === 0) return <p className="mt-3 text-sm">There is no due time in this span.</p>;
  return (
    <ul aria-label="Due times" className="mt-3 max-h-64 overflow-auto rounded-md border border-line text-sm">
      {found.due_times.map((each) => (
        <li
          key={each.due_at}
          className="flex items-center justify-between gap-3 border-line border-b px-3 py-1.5 last:border-b-0"
        >
          <span title={exact(each.due_at)}>{each.local}</span>
          {each.fired_before ? <Badge>has fired before</Badge> : <Badge tone="ok">starts a run</Badge>}
        </li>
      ))}
    </ul>
  );
}
