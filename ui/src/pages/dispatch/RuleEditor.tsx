import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Schemas } from "@/api/client";
import { executorsQuery, routingQuery, type SourceText, sessionQuery } from "@/api/queries";
import { Badge, Button, Card, CopyButton, ErrorBox, SkeletonLines, Tooltip } from "@/components";
import { CodeEditor } from "@/components/editor/CodeEditor";
import { type Draft, draftOf, keepDraft } from "@/components/editor/drafts";
import { FindingList } from "@/components/editor/FindingList";
import { useLeaveWarning } from "@/components/editor/leave";
import { StaleEdit } from "@/components/editor/StaleEdit";
import { useSettled } from "@/lib/debounce";
import { ApplyRules } from "./ApplyRules";
import { findingsOf, rulesText } from "./rulesText";
import { DEFAULT_DAYS, useCheckedRules, useWhatIf } from "./trial";
import { WhatIf } from "./WhatIf";

type InForce = Schemas["RoutingInForce"];

const DRAFT = "routing rules";
const SETTLED = 400;

/** Changes the rules as a text, with what the change would do to tasks of the last days before it is applied. */
export function RuleEditor({ onClose }: { onClose: () => void }) {
  const routing = useQuery(routingQuery);
  if (routing.error && !routing.data) return <ErrorBox error={routing.error} onRetry={() => void routing.refetch()} />;
  if (!routing.data) return <SkeletonLines lines={10} />;
  const reload = async () => (await routing.refetch()).data;
  return <Editor inForce={routing.data} onReload={reload} onClose={onClose} />;
}

/** The rules in force as a text, with the ETag that a change of them has to name. */
function sourceOf({ routing, version }: InForce): SourceText {
  return { text: rulesText(routing), etag: `"${version}"` };
}

interface EditorProps {
  inForce: InForce;
  onReload: () => Promise<InForce | undefined>;
  onClose: () => void;
}

function Editor({ inForce, onReload, onClose }: EditorProps) {
  const source = sourceOf(inForce);
  const [draft, setDraft] = useState<Draft>(() => draftOf(DRAFT) ?? { ...source, base: source.text });
  const [days, setDays] = useState(DEFAULT_DAYS);
  const [comparing, setComparing] = useState(false);
  const [applying, setApplying] = useState(false);
  const change = (next: Draft) => {
    setDraft(next);
    keepDraft(DRAFT, next);
  };
  const take = (newest: SourceText) => change({ ...newest, base: newest.text });
  const dirty = draft.text !== draft.base;
  const stale = draft.etag !== source.etag;
  // Without changes of one's own, the rules in force are what is shown.
  if (!dirty && (stale || draft.text !== source.text)) take(source);

  const settled = useSettled(draft.text, SETTLED);
  const checked = useCheckedRules(settled, dirty);
  const trial = useWhatIf(checked.data?.routing, days, dirty && !checked.isPlaceholderData);
  const findings = dirty ? findingsOf(settled, checked.error, checked.data?.warnings) : [];
  const current = dirty && settled === draft.text && checked.isSuccess && !checked.isPlaceholderData;
  useLeaveWarning(dirty);
  return (
    <div className="grid items-start gap-4 p-4 md:px-6 xl:grid-cols-2">
      <Card
        title="Rules as the API takes them"
        flush
        aside={
          <>
            {dirty && <Badge tone="wait">not applied</Badge>}
            <CopyButton text={draft.text} label="Copy the rules" />
            <Button small look="quiet" onClick={dirty ? () => take(source) : onClose}>
              {dirty ? "Discard" : "Close"}
            </Button>
            <Apply
              ready={current && trial.isSuccess && !trial.isPlaceholderData}
              origin={inForce.origin}
              onApply={() => setApplying(true)}
            />
          </>
        }
      >
        {dirty && stale && (
          <div role="status" className="flex items-center gap-3 border-line border-b bg-wait-soft px-3.5 py-2 text-sm">
            <span className="flex-1">Other rules are in force since you began. Yours do not replace them unseen.</span>
            <Button small onClick={() => setComparing(true)}>
              Compare
            </Button>
          </div>
        )}
        <CodeEditor
          label="Routing rules"
          language="yaml"
          text={draft.text}
          onChange={(text) => change({ ...draft, text })}
          findings={findings}
        />
        <FindingList findings={findings} />
        <Help />
      </Card>
      <WhatIf trial={dirty ? trial : null} refused={dirty && checked.isError} days={days} onDays={setDays} />
      {checked.data && (
        <ApplyRules
          open={applying}
          draft={draft}
          routing={checked.data.routing}
          result={trial.data}
          onClose={() => setApplying(false)}
          onApplied={(version, text) => {
            keepDraft(DRAFT, { text, base: text, etag: `"${version}"` });
            setApplying(false);
            onClose();
          }}
          onStale={async () => {
            setApplying(false);
            await onReload();
            setComparing(true);
          }}
        />
      )}
      <StaleEdit
        open={comparing}
        mine={current && checked.data ? rulesText(checked.data.routing) : draft.text}
        newest={source}
        onClose={() => setComparing(false)}
        onTake={() => {
          take(source);
          setComparing(false);
        }}
        onKeep={() => {
          change({ text: draft.text, base: source.text, etag: source.etag });
          setComparing(false);
        }}
      />
    </div>
  );
}

/** The button that applies; where it cannot, it says why. */
function Apply({ ready, origin, onApply }: { ready: boolean; origin: InForce["origin"]; onApply: () => void }) {
  const session = useQuery(sessionQuery);
  const role = session.data?.role;
  const why =
    origin === "program"
      ? "The program of this server gave it its rules: they are changed there."
      : role !== "admin"
        ? `Applying needs the role admin; yours is ${role ?? "not known"}. Trying does not.`
        : null;
  if (why === null) {
    return (
      <Button small look="primary" icon="check" disabled={!ready} onClick={onApply}>
        Apply
      </Button>
    );
  }
  return (
    <Tooltip text={why}>
      <Button small aria-disabled="true" className="cursor-not-allowed opacity-60">
        Apply
      </Button>
    </Tooltip>
  );
}

function Help() {
  const executors = useQuery(executorsQuery);
  const keys = executors.data?.executors.map((each) => each.key) ?? [];
  return (
    <div className="grid gap-1.5 border-line border-t bg-sunken px-3.5 py-2 text-ink-2 text-xs">
      <span>
        Patterns fit full names, <code className="font-mono">tenant::package::workflow::task</code>;{" "}
        <code className="font-mono">*</code> stays within a segment, <code className="font-mono">**</code> spans any.
      </span>
      {keys.length > 0 && (
        <span className="flex flex-wrap items-center gap-1.5">
          Executors:
          {keys.map((key) => (
            <Badge key={key} tone="run">
              {key}
            </Badge>
          ))}
        </span>
      )}
    </div>
  );
}
