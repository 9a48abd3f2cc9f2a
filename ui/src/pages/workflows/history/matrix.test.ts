import { expect, it } from "vitest";
import type { Schemas } from "@/api/client";
import { cellWords, matrixOf, slowestOf } from "./matrix";

const HISTORY: Schemas["WorkflowHistory"] = {
  workflow: "w",
  duration: { count: 2 },
  slowest: ["ship", "fetch", "never"],
  runs: [
    { run_id: "new", state: "failed", version: "b", created_at: 2, duration: 1 },
    { run_id: "old", state: "completed", version: "a", created_at: 1, duration: 4 },
  ],
  tasks: [
    { name: "fetch", cells: [{ state: "completed", duration: 1 }, null], duration: { count: 1, p50: 1, p95: 2 } },
    {
      name: "ship",
      cells: [
        { state: "failed", attempt: 3 },
        { state: "completed", duration: 3, items: { completed: 2 } },
      ],
      duration: { count: 1, p50: 3, p95: 4 },
    },
    { name: "never", cells: [null, null], duration: { count: 0 } },
  ],
};

it("shows the oldest run at the left and scales bars by the longest run", () => {
  const matrix = matrixOf(HISTORY);
  expect(matrix.runs.map((run) => [run.run_id, run.share, run.changed])).toEqual([
    ["old", 1, false],
    ["new", 0.25, true],
  ]);
  expect(matrix.rows[0]?.cells.map((cell) => cell?.state)).toEqual([undefined, "completed"]);
});

it("says what a cell means in words", () => {
  expect(cellWords(null)).toBe("not in this version");
  expect(cellWords({ state: "failed", attempt: 3 })).toBe("failed · attempt 3");
  expect(cellWords({ state: "completed", duration: 3, items: { completed: 2 } })).toBe("completed · 3s · 2 completed");
});

it("lists the slowest tasks that have ever completed", () => {
  expect(slowestOf(HISTORY)).toEqual([
    { name: "ship", p50: 3, p95: 4, share: 0.75 },
    { name: "fetch", p50: 1, p95: 2, share: 0.25 },
  ]);
});
