import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, call, type Schemas } from "@/api/client";
import { Problem } from "@/api/problem";
import { Button, Dialog, ErrorBox, TextDiff, toast } from "@/components";
import type { Draft } from "@/components/editor/drafts";
import { rulesText } from "./rulesText";
import { shiftsOf } from "./shifts";
import { Summary } from "./WhatIf";

interface ApplyRulesProps {
  open: boolean;
  draft: Draft;
  /** The rules of the draft. */
  routing: Schemas["Routing"];
  /** What they would have changed. */
  result: Schemas["WhatIfResult"] | undefined;
  onClose: () => void;
  onApplied: (version: number, text: string) => void;
  /** Other rules were put in force since the draft was begun. */
  onStale: () => void;
}

/** Asks once more, with the difference and its effect, and puts rules in force. */
export function ApplyRules({ open, draft, routing, result, onClose, onApplied, onStale }: ApplyRulesProps) {
  const client = useQueryClient();
  const apply = useMutation({
    mutationFn: () =>
      call(api.PUT("/api/v1/routing", { params: { header: { "If-Match": draft.etag } }, body: routing })),
    onSuccess: (saved) => {
      const doubts = saved.warnings?.join(" ");
      toast(`Version ${saved.version} of the rules is in force`, doubts || "Attempts that run keep their decision.");
      client.setQueryData(["routing", "rules"], saved);
      void client.invalidateQueries({ queryKey: ["routing"] });
      onApplied(saved.version, draft.text);
    },
    onError: (error) => {
      if (error instanceof Problem && error.code === "stale_etag") onStale();
    },
  });
  const refused = apply.error instanceof Problem && apply.error.code === "stale_etag" ? null : apply.error;
  return (
    <Dialog
      open={open}
      onClose={onClose}
      wide
      title="Apply these rules to every server of this database"
      actions={
        <>
          <Button onClick={onClose}>Go on editing</Button>
          <Button look="primary" icon="check" busy={apply.isPending} onClick={() => apply.mutate()}>
            Apply
          </Button>
        </>
      }
    >
      <div className="grid gap-3">
        {result && (
          <div className="overflow-hidden rounded-md">
            <Summary result={result} shifts={shiftsOf(result.changes ?? [])} />
          </div>
        )}
        <div className="overflow-hidden rounded-md border border-line">
          <TextDiff label="What the rules change" before={draft.base} after={rulesText(routing)} />
        </div>
        <p className="text-ink-2 text-sm">
          Within a second every server decides by them, also after a restart. Attempts that run keep their decision.
        </p>
        {refused && <ErrorBox error={refused} />}
      </div>
    </Dialog>
  );
}
