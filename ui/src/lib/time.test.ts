import { describe, expect, it } from "vitest";
import { duration, minutesIn, relative } from "./time";

describe("relative", () => {
  const now = 1_800_000_000;

  it.each([
    [0, "now"],
    [-4.9, "now"],
    [-5, "5s ago"],
    [-59, "59s ago"],
    [-60, "1m ago"],
    [-3_599, "59m ago"],
    [-3_600, "1h ago"],
    [7_300, "in 2h"],
    [-86_400 * 3, "3d ago"],
    [86_400 * 400, "in 1y"],
  ])("says %d seconds from now as %s", (distance, text) => {
    expect(relative(now + distance, now)).toBe(text);
  });
});

describe("duration", () => {
  it.each([
    [0, "0ms"],
    [-1, "0ms"],
    [0.0421, "42ms"],
    [0.9996, "1s"],
    [1, "1s"],
    [3.204, "3.2s"],
    [59.96, "1m"],
    [60, "1m"],
    [250, "4m 10s"],
    [3_600, "1h"],
    [7_380, "2h 3m"],
    [183_600, "2d 3h"],
    [Number.NaN, "–"],
  ])("says %d seconds as %s", (seconds, text) => {
    expect(duration(seconds)).toBe(text);
  });
});

describe("minutesIn", () => {
  it("tells the afternoon from the night, with twelve hours and with twenty-four", () => {
    const [night, afternoon] = [new Date(2026, 0, 1, 2, 30), new Date(2026, 0, 1, 14, 30)];
    expect([night, afternoon].map((each) => minutesIn("en-US").format(each).replace(/\s/, " "))).toEqual([
      "02:30 AM",
      "02:30 PM",
    ]);
    expect([night, afternoon].map((each) => minutesIn("de").format(each))).toEqual(["02:30", "14:30"]);
  });
});
