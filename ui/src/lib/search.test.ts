import { describe, expect, it } from "vitest";
import { runPageSearch, runSearch, tabSearch, workflowPageSearch } from "./search";

describe("addresses", () => {
  it("keep what the list of runs understands", () => {
    expect(runSearch({ workflow: "fulfil", state: ["failed", "nonsense"], tag: "nightly", x: 1 })).toEqual({
      workflow: "fulfil",
      state: ["failed"],
      tag: ["nightly"],
    });
  });

  it("keep what is chosen in the page of a run and of a workflow", () => {
    expect(runPageSearch({ tab: "timeline", group: "price", q: 3, find: "Error", before: "x" })).toEqual({
      tab: "timeline",
      group: "price",
      q: "3",
      find: "Error",
    });
    expect(workflowPageSearch({ tab: "versions", before: "a1", after: "b2", text: 4, q: "x" })).toEqual({
      tab: "versions",
      before: "a1",
      after: "b2",
      text: 4,
    });
  });

  it("lose what nobody understands", () => {
    expect(runSearch({ state: { $ne: 1 }, key: "" })).toEqual({});
    expect(tabSearch({ tab: ["a"], task: 7 })).toEqual({ task: "7" });
  });
});
