import { expect, it } from "vitest";
import { shiftsOf, totals } from "./shifts";

const was = { executor: "default", reason: "default executor" };
const gpu = { executor: "workers", labels: { gpu: "true", zone: "a" }, reason: "rule 1" };
const same = { executor: "workers", labels: { zone: "a", gpu: "true" }, reason: "rule 2" };

it("groups by where tasks went and would go, whatever the rule and the order of labels", () => {
  const shifts = shiftsOf([
    { task: "a", was, now: gpu, count: 2, run_id: "1" },
    { task: "b", was, now: same, count: 5, run_id: "2" },
    { task: "c", was, now: { executor: "process", reason: "rule 3" }, count: 9, run_id: "3" },
    { task: "d", was: gpu, now: was, count: 1, run_id: "4" },
  ]);
  expect(shifts.map((each) => [each.from.executor, each.to?.executor, each.count])).toEqual([
    ["default", "process", 9],
    ["default", "workers", 7],
    ["workers", "default", 1],
  ]);
  expect(shifts[1]?.tasks.map((each) => each.task)).toEqual(["b", "a"]);
});

it("has refusals first", () => {
  const shifts = shiftsOf([
    { task: "a", was, now: gpu, count: 50, run_id: "1" },
    { task: "b", was, refusal: "no executor here runs handlers", count: 1, run_id: "2" },
  ]);
  expect(shifts.map((each) => each.to)).toEqual([null, { executor: "workers", labels: gpu.labels }]);
  expect(totals(shifts)).toEqual({ changed: 51, refused: 1 });
});

it("tells the same executor with other labels apart", () => {
  const [shift, ...rest] = shiftsOf([
    { task: "a", was: gpu, now: { ...gpu, labels: { gpu: "true" } }, count: 3, run_id: "1" },
  ]);
  expect(rest).toEqual([]);
  expect(shift?.from).not.toEqual(shift?.to);
});
