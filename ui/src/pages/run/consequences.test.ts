import { expect, test } from "vitest";
import { consequences } from "./consequences";

const nodes = [
  { name: "fetch", state: "completed" as const },
  { name: "charge", state: "running" as const },
  { name: "ship", state: "pending" as const },
];
const run = { tasks: { completed: 1, running: 1, pending: 1 } };

test("a cancellation names what is stopped, what never starts, and what a rerun reuses", () => {
  expect(consequences(run, nodes, "cancel")).toEqual([
    "1 task that runs is stopped: charge.",
    "1 task that has not started never will: ship.",
    "The results of 1 completed task are kept: a rerun reuses them and runs the rest.",
  ]);
});

test("pause and resume say that no task runs again", () => {
  expect(consequences(run, nodes, "pause")).toEqual([
    "1 task that runs goes on to its end: charge.",
    "1 task does not start until you resume: ship.",
    "The results of 1 completed task stay: none runs again.",
  ]);
  expect(consequences(run, nodes, "resume")[0]).toBe("1 task starts as soon as it can: ship.");
});

test("counts are those of items too, and names end after five", () => {
  const many = Array.from({ length: 7 }, (_, index) => ({ name: `t${index}`, state: "running" as const }));
  const [first] = consequences({ tasks: { running: 1_200 } }, many, "cancel");
  expect(first).toBe("1,200 tasks that run are stopped: t0, t1, t2, t3, t4 and 2 more.");
  expect(consequences({ tasks: {} }, [], "cancel")[0]).toBe("0 tasks that run are stopped.");
});
