import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import type { Schemas } from "@/api/client";
import { MAX_INLINE_BYTES, runInputQuery } from "@/api/queries";
import { runOutputPath } from "@/api/values";
import { Button, Card, CopyButton, EmptyState, ErrorBox, SkeletonLines } from "@/components";
import { bytes } from "@/lib/bytes";
import { indented } from "@/lib/json";
import { ForeignText, ValueView } from "./ValueView";

/** What a run was given, and what it returned or failed with. */
export function ValuesTab({ run }: { run: Schemas["RunDetail"] }) {
  return (
    <div className="grid min-h-0 flex-1 content-start gap-4 overflow-auto p-4 md:px-6 xl:grid-cols-2">
      <RunInput run={run} />
      <Card title="Result">
        {run.state === "completed" ? (
          <ValueView path={runOutputPath(run.id)} label="Result" />
        ) : run.error ? (
          <div className="grid gap-2">
            <p className="foreign font-medium text-bad">
              {run.error.type}: {run.error.message}
            </p>
            {run.error.traceback && <ForeignText text={run.error.traceback} label="Traceback" />}
          </div>
        ) : (
          <EmptyState icon="info" title="No result">
            A run has its result once it has completed; this one is {run.state}.
          </EmptyState>
        )}
      </Card>
    </div>
  );
}

/** The input of a run; a large one on demand. */
export function RunInput({ run }: { run: Schemas["RunDetail"] }) {
  const size = run.input_bytes ?? 0;
  const [wanted, setWanted] = useState(size <= MAX_INLINE_BYTES);
  const input = useQuery({ ...runInputQuery(run.id), enabled: wanted });
  const text = useMemo(() => indented(input.data ?? ""), [input.data]);
  return (
    <Card
      title="Input"
      aside={
        <>
          {size > 0 && bytes(size)}
          {input.data && <CopyButton text={text} label="Copy the input" />}
        </>
      }
    >
      {!wanted ? (
        <Button onClick={() => setWanted(true)}>Show {bytes(size)}</Button>
      ) : input.error ? (
        <ErrorBox error={input.error} onRetry={() => void input.refetch()} />
      ) : input.data ? (
        <ForeignText text={text} label="Input" />
      ) : (
        <SkeletonLines lines={3} />
      )}
    </Card>
  );
}
