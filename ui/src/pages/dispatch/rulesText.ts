import type { Schemas } from "@/api/client";
import { Problem } from "@/api/problem";
import { type Span, spansOf } from "./spans";

type Routing = Schemas["Routing"];
type Rule = Schemas["Rule"];
type Finding = Schemas["Finding"];

/** Returns the rules as the API takes them: JSON, with a line for each rule. */
export function rulesText({ default_executor = "default", rules = [] }: Routing): string {
  const lines = (rules as Rule[]).map((rule) => `    ${lineOf(rule)}`);
  const all = lines.length === 0 ? "[]" : `[\n${lines.join(",\n")}\n  ]`;
  return `{\n  "default_executor": ${JSON.stringify(default_executor)},\n  "rules": ${all}\n}\n`;
}

function lineOf({ pattern, executor, labels, percent, shadow }: Rule): string {
  const fields: [string, string][] = [
    ["pattern", JSON.stringify(pattern)],
    ["executor", JSON.stringify(executor)],
  ];
  if (labels) {
    const pairs = Object.entries(labels).map(([label, value]) => `${JSON.stringify(label)}: ${JSON.stringify(value)}`);
    fields.push(["labels", `{${pairs.join(", ")}}`]);
  }
  if (percent != null) fields.push(["percent", String(percent)]);
  if (shadow) fields.push(["shadow", "true"]);
  return `{${fields.map(([name, value]) => `"${name}": ${value}`).join(", ")}}`;
}

/** Fields of problem documents about rules that say where the problem is. */
interface Place {
  errors?: { key?: string; message: string }[];
  rule?: number;
}

const FIELD_OF_CODE: Record<string, string> = { unknown_executor: "executor", malformed_pattern: "pattern" };

/** Returns what the server says about a text of rules, at the places that it names. */
export function findingsOf(text: string, error: unknown, warnings: readonly string[] = []): Finding[] {
  const spans = spansOf(text);
  const found = warnings.map((message) => finding(text, spanOf(spans, ruleIn(message)), "warning", "warning", message));
  if (!(error instanceof Problem)) return found;
  const { errors, rule } = error.document as Place;
  if (errors?.length) {
    const all = errors.map(({ key = "", message }) =>
      finding(text, nearest(spans, key), "error", error.code, key ? `${key}: ${message}` : message),
    );
    return [...all, ...found];
  }
  const byte = /\(byte (\d+)\)/.exec(error.message)?.[1];
  const span =
    byte === undefined
      ? spanOf(spans, rule ?? ruleIn(error.message), FIELD_OF_CODE[error.code])
      : { from: charAt(text, Number(byte)), to: charAt(text, Number(byte)) };
  return [finding(text, span, "error", error.code, error.message), ...found];
}

/** Returns the number of the rule that a sentence of the server is about; undefined for others. */
function ruleIn(message: string): number | undefined {
  const number = /\brule (\d+) "/.exec(message)?.[1];
  return number === undefined ? undefined : Number(number);
}

function spanOf(spans: ReadonlyMap<string, Span>, rule: number | undefined, field?: string): Span | undefined {
  if (rule === undefined) return spans.get("default_executor") ?? spans.get("");
  return spans.get(`rules[${rule - 1}].${field}`) ?? spans.get(`rules[${rule - 1}]`);
}

/** Returns the place of a value, or of the innermost one around it that the text has. */
function nearest(spans: ReadonlyMap<string, Span>, path: string): Span | undefined {
  for (let at = path; at !== ""; at = at.replace(/(^|\.)[^.[]*$|\[\d+\]$/, "")) {
    const span = spans.get(at);
    if (span) return span;
  }
  return spans.get("");
}

/** Returns the position of a byte of the text in UTF-8. */
function charAt(text: string, byte: number): number {
  return new TextDecoder().decode(new TextEncoder().encode(text).slice(0, byte)).length;
}

function finding(
  text: string,
  span: Span | undefined,
  severity: Finding["severity"],
  code: string,
  message: string,
): Finding {
  const before = text.slice(0, span?.from ?? 0).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1, severity, code, message };
}
