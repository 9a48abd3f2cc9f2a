import { queryOptions } from "@tanstack/react-query";
import { ROOT } from "@/lib/page";
import { problemOf } from "./problem";
import { MAX_INLINE_BYTES } from "./queries";

/** The text of a stored value, or its beginning. */
export interface StoredValue {
  text: string;
  /** Of the whole value. */
  bytes: number;
  complete: boolean;
}

/** Reads a stored value, such as "/api/v1/runs/…/output", up to a size; the rest is for a download. */
export function valueQuery(path: string, max = MAX_INLINE_BYTES) {
  return queryOptions({
    queryKey: ["value", path, max],
    queryFn: async ({ signal }): Promise<StoredValue> => {
      const answer = await fetch(ROOT + path, {
        signal,
        credentials: "same-origin",
        headers: { Range: `bytes=0-${max - 1}` },
      });
      if (!answer.ok) throw await problemOf(answer);
      const text = await answer.text();
      const total = /\/(\d+)$/.exec(answer.headers.get("Content-Range") ?? "")?.[1];
      const bytes = total === undefined ? new TextEncoder().encode(text).length : Number(total);
      return { text, bytes, complete: answer.status !== 206 || bytes <= max };
    },
    staleTime: 60_000,
  });
}

/** Returns the address under which the browser keeps a value as a file. */
export function downloadOf(path: string): string {
  return `${ROOT}${path}?download=true`;
}

export function runOutputPath(id: string): string {
  return `/api/v1/runs/${encodeURIComponent(id)}/output`;
}

export function taskOutputPath(id: string, task: string): string {
  return `/api/v1/runs/${encodeURIComponent(id)}/tasks/${encodeURIComponent(task)}/output`;
}

export function taskInputPath(id: string, task: string): string {
  return `/api/v1/runs/${encodeURIComponent(id)}/tasks/${encodeURIComponent(task)}/input`;
}
