import { Problem } from "@/api/problem";
import { Store } from "@/lib/store";

export interface ToastNote {
  id: number;
  tone: "ok" | "bad";
  title: string;
  detail?: string;
}

export const toasts = new Store<readonly ToastNote[]>([]);

const SHOWN = { ok: 4_000, bad: 10_000 };
let last = 0;

/** Says for some seconds that something was done. */
export function toast(title: string, detail?: string): void {
  add({ id: ++last, tone: "ok", title, detail });
}

/** Says that something failed, with the words and the code of the server. */
export function toastError(title: string, error: unknown): void {
  const code = error instanceof Problem ? ` (${error.code})` : "";
  add({ id: ++last, tone: "bad", title, detail: error instanceof Error ? error.message + code : String(error) });
}

export function dismiss(id: number): void {
  toasts.set(toasts.get().filter((each) => each.id !== id));
}

function add(note: ToastNote): void {
  toasts.set([...toasts.get().slice(-3), note]);
  setTimeout(() => dismiss(note.id), SHOWN[note.tone]);
}
