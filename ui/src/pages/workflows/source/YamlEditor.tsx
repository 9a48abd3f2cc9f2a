import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, call, type Schemas } from "@/api/client";
import { Problem } from "@/api/problem";
import type { SourceText } from "@/api/queries";
import { Badge, Button, Card, CopyButton, ErrorBox, toast } from "@/components";
import { CodeEditor } from "@/components/editor/CodeEditor";
import type { Node } from "@/components/editor/completion";
import { type Draft, draftOf, keepDraft } from "@/components/editor/drafts";
import { FindingList } from "@/components/editor/FindingList";
import { useLeaveWarning } from "@/components/editor/leave";
import { StaleEdit } from "@/components/editor/StaleEdit";
import { useSettled } from "@/lib/debounce";

type Finding = Schemas["Finding"];

interface YamlEditorProps {
  name: string;
  /** The version in force, as far as this page has heard of it. */
  source: SourceText;
  onReload: () => Promise<SourceText | undefined>;
}

/** Changes the text of an uploaded workflow. It is saved only over the version that it was made from. */
export function YamlEditor({ name, source, onReload }: YamlEditorProps) {
  const [draft, setDraft] = useState<Draft>(
    () => draftOf(name) ?? { text: source.text, base: source.text, etag: source.etag },
  );
  const [comparing, setComparing] = useState(false);
  const client = useQueryClient();
  const dirty = draft.text !== draft.base;
  const stale = draft.etag !== source.etag;
  const change = (next: Draft) => {
    setDraft(next);
    keepDraft(name, next);
  };
  const take = (newest: SourceText) => change({ text: newest.text, base: newest.text, etag: newest.etag });

  // Without changes of one's own, the newest version is what is shown.
  if (!dirty && stale) take(source);

  const settled = useSettled(draft.text, 400);
  const checked = useQuery({
    queryKey: ["validation", name, settled],
    queryFn: ({ signal }) =>
      call(
        api.POST("/api/v1/workflows/{name}/validate", {
          signal,
          params: { path: { name } },
          body: { text: settled },
        }),
      ),
    enabled: settled.trim() !== "",
    placeholderData: (known) => known,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const save = useMutation({
    mutationFn: ({ text, etag }: Draft) =>
      call(
        api.PUT("/api/v1/workflows/{name}", {
          params: { path: { name }, header: { "If-Match": etag } },
          body: { text },
        }),
      ),
    onSuccess: (saved, { text }) => {
      change({ text, base: text, etag: `"${saved.version}"` });
      toast(`Version ${saved.version} of ${name} is in force`, "New runs have it; running ones keep theirs.");
      void client.invalidateQueries({ queryKey: ["workflows"] });
    },
    onError: async (error) => {
      if (!(error instanceof Problem) || error.code !== "stale_etag") return;
      await onReload();
      setComparing(true);
    },
  });
  const refused = save.error instanceof Problem && save.error.code !== "stale_etag" ? save.error : null;
  const refusedFindings = (refused?.document as { findings?: Finding[] } | undefined)?.findings;
  const findings = refusedFindings ?? checked.data?.findings ?? [];
  const schema = useSchema();
  useLeaveWarning(dirty);

  const discard = () => {
    take(source);
    save.reset();
  };
  const send = () => {
    if (dirty && !save.isPending) save.mutate(draft);
  };
  return (
    <Card
      title={`${name}.yaml`}
      flush
      aside={
        <>
          {dirty && <Badge tone="wait">not saved</Badge>}
          <CopyButton text={draft.text} label="Copy the text" />
          {dirty && (
            <Button small look="quiet" onClick={discard}>
              Discard
            </Button>
          )}
          <Button small look="primary" icon="check" disabled={!dirty} busy={save.isPending} onClick={send}>
            Save
          </Button>
        </>
      }
    >
      {dirty && stale && (
        <div role="status" className="flex items-center gap-3 border-line border-b bg-wait-soft px-3.5 py-2 text-sm">
          <span className="flex-1">
            Another version is in force since you began. Yours is not saved over it unseen.
          </span>
          <Button small onClick={() => setComparing(true)}>
            Compare
          </Button>
        </div>
      )}
      <CodeEditor
        label={`Source of ${name}`}
        language="yaml"
        text={draft.text}
        onChange={(text) => {
          change({ ...draft, text });
          if (refused) save.reset();
        }}
        onSave={send}
        findings={findings}
        schema={schema}
      />
      {refused && <ErrorBox error={refused} />}
      <FindingList findings={findings} />
      <StaleEdit
        open={comparing}
        mine={draft.text}
        newest={source}
        onClose={() => setComparing(false)}
        onTake={() => {
          take(source);
          save.reset();
          setComparing(false);
        }}
        onKeep={() => {
          change({ text: draft.text, base: source.text, etag: source.etag });
          save.reset();
          setComparing(false);
        }}
      />
    </Card>
  );
}

/** Returns the published schema of workflow files, once it has been loaded. */
function useSchema(): Node | undefined {
  const schema = useQuery({
    queryKey: ["workflow-schema"],
    queryFn: async () =>
      (await import("../../../../../docs/reference/workflow.schema.json")).default as unknown as Node,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return schema.data;
}
