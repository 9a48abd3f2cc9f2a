import { remember, remembered } from "./storage";

/** What a browser remembers of the visits to a page, in seconds since 1970. */
export interface Visits {
  /** What happened since then is new to the viewer. */
  seen: number;
  /** When the page was shown last. */
  last: number;
}

/** Seconds after which coming back is another visit. */
export const PAUSE = 1_800;
const DAY = 86_400;

/** Returns the visits when the page is shown now: after a pause, all that was there in the last visit has been seen. */
export function visited(known: Visits | null, now: number): Visits {
  if (known === null) return { seen: now - DAY, last: now };
  return { seen: now - known.last > PAUSE ? known.last : known.seen, last: now };
}

/** Returns the visits in a stored text; null if it is none. */
export function parsedVisits(text: string | null): Visits | null {
  const found = /^(\d+) (\d+)$/.exec(text ?? "");
  return found ? { seen: Number(found[1]), last: Number(found[2]) } : null;
}

export function storedVisits(name: string): Visits | null {
  return parsedVisits(remembered(name));
}

export function storeVisits(name: string, { seen, last }: Visits): void {
  remember(name, `${Math.floor(seen)} ${Math.floor(last)}`);
}
