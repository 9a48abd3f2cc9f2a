/** A text that is being changed, with the version that it was made from. */
export interface Draft {
  text: string;
  /** The text and the ETag of the version that the change began with. */
  base: string;
  etag: string;
}

const drafts = new Map<string, Draft>();

/** Returns the draft of a text that was left unsaved in this tab; null without one. */
export function draftOf(name: string): Draft | null {
  return drafts.get(name) ?? null;
}

/** Keeps a draft while other pages are looked at. One without a change is forgotten. */
export function keepDraft(name: string, draft: Draft): void {
  if (draft.text === draft.base) drafts.delete(name);
  else drafts.set(name, draft);
}
