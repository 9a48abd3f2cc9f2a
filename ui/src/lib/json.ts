import { escaped } from "./ansi";

/** A piece of JSON as it is written: its numbers keep all of their digits, which numbers of a browser do not. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
const CLOSES: Record<string, string> = { "{": "}", "[": "]" };

/** Returns the tokens of a JSON text, strings in their shortest form. Throws a SyntaxError for one that is none. */
function tokensOf(text: string): string[] {
  JSON.parse(text);
  return (text.match(TOKEN) ?? []).map((token) => (token[0] === '"' ? JSON.stringify(JSON.parse(token)) : token));
}

/** Returns a JSON text without spaces, all numbers as they are. Throws a SyntaxError for one that is none. */
export function compact(text: string): string {
  return tokensOf(text).join("");
}

/** Returns a JSON text with a line per entry, all numbers as they are; one that is no JSON, or cut off, unchanged. */
export function indented(text: string): string {
  let tokens: string[];
  try {
    tokens = tokensOf(text);
  } catch {
    return text;
  }
  const pieces: string[] = [];
  let depth = 0;
  const line = () => pieces.push("\n", "  ".repeat(depth));
  for (const [index, token] of tokens.entries()) {
    const closed = CLOSES[tokens[index - 1] ?? ""] === token;
    if (token === "}" || token === "]") {
      depth--;
      if (!closed) line();
    }
    pieces.push(token === ":" ? ": " : token);
    if (token in CLOSES) depth++;
    if (token === "," || (token in CLOSES && tokens[index + 1] !== CLOSES[token])) line();
  }
  return pieces.join("");
}

/** Returns the text that a field for JSON has: with a line per entry, and marks of the direction as escapes. */
export function editable(text: string): string {
  return escaped(indented(text));
}

/** Returns the entries of a JSON object, each as its text; null for JSON that is no object. Throws a SyntaxError. */
export function entriesOf(text: string): Map<string, JsonText> | null {
  const tokens = tokensOf(text);
  if (tokens[0] !== "{") return null;
  const found = new Map<string, JsonText>();
  let depth = 0;
  let name: string | undefined;
  let begin = 0;
  for (const [index, token] of tokens.entries()) {
    if (depth === 1 && name === undefined && token[0] === '"') {
      name = JSON.parse(token) as string;
      begin = index + 2;
    }
    if (token in CLOSES) depth++;
    else if (token === "}" || token === "]") depth--;
    if (name !== undefined && ((depth === 1 && token === ",") || depth === 0)) {
      found.set(name, new JsonText(tokens.slice(begin, index).join("")));
      name = undefined;
    }
  }
  return found;
}

/** Returns a value as JSON, with the JSON texts in it as they are. */
export function written(value: unknown): string {
  if (value instanceof JsonText) return value.text;
  if (Array.isArray(value)) return `[${value.map((each) => written(each ?? null)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const given = Object.entries(value).filter(([, each]) => each !== undefined);
  return `{${given.map(([name, each]) => `${JSON.stringify(name)}:${written(each)}`).join(",")}}`;
}

/** Returns the value of a JSON text, in which integers that a number of the browser does not hold are JSON texts. */
export function read(text: string): unknown {
  const tokens = tokensOf(text);
  let at = 0;
  const next = (): unknown => {
    const token = tokens[at++] ?? "";
    if (token === "[") {
      const found: unknown[] = [];
      while (tokens[at] !== "]") {
        found.push(next());
        if (tokens[at] === ",") at++;
      }
      at++;
      return found;
    }
    if (token === "{") {
      const found: [string, unknown][] = [];
      while (tokens[at] !== "}") {
        const name = JSON.parse(tokens[at] ?? "") as string;
        at += 2;
        found.push([name, next()]);
        if (tokens[at] === ",") at++;
      }
      at++;
      return Object.fromEntries(found);
    }
    const value: unknown = JSON.parse(token);
    const kept = typeof value !== "number" || Number.isSafeInteger(value) || !/^-?\d+$/.test(token);
    return kept ? value : new JsonText(token);
  };
  return next();
}
