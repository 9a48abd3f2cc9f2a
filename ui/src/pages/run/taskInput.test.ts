import { expect, test } from "vitest";
import { hasInput } from "./taskInput";

test("a task has its input once it has become ready", () => {
  expect(hasInput({ state: "pending" })).toBe(false);
  expect(hasInput({ state: "skipped" })).toBe(false);
  expect(hasInput({ state: "ready" })).toBe(true);
  expect(hasInput({ state: "failed", attempt: 1 })).toBe(true);
});

test("a cancelled task has its input if it had begun", () => {
  expect(hasInput({ state: "cancelled" })).toBe(false);
  expect(hasInput({ state: "cancelled", attempt: 2 })).toBe(true);
});
