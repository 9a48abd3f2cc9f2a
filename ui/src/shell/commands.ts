import { useEffect, useRef } from "react";
import type { IconName } from "@/components/Icon";
import { Store } from "@/lib/store";

export interface Command {
  id: string;
  label: string;
  /** Beside the label: what kind of thing it is. */
  hint?: string;
  icon?: IconName;
  run: () => void;
}

/** What pages add to the command palette. */
export const pageCommands = new Store<readonly Command[]>([]);

/** Adds commands to the palette while the component is shown. */
export function useCommands(declared: readonly Command[]): void {
  const latest = useRef(declared);
  useEffect(() => {
    latest.current = declared;
  });
  const signature = declared.map((each) => `${each.id}|${each.label}|${each.hint}`).join("\n");
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is declared is told apart by its signature
  useEffect(() => {
    const own = latest.current.map((each, index) => ({ ...each, run: () => latest.current[index]?.run() }));
    pageCommands.set([...pageCommands.get(), ...own]);
    return () => pageCommands.set(pageCommands.get().filter((each) => !own.includes(each)));
  }, [signature]);
}

/** Returns the commands that fit what was typed, the best first: every word has to occur, beginnings of words count. */
export function matching(commands: readonly Command[], typed: string): Command[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [...commands];
  const scored = commands.flatMap((command) => {
    const label = command.label.toLowerCase();
    const text = `${label} ${command.hint?.toLowerCase() ?? ""}`;
    let score = 0;
    for (const word of words) {
      const at = text.indexOf(word);
      if (at < 0) return [];
      score += at === 0 ? 4 : /[\s:_\-./]/.test(text[at - 1] ?? "") ? 2 : 1;
    }
    return [{ command, score: score - label.length / 1_000 }];
  });
  return scored.sort((left, right) => right.score - left.score).map((each) => each.command);
}
