import type { RunSearch } from "@/lib/search";
import { remember, remembered } from "@/lib/storage";

/** A filter of the list of runs under a name, kept in this browser. */
export interface SavedFilter {
  name: string;
  search: RunSearch;
}

const STORED = "runs.filters";
const MAX_SAVED = 50;

/** Returns the filters in a stored text; what is none is left out. */
export function parsedFilters(text: string | null): SavedFilter[] {
  try {
    const found: unknown = JSON.parse(text ?? "[]");
    if (!Array.isArray(found)) return [];
    return found.filter(
      (each): each is SavedFilter =>
        typeof each?.name === "string" && typeof each.search === "object" && each.search !== null,
    );
  } catch {
    return [];
  }
}

/** Returns the filters with this one; one of the same name is replaced. */
export function withFilter(known: readonly SavedFilter[], added: SavedFilter): SavedFilter[] {
  return [...known.filter((each) => each.name !== added.name), added].slice(-MAX_SAVED);
}

export function storedFilters(): SavedFilter[] {
  return parsedFilters(remembered(STORED));
}

export function storeFilters(filters: readonly SavedFilter[]): void {
  remember(STORED, JSON.stringify(filters));
}

/** True if two filters choose the same runs. */
export function sameFilter(left: RunSearch, right: RunSearch): boolean {
  return JSON.stringify(sorted(left)) === JSON.stringify(sorted(right));
}

function sorted(search: RunSearch): unknown {
  return Object.entries(search)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => [key, Array.isArray(value) ? [...value].sort() : value])
    .sort(([left], [right]) => (String(left) < String(right) ? -1 : 1));
}

/** Returns the conditions of a bulk request for the filter of the list. */
export function selectionOf({ workflow, state, tag, key, from, until, top }: RunSearch) {
  return {
    workflow,
    states: state,
    tags: tag,
    key,
    created_from: from,
    created_before: until,
    top_level: top ?? false,
  };
}

/** True if the filter has a condition: a bulk request without one is refused. */
export function isNarrow(search: RunSearch): boolean {
  return Object.values(search).some((value) => value !== undefined);
}

/** Returns a moment as a field for date and time takes it: to the minute, in the zone of the viewer. */
export function localInput(at: number): string {
  const moment = new Date(at * 1_000);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = [String(moment.getFullYear()).padStart(4, "0"), two(moment.getMonth() + 1), two(moment.getDate())];
  return `${day.join("-")}T${two(moment.getHours())}:${two(moment.getMinutes())}`;
}

/** Returns the moment in the text of such a field, in seconds since 1970; null if it is none, or before that. */
export function momentOf(text: string): number | null {
  const at = new Date(text).getTime() / 1_000;
  return Number.isFinite(at) && at >= 0 ? at : null;
}

/** Returns all tags of these workflows, in order. */
export function tagsOf(workflows: readonly { tags?: readonly string[] }[]): string[] {
  return [...new Set(workflows.flatMap((each) => each.tags ?? []))].sort();
}
