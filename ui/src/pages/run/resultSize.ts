import { bytes } from "@/lib/bytes";

/** A result of more bytes is read on demand only: the server has to put it together. */
export const MAX_READ = 65_536;
/** Where its size is not known, that of a run with more tasks. */
const MANY_TASKS = 500;

/** True if the result of a completed run may be read for one line of it; the size is what it has at most. */
export function isSmall(size: number | null | undefined, tasks: number): boolean {
  return size === null || size === undefined ? tasks <= MANY_TASKS : size <= MAX_READ;
}

/** Returns what is said of a result that is too large to be read. */
export function largeResult(size: number | null | undefined): string | undefined {
  return typeof size === "number" && size > MAX_READ ? `up to ${bytes(size)}` : undefined;
}
