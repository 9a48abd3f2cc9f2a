type Input = Record<string, unknown>;

/** Returns the parameters of a typed JSON object that differ from those of the run, or what is wrong with the text. */
export function changedInput(text: string, known: Input): { input: Input } | { error: string } {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
  if (typeof found !== "object" || found === null || Array.isArray(found))
    return { error: "The input is an object, such as {}." };
  const changed = Object.entries(found).filter(
    ([name, value]) => !(name in known) || JSON.stringify(known[name]) !== JSON.stringify(value),
  );
  return { input: Object.fromEntries(changed) };
}
