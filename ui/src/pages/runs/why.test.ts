import { expect, test } from "vitest";
import type { Schemas } from "@/api/client";
import { whyOf } from "./why";

const RUN: Schemas["Run"] = {
  id: "r",
  workflow: "public::shop::gift",
  name: "gift",
  version: "v",
  state: "running",
  created_at: 1,
};

test("a run that goes on names the task that waits, with the reason", () => {
  expect(whyOf(RUN)).toBe("");
  expect(whyOf({ ...RUN, waiting: { task: "engrave", reason: "no_capacity" } })).toBe("engrave waits: no_capacity");
  expect(whyOf({ ...RUN, waiting: { task: "add[2]", count: 3 } })).toBe("add[2] waits, and 2 more");
});

test("an error, a reason, and a run that nothing drives come first; what has ended waits for nothing", () => {
  const waiting = { task: "engrave", reason: "no_capacity" };
  const error = { type: "ValueError", message: "declined" };
  expect(whyOf({ ...RUN, waiting, error })).toBe("declined");
  expect(whyOf({ ...RUN, waiting, reason: "limit" })).toBe("limit");
  expect(whyOf({ ...RUN, waiting, driver: "not_driven" })).toBe("no orchestrator drives it");
  expect(whyOf({ ...RUN, waiting, state: "completed" })).toBe("");
});
