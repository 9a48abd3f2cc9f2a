import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useDeferredValue, useId, useMemo, useState } from "react";
import { api, call, type Schemas } from "@/api/client";
import { rerunPreviewQuery, runGraphQuery, runInputQuery } from "@/api/queries";
import { Button, Dialog, ErrorBox, Select, SkeletonLines, toast, toastError } from "@/components";
import { editable } from "@/lib/json";
import { counted } from "@/lib/numbers";
import { changedInput } from "./input";

const WHY: Record<string, string> = {
  asked_for: "starts from here",
  not_finished: "did not finish",
  new: "is new in the workflow",
  changed: "changed in the workflow",
  input_changed: "takes a changed input",
  hook: "runs when its event comes",
};

interface RerunDialogProps {
  runId: string;
  /** The task to start from that is proposed. */
  from?: string;
  onClose: () => void;
}

/** Asks for the start and the input of a rerun, and says which tasks would run again and which results be reused. */
export function RerunDialog({ runId, from, onClose }: RerunDialogProps) {
  const navigate = useNavigate();
  const id = useId();
  const graph = useQuery(runGraphQuery(runId));
  const input = useQuery(runInputQuery(runId));
  const [start, setStart] = useState(from ?? "");
  const [typed, setTyped] = useState<string | null>(null);
  const known = input.data ?? "{}";
  const text = useMemo(() => typed ?? editable(known), [typed, known]);
  const found = useMemo(() => changedInput(text, known), [text, known]);
  const body = useMemo<Schemas["RerunRequest"]>(
    () => ({ from_task: start || null, input: "input" in found ? found.input : {} }),
    [start, found],
  );
  const asked = useDeferredValue(body);
  const preview = useQuery({
    ...rerunPreviewQuery(runId, asked),
    enabled: input.data !== undefined && "input" in found,
    retry: false,
  });
  const rerun = useMutation({
    mutationFn: () => call(api.POST("/api/v1/runs/{run_id}/rerun", { params: { path: { run_id: runId } }, body })),
    onSuccess: ({ run }) => {
      toast("Started again", `as run ${run.id}`);
      onClose();
      void navigate({ to: "/runs/$runId", params: { runId: run.id }, search: (old) => old });
    },
    onError: (error) => toastError("It was not started again", error),
  });
  const refused = "error" in found ? found.error : null;
  // What is shown meanwhile is what an earlier input would do.
  const outdated = asked !== body || preview.isPlaceholderData || !preview.data;
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={from ? `Rerun from ${from}` : "Rerun"}
      actions={
        <>
          <Button onClick={onClose}>Close</Button>
          <Button
            look="primary"
            icon="rerun"
            busy={rerun.isPending}
            disabled={refused !== null || outdated || preview.error !== null}
            onClick={() => rerun.mutate()}
          >
            Rerun
          </Button>
        </>
      }
    >
      <div className="grid gap-4 md:grid-cols-2">
        <div className="grid content-start gap-3">
          <Select label="Start" value={start} onChange={(event) => setStart(event.target.value)}>
            <option value="">at what did not finish</option>
            {graph.data?.nodes
              .filter((node) => !node.hook)
              .map((node) => (
                <option key={node.name} value={node.name}>
                  from {node.name}
                </option>
              ))}
          </Select>
          <div className="grid gap-1">
            <label htmlFor={id} className="font-medium text-ink-2 text-xs">
              Input
            </label>
            <textarea
              id={id}
              rows={9}
              spellCheck={false}
              value={text}
              aria-invalid={refused ? true : undefined}
              aria-describedby={`${id}-about`}
              onChange={(event) => setTyped(event.target.value)}
              className="w-full resize-y rounded-md border border-line-strong bg-surface p-2 font-mono text-xs aria-invalid:border-bad-mark"
            />
            <p id={`${id}-about`} className={refused ? "foreign text-bad text-xs" : "text-ink-3 text-xs"}>
              {refused ??
                "A JSON object. Tasks that take what you change run again; parameters that you leave out keep their values."}
            </p>
          </div>
        </div>
        <section aria-label="What the rerun does" aria-live="polite" className="min-w-0">
          {preview.error ? (
            <ErrorBox error={preview.error} />
          ) : !preview.data ? (
            <SkeletonLines lines={5} />
          ) : (
            <Preview preview={preview.data} />
          )}
        </section>
      </div>
    </Dialog>
  );
}

function Preview({ preview }: { preview: Schemas["RerunPreview"] }) {
  return (
    <div className="grid gap-3 text-sm">
      {preview.version_changed && (
        <p className="rounded-md bg-wait-soft px-2.5 py-1.5 text-wait text-xs">
          The workflow has changed since this run: the rerun uses its present version.
        </p>
      )}
      <div>
        <h3 className="mb-1 font-semibold text-xs">{counted(preview.again.length, "task")} run again</h3>
        <ul className="max-h-44 overflow-auto rounded-md border border-line">
          {preview.again.map(({ task, why, after, items, items_of_before }) => (
            <li key={task} className="flex items-baseline gap-2 border-line border-b px-2.5 py-1 last:border-b-0">
              <span className="foreign font-medium">{task}</span>
              {typeof items === "number" && (
                <span
                  className="whitespace-nowrap text-ink-2 text-xs"
                  title={items_of_before ? "Its list is made anew: it had that many items before." : undefined}
                >
                  {counted(items, "item")}
                  {items_of_before && " before"}
                </span>
              )}
              <span className="foreign ml-auto text-ink-3 text-xs">
                {why === "follows" ? `follows ${after}` : (WHY[why] ?? why)}
              </span>
            </li>
          ))}
        </ul>
      </div>
      <div>
        <h3 className="mb-1 font-semibold text-xs">{counted(preview.reused.length, "result")} reused</h3>
        {preview.reused.length > 0 ? (
          <p className="foreign max-h-32 overflow-auto text-ink-2 text-xs">{preview.reused.join(", ")}</p>
        ) : (
          <p className="text-ink-3 text-xs">Everything runs again.</p>
        )}
      </div>
    </div>
  );
}
