import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Schemas } from "@/api/client";
import { runInputQuery } from "@/api/queries";
import { runOutputPath, valueQuery } from "@/api/values";
import { visible } from "@/lib/ansi";
import { bytes } from "@/lib/bytes";
import { isSmall, largeResult } from "./resultSize";

/** An input above this size is named by its size only. */
const MAX_INPUT = 2_000;
/** The bytes of a result that are read. */
const MAX_RESULT = 400;

/** What a run was given and returned, in one line each that leads to the whole. */
export function HeaderValues({ run, onShow }: { run: Schemas["RunDetail"]; onShow: () => void }) {
  const size = run.input_bytes ?? 0;
  const tasks = Object.values(run.tasks ?? {}).reduce((sum, count) => sum + count, 0);
  const completed = run.state === "completed";
  const input = useQuery({ ...runInputQuery(run.id), enabled: size <= MAX_INPUT });
  const result = useQuery({
    ...valueQuery(runOutputPath(run.id), MAX_RESULT),
    enabled: completed && isSmall(run.output_bytes, tasks),
    retry: false,
  });
  return (
    <span className="flex flex-wrap items-center gap-x-4 gap-y-1">
      <Value name="Input" onShow={onShow}>
        {size > MAX_INPUT ? bytes(size) : input.data && visible(input.data)}
      </Value>
      {completed && (
        <Value name="Result" onShow={onShow}>
          {result.data
            ? result.data.complete
              ? visible(result.data.text)
              : bytes(result.data.bytes)
            : largeResult(run.output_bytes)}
        </Value>
      )}
    </span>
  );
}

function Value({ name, onShow, children }: { name: string; onShow: () => void; children: ReactNode }) {
  return (
    <button type="button" onClick={onShow} className="flex min-w-0 items-baseline gap-1.5 rounded hover:text-ink">
      <span className="shrink-0 underline decoration-dotted underline-offset-2">{name}</span>
      <code className="foreign max-w-[min(26rem,60vw)] truncate font-mono text-2xs">{children}</code>
    </button>
  );
}
