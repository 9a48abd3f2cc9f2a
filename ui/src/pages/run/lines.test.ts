import { describe, expect, it } from "vitest";
import { asText, isTrouble, type LogLine, matches, Places, split } from "./lines";

const line = (id: number, text = `line ${id}`): LogLine => ({
  id,
  task: "t",
  attempt: 1,
  stream: "stdout",
  at: 0,
  text,
});

describe("matches", () => {
  it("searches the text without its colours, in any case", () => {
    expect(matches("red").extend([line(1, "a \u001b[31mRe\u001b[0md b"), line(2, "blue")])).toEqual([0]);
    expect(matches("").extend([line(1)])).toEqual([]);
  });
});

describe("isTrouble", () => {
  it("finds errors, exceptions and tracebacks", () => {
    const texts = ["ok", "Traceback (most recent call last):", "ValueError: no", "level=error", "terror", "FATAL x"];
    expect(texts.map((text) => isTrouble(line(0, text)))).toEqual([false, true, true, true, false, true]);
  });
});

describe("Places", () => {
  it("looks at each line once", () => {
    const seen: number[] = [];
    const places = new Places((each) => seen.push(each.id) > 0 && each.id % 2 === 0);
    const lines = [line(1), line(2)];
    expect(places.extend(lines)).toEqual([1]);
    lines.push(line(3), line(4));
    expect(places.extend(lines)).toEqual([1, 3]);
    expect(seen).toEqual([1, 2, 3, 4]);
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
