import type { Schemas } from "@/api/client";
import { counted } from "@/lib/numbers";

type BulkResult = Schemas["BulkResult"];

/** Returns the runs that a preview says would be touched. */
export function idsOf(preview: BulkResult | undefined): string[] {
  return preview?.runs.filter((run) => !run.code).map((run) => run.run_id) ?? [];
}

/** Returns how many runs were changed, and what else is to be said: those that stayed, and whether others are left. */
export function outcomeOf({ runs }: BulkResult, more: boolean): { done: number; about?: string } {
  const stayed = runs.filter((run) => run.code).length;
  const said = [
    stayed > 0 && `${counted(stayed, "run")} stayed as ${stayed === 1 ? "it was" : "they were"}.`,
    more && "There are more.",
  ].filter(Boolean);
  return { done: runs.length - stayed, about: said.length > 0 ? said.join(" ") : undefined };
}
