import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, call, type Schemas } from "@/api/client";
import { Button, Dialog, ErrorBox, Input, SkeletonLines, StateBadge, toast, toastError } from "@/components";
import { shortId } from "@/lib/names";
import { counted } from "@/lib/numbers";
import type { RunSearch } from "@/lib/search";
import { idsOf, outcomeOf } from "./bulk";
import { selectionOf } from "./filters";

const LIMIT = 100;

export type BulkAction = "cancel" | "rerun";

interface BulkDialogProps {
  action: BulkAction;
  search: RunSearch;
  onClose: () => void;
}

/** Shows which runs a bulk action would touch, and then does it. */
export function BulkDialog({ action, search, onClose }: BulkDialogProps) {
  const [reason, setReason] = useState("");
  const filter = selectionOf(search);
  const send = (body: Schemas["BulkRerunRequest"]): Promise<Schemas["BulkResult"]> =>
    action === "cancel"
      ? call(api.POST("/api/v1/runs/bulk/cancel", { body: { ...body, ...(reason && { reason }) } }))
      : call(api.POST("/api/v1/runs/bulk/rerun", { body }));
  const preview = useQuery({
    queryKey: ["bulk-preview", action, filter],
    queryFn: () => send({ filter, dry_run: true, limit: LIMIT }),
    staleTime: 0,
    retry: false,
  });
  const act = useMutation({
    // The runs of the preview, not those of the filter: others may fit it by now.
    mutationFn: () => send({ ids: idsOf(preview.data) }),
    onSuccess: (result) => {
      const { done, about } = outcomeOf(result, preview.data?.next !== null && preview.data?.next !== undefined);
      toast(`${counted(done, "run")} ${action === "cancel" ? "cancelled" : "started again"}`, about);
      onClose();
    },
    onError: (error) => toastError("Nothing was changed", error),
  });
  const touched = preview.data?.runs.filter((run) => !run.code) ?? [];
  const left = preview.data?.runs.filter((run) => run.code) ?? [];
  const verb = action === "cancel" ? "Cancel" : "Rerun";
  return (
    <Dialog
      open
      onClose={onClose}
      title={`${verb} all runs of this filter`}
      actions={
        <>
          <Button onClick={onClose}>Close</Button>
          <Button
            look={action === "cancel" ? "danger" : "primary"}
            busy={act.isPending}
            disabled={touched.length === 0}
            onClick={() => act.mutate()}
          >
            {verb} {counted(touched.length, "run")}
          </Button>
        </>
      }
    >
      {preview.error ? (
        <ErrorBox error={preview.error} onRetry={() => void preview.refetch()} />
      ) : !preview.data ? (
        <SkeletonLines lines={5} />
      ) : (
        <div className="grid gap-3">
          <p className="text-sm">
            {touched.length === 0
              ? "No run of this filter would be touched."
              : action === "cancel"
                ? `${counted(touched.length, "run")} would be stopped; their finished results are kept.`
                : `${counted(touched.length, "run")} would start again as new runs that reuse what was finished.`}
            {preview.data.next && ` These are the first ${LIMIT}; repeat it for the others.`}
          </p>
          <Outcomes label="Runs that are touched" runs={touched} />
          {left.length > 0 && (
            <>
              <p className="text-ink-2 text-sm">{counted(left.length, "run")} stay as they are:</p>
              <Outcomes label="Runs that stay" runs={left} />
            </>
          )}
          {action === "cancel" && touched.length > 0 && (
            <Input label="Reason" value={reason} onChange={(event) => setReason(event.target.value)} />
          )}
        </div>
      )}
    </Dialog>
  );
}

function Outcomes({ label, runs }: { label: string; runs: readonly Schemas["BulkOutcome"][] }) {
  if (runs.length === 0) return null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <ul aria-label={label} tabIndex={0} className="max-h-52 overflow-auto rounded-md border border-line">
      {runs.map((run) => (
        <li key={run.run_id} className="flex items-center gap-2.5 border-line border-b px-2.5 py-1 last:border-b-0">
          <span className="font-mono text-xs">{shortId(run.run_id)}</span>
          {run.state && <StateBadge state={run.state} />}
          {run.detail && <span className="foreign ml-auto min-w-0 truncate text-ink-3 text-xs">{run.detail}</span>}
        </li>
      ))}
    </ul>
  );
}
