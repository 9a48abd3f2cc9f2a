import { describe, expect, it } from "vitest";
import { isNarrow, localInput, momentOf, parsedFilters, sameFilter, selectionOf, tagsOf, withFilter } from "./filters";

describe("saved filters", () => {
  it("are read back, and damaged ones are left out", () => {
    const saved = [{ name: "mine", search: { state: ["failed" as const] } }];
    expect(parsedFilters(JSON.stringify([...saved, 3, { name: "x" }, null]))).toEqual(saved);
    expect(parsedFilters("{")).toEqual([]);
    expect(parsedFilters(null)).toEqual([]);
  });

  it("replace the one of the same name", () => {
    const known = [{ name: "mine", search: {} }];
    expect(withFilter(known, { name: "mine", search: { key: "a" } })).toEqual([{ name: "mine", search: { key: "a" } }]);
  });

  it("are compared whatever the order of their parts", () => {
    expect(sameFilter({ state: ["failed", "running"], key: "a" }, { key: "a", state: ["running", "failed"] })).toBe(
      true,
    );
    expect(sameFilter({ key: "a" }, { key: "b" })).toBe(false);
  });
});

describe("selectionOf", () => {
  it("has the conditions of the list", () => {
    expect(selectionOf({ workflow: "fulfil", state: ["failed"] })).toMatchObject({
      workflow: "fulfil",
      states: ["failed"],
      top_level: false,
    });
  });
});

describe("isNarrow", () => {
  it("needs a condition", () => {
    expect(isNarrow({})).toBe(false);
    expect(isNarrow({ state: undefined })).toBe(false);
    expect(isNarrow({ key: "a" })).toBe(true);
  });
});

describe("times and tags", () => {
  it("go to the field and back, to the minute", () => {
    const at = new Date(2026, 10, 8, 4, 5, 59).getTime() / 1_000;
    expect(localInput(at)).toBe("2026-11-08T04:05");
    expect(momentOf(localInput(at))).toBe(at - 59);
  });

  it("are none while a year is being typed", () => {
    expect(momentOf("0202-11-08T04:05")).toBeNull();
    expect(momentOf("")).toBeNull();
    expect(momentOf("tomorrow")).toBeNull();
  });

  it("has every tag once, in order", () => {
    expect(tagsOf([{ tags: ["b", "a"] }, {}, { tags: ["b", "c"] }])).toEqual(["a", "b", "c"]);
  });
});
