import { describe, expect, it } from "vitest";
import { idsOf, outcomeOf } from "./bulk";

const result = {
  dry_run: true,
  runs: [
    { run_id: "a", state: "failed" as const },
    { run_id: "b", state: "completed" as const, code: "nothing_to_rerun" },
  ],
};

describe("a bulk request", () => {
  it("names the runs of the preview that would be touched", () => {
    expect(idsOf(result)).toEqual(["a"]);
    expect(idsOf(undefined)).toEqual([]);
  });

  it("says what stayed, and whether there are more", () => {
    expect(outcomeOf(result, false)).toEqual({ done: 1, about: "1 run stayed as it was." });
    expect(outcomeOf({ ...result, runs: result.runs.slice(0, 1) }, true)).toEqual({
      done: 1,
      about: "There are more.",
    });
    expect(outcomeOf({ ...result, runs: [] }, false)).toEqual({ done: 0, about: undefined });
  });
});
