import { entriesOf, type JsonText } from "@/lib/json";

type Input = Record<string, JsonText>;

/** Returns the parameters of a typed JSON object that differ from those of the run, or what is wrong with the text. */
export function changedInput(text: string, known: string): { input: Input } | { error: string } {
  let found: Map<string, JsonText> | null;
  try {
    found = entriesOf(text);
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
  if (found === null) return { error: "The input is an object, such as {}." };
  const before = entriesOf(known);
  const changed = [...found].filter(([name, value]) => before?.get(name)?.text !== value.text);
  return { input: Object.fromEntries(changed) };
}
