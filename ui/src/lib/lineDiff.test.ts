import { expect, it } from "vitest";
import { excerpt, lineDiff } from "./lineDiff";

const marks = { same: " ", added: "+", removed: "-" };
const drawn = (before: string, after: string) => lineDiff(before, after).map((line) => marks[line.kind] + line.text);

it("shows what was added, removed and kept", () => {
  expect(drawn("a\nb\nc\nd", "a\nx\nc\nd\ne")).toEqual([" a", "-b", "+x", " c", " d", "+e"]);
  expect(drawn("a", "a")).toEqual([" a"]);
  expect(drawn("", "a")).toEqual(["-", "+a"]);
  expect(drawn("a\na\nb", "a\nb")).toEqual([" a", "-a", " b"]);
});

it("numbers lines in both texts", () => {
  expect(lineDiff("a\nb", "x\na\nb").map((line) => [line.before, line.after])).toEqual([
    [null, 1],
    [1, 2],
    [2, 3],
  ]);
});

it("gives both texts back for any two of them", () => {
  for (let seed = 1; seed < 60; seed++) {
    const text = (salt: number) =>
      Array.from({ length: (seed * salt) % 9 }, (_, at) => "abc"[(seed * salt * (at + 3)) % 3]).join("\n");
    const [before, after] = [text(7), text(11)];
    const lines = lineDiff(before, after);
    const of = (kind: string) =>
      lines
        .filter((line) => line.kind !== kind)
        .map((line) => line.text)
        .join("\n");
    expect([of("added"), of("removed")]).toEqual([before, after]);
  }
});

it("leaves out lines that are far from a change", () => {
  const before = Array.from({ length: 20 }, (_, at) => `line ${at}`).join("\n");
  const shown = excerpt(lineDiff(before, before.replace("line 10", "other")), 1);
  expect(shown.map(({ line, skipped }) => [line.text, skipped])).toEqual([
    ["line 9", 9],
    ["line 10", 0],
    ["other", 0],
    ["line 11", 0],
  ]);
});
