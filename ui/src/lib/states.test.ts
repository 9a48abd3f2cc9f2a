import { expect, test } from "vitest";
import { stateOfOutcome, toneOf } from "./states";

test("attempts that failed have the colour of a failure, whatever became of the task", () => {
  for (const outcome of ["failed", "retry", "timed_out", "crashed", "lost"]) {
    expect(toneOf(stateOfOutcome(outcome))).toBe("bad");
  }
});

test("attempts that gave way have the colour of what waits, and an outcome of a later version is neutral", () => {
  expect(toneOf(stateOfOutcome("deferred"))).toBe("wait");
  expect(toneOf(stateOfOutcome("returned"))).toBe("wait");
  expect(toneOf(stateOfOutcome("moved"))).toBe("idle");
});
