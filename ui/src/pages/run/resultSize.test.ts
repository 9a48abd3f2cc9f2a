import { expect, test } from "vitest";
import { isSmall, largeResult, MAX_READ } from "./resultSize";

test("a result is read if it is known to be small, or is that of few tasks", () => {
  expect(isSmall(0, 10_000)).toBe(true);
  expect(isSmall(MAX_READ + 1, 1)).toBe(false);
  expect(isSmall(null, 3)).toBe(true);
  expect(isSmall(undefined, 10_000)).toBe(false);
});

test("a large result is named by its size", () => {
  expect(largeResult(52_428_800)).toMatch(/^up to \d/);
  expect(largeResult(10)).toBeUndefined();
  expect(largeResult(null)).toBeUndefined();
});
