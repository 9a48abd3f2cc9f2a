import { describe, expect, it } from "vitest";
import { Problem } from "@/api/problem";
import { findingsOf, rulesText } from "./rulesText";
import { spansOf } from "./spans";

const RULES = {
  default_executor: "default",
  rules: [
    { pattern: "**::ml::*", executor: "workers", labels: { gpu: "true" }, percent: 10 },
    { pattern: "**::ship", executor: "process", shadow: true },
  ],
};
const TEXT = rulesText(RULES);

function said(code: string, detail: string, more: object = {}): Problem {
  return new Problem(422, { code, detail, ...more });
}

describe("the text of rules", () => {
  it("is what the API takes, with a line for each rule", () => {
    expect(JSON.parse(TEXT)).toEqual(RULES);
    expect(TEXT.split("\n").filter((line) => line.includes("pattern"))).toHaveLength(2);
    expect(JSON.parse(rulesText({}))).toEqual({ default_executor: "default", rules: [] });
  });
});

describe("places of values", () => {
  it.each(["default_executor", "rules[0].labels.gpu", "rules[1].shadow", "rules[0].percent"])("%s", (path) => {
    const span = spansOf(TEXT).get(path);
    const value = path.split(/[.[\]]+/).reduce<unknown>((all, key) => (all as Record<string, unknown>)[key], RULES);
    expect(JSON.parse(TEXT.slice(span?.from, span?.to))).toEqual(value);
  });

  it("are known in front of a fault", () => {
    const spans = spansOf('{"rules": [{"pattern": "a" "executor": 1}]}');
    expect([...spans.keys()]).toEqual(["", "rules", "rules[0]", "rules[0].pattern"]);
  });

  it("takes names with marks and escapes", () => {
    const text = '{"rules": [{"pattern": "a\\"]}", "labels": {"\\u003cb\\u003e": "x"}}]}';
    expect(spansOf(text).has("rules[0].labels.<b>")).toBe(true);
  });
});

describe("what the server says about rules", () => {
  const line = (part: string) => TEXT.split("\n").findIndex((each) => each.includes(part)) + 1;

  it("stands at the value that a problem names", () => {
    const message = "Expected `float` <= 100.0";
    const error = said("invalid_request", "…", { errors: [{ key: "rules[0].percent", message }] });
    const [found] = findingsOf(TEXT, error);
    expect(found).toMatchObject({ line: line("ml"), severity: "error", message: `rules[0].percent: ${message}` });
    expect(TEXT.split("\n")[line("ml") - 1]?.slice((found?.column ?? 0) - 1)).toMatch(/^10/);
  });

  it("stands at the object that lacks a field", () => {
    const error = said("invalid_request", "…", { errors: [{ key: "rules[1].absent.deep", message: "missing" }] });
    expect(findingsOf(TEXT, error)[0]?.line).toBe(line("ship"));
  });

  it("stands at the field of the rule that a problem numbers", () => {
    const [found] = findingsOf(TEXT, said("unknown_executor", 'rule 2 "**::ship" names …', { rule: 2 }));
    expect(TEXT.split("\n")[line("ship") - 1]?.slice((found?.column ?? 0) - 1)).toMatch(/^"process"/);
  });

  it("stands at the rule that a sentence names, and at the default executor otherwise", () => {
    expect(findingsOf(TEXT, said("unsupported_body", 'task "x" …, but rule 1 "**::ml::*" → workers'))[0]?.line).toBe(
      3 + 1,
    );
    expect(findingsOf(TEXT, said("unknown_executor", "the default executor names …"))[0]?.line).toBe(2);
  });

  it("stands at the byte that the parser names", () => {
    const text = '{\n "default_executor": "ü" "rules": []\n}';
    const byte = new TextEncoder().encode(text.slice(0, text.indexOf('"rules"'))).length;
    const [found] = findingsOf(text, new Problem(400, { code: "malformed_request", detail: `… (byte ${byte})` }));
    expect(found).toMatchObject({ line: 2, column: (text.split("\n")[1]?.indexOf('"rules"') as number) + 1 });
  });

  it("has warnings at their rules", () => {
    expect(findingsOf(TEXT, null, ['rule 2 "**::ship" matches no known task'])).toMatchObject([
      { line: line("ship"), severity: "warning" },
    ]);
  });
});
