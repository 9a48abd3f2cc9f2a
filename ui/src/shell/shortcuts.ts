import { useEffect, useRef } from "react";
import { Store } from "@/lib/store";

export interface Shortcut {
  /** Keys after each other, separated by spaces: "g r", "?", "mod+k" (Ctrl, or Command on a Mac). */
  keys: string;
  label: string;
  group: string;
  run: () => void;
  /** True: it works while a field has the focus too. */
  everywhere?: boolean;
}

/** The shortcuts that hold now; the help shows them. */
export const shortcuts = new Store<readonly Shortcut[]>([]);

/** Milliseconds in which the second key of a sequence has to follow. */
const SEQUENCE_TIMEOUT = 1_200;

/** Declares shortcuts while the component is shown. */
export function useShortcuts(declared: readonly Shortcut[]): void {
  const latest = useRef(declared);
  useEffect(() => {
    latest.current = declared;
  });
  const signature = declared.map((each) => `${each.keys}|${each.label}|${each.group}`).join("\n");
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is declared is told apart by its signature
  useEffect(() => {
    const own = latest.current.map((each, index) => ({ ...each, run: () => latest.current[index]?.run() }));
    shortcuts.set([...shortcuts.get(), ...own]);
    return () => shortcuts.set(shortcuts.get().filter((each) => !own.includes(each)));
  }, [signature]);
}

/** Recognises shortcuts in keys as they are pressed. */
export class KeySequence {
  private first: { key: string; at: number } | null = null;

  /** Returns the shortcut that this key completes, among those that hold. */
  press(key: string, at: number, held: readonly Shortcut[]): Shortcut | null {
    const before = this.first !== null && at - this.first.at < SEQUENCE_TIMEOUT ? this.first.key : null;
    this.first = null;
    // Those that were declared last, by the page, come before those of the shell.
    const found = held.findLast((each) => each.keys === (before === null ? key : `${before} ${key}`));
    if (found) return found;
    if (held.some((each) => each.keys.startsWith(`${key} `))) this.first = { key, at };
    return null;
  }
}

/** Returns the name of a key event as shortcuts write it. */
export function keyName(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">): string {
  const key = event.key.length === 1 ? event.key : event.key.toLowerCase();
  if (event.ctrlKey || event.metaKey) return `mod+${key.toLowerCase()}`;
  return event.altKey ? `alt+${key.toLowerCase()}` : key;
}

function isField(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** Runs shortcuts as their keys are pressed. Used once, by the shell. */
export function useShortcutKeys(): void {
  useEffect(() => {
    const sequence = new KeySequence();
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.repeat || event.key === "Shift") return;
      const busy = isField(event.target) || document.querySelector("dialog[open]") !== null;
      const held = shortcuts.get().filter((each) => each.everywhere || !busy);
      const found = sequence.press(keyName(event), event.timeStamp, held);
      if (found === null) return;
      event.preventDefault();
      found.run();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}
