import { describe, expect, it } from "vitest";
import { runSearch, tabSearch } from "./search";

describe("addresses", () => {
  it("keep what the list of runs understands", () => {
    expect(runSearch({ workflow: "fulfil", state: ["failed", "nonsense"], tag: "nightly", x: 1 })).toEqual({
      workflow: "fulfil",
      state: ["failed"],
      tag: ["nightly"],
    });
  });

  it("lose what nobody understands", () => {
    expect(runSearch({ state: { $ne: 1 }, key: "" })).toEqual({});
    expect(tabSearch({ tab: ["a"], task: 7 })).toEqual({ task: "7" });
  });
});
