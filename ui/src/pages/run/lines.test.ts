import { describe, expect, it } from "vitest";
import { asText, type LogLine, matches, merged, split, troubles } from "./lines";

const line = (id: number, text = `line ${id}`): LogLine => ({
  id,
  task: "t",
  attempt: 1,
  stream: "stdout",
  at: 0,
  text,
});

describe("merged", () => {
  it("has each line once and in order, whichever way it came", () => {
    const ids = (lines: LogLine[]) => lines.map((each) => each.id);
    expect(ids(merged([line(1), line(2)], [line(3), line(3), line(4)]))).toEqual([1, 2, 3, 4]);
    expect(ids(merged([line(1), line(4)], [line(2), line(4), line(5)]))).toEqual([1, 2, 4, 5]);
    expect(merged([], [])).toEqual([]);
  });
});

describe("matches", () => {
  it("searches the text without its colours, in any case", () => {
    expect(matches([line(1, "a \u001b[31mRe\u001b[0md b"), line(2, "blue")], "red")).toEqual([0]);
    expect(matches([line(1)], "")).toEqual([]);
  });
});

describe("troubles", () => {
  it("finds errors, exceptions and tracebacks", () => {
    const texts = ["ok", "Traceback (most recent call last):", "ValueError: no", "level=error", "terror", "FATAL x"];
    expect(troubles(texts.map((text, id) => line(id, text)))).toEqual([1, 2, 3, 5]);
  });
});

describe("split", () => {
  it("alternates between text and hits", () => {
    expect(split("ab AB c", "ab")).toEqual(["", "ab", " ", "AB", " c"]);
    expect(split("x", "")).toEqual(["x"]);
  });
});

describe("asText", () => {
  it("has one line per line, without colours", () => {
    expect(asText([line(1, "\u001b[32mok\u001b[0m")])).toBe("1970-01-01T00:00:00.000Z t#1 ok\n");
  });
});
