import { describe, expect, it } from "vitest";
import { ganttOf, placeOf, type Timeline, ticks, zoomed } from "./gantt";

const timeline: Timeline = {
  run_id: "r",
  created_at: 1_000,
  at: 1_010,
  position: "",
  critical_path: ["charge"],
  tasks: [
    {
      name: "charge",
      state: "running",
      critical: true,
      waits: [{ since: 1_000, until: 1_002, reason: "all slots are taken" }],
      attempts: [
        { attempt: 1, began_at: 1_002, ended_at: 1_004, outcome: "failed", error: "declined", executor: "process" },
        { attempt: 2, began_at: 1_005, started_at: 1_006, executor: "workers", worker: "gpu-1" },
      ],
    },
    { name: "price", state: "completed", started_at: 1_001, finished_at: 1_003, items: { completed: 3 } },
    { name: "ship", state: "pending" },
  ],
};

describe("ganttOf", () => {
  const { rows, start, length } = ganttOf(timeline, 1_012);

  it("has waits, the way to the executor and every attempt apart", () => {
    expect(rows[0]?.bars.map((bar) => [bar.kind, bar.from, bar.to, bar.attempt])).toEqual([
      ["wait", 0, 2, undefined],
      ["run", 2, 4, 1],
      ["queue", 5, 6, 2],
      ["run", 6, 12, 2],
    ]);
    expect(rows[0]?.bars[1]?.title).toBe("attempt 1, at process, failed, declined");
    expect(rows[0]?.bars[3]).toMatchObject({ open: true, title: "attempt 2, at workers on gpu-1" });
    expect(rows[0]?.critical).toBe(true);
  });

  it("has the queue time of attempts before the newest, and of one that never began", () => {
    const attempts = [
      { attempt: 1, began_at: 1_002, started_at: 1_003, ended_at: 1_004, outcome: "retry", executor: "workers" },
      { attempt: 2, began_at: 1_005, ended_at: 1_006, outcome: "returned" },
      { attempt: 3, began_at: 1_007, started_at: 1_020, ended_at: 1_008, outcome: "retry" },
      { attempt: 4, began_at: 1_009, started_at: 1_008, ended_at: 1_010, outcome: "completed" },
    ];
    const [row] = ganttOf({ ...timeline, tasks: [{ name: "charge", state: "completed", attempts }] }, 1_012).rows;
    expect(row?.bars.map((bar) => [bar.kind, bar.from, bar.to, bar.attempt])).toEqual([
      ["queue", 2, 3, 1],
      ["run", 3, 4, 1],
      ["queue", 5, 6, 2],
      ["queue", 7, 8, 3],
      ["run", 8, 8, 3],
      ["run", 9, 10, 4],
    ]);
    expect(row?.bars[0]?.title).toBe("attempt 1, on its way to workers");
  });

  it("shows a mapped task from its first item to its last one, and nothing for what has not begun", () => {
    expect(rows[1]?.bars).toMatchObject([{ kind: "run", from: 1, to: 3, open: false }]);
    expect(rows[2]?.bars).toEqual([]);
  });

  it("ends now while the run goes on, and with the run afterwards", () => {
    expect([start, length]).toEqual([1_000, 12]);
    const ended = { ...timeline, tasks: timeline.tasks.slice(1), finished_at: 1_008 };
    expect(ganttOf(ended, 5_000).length).toBe(8);
  });
});

describe("ticks", () => {
  it("are round and far enough from each other", () => {
    expect(ticks(0, 10, 500)).toEqual([0, 2, 4, 6, 8, 10]);
    expect(ticks(0, 0.02, 400)).toEqual([0, 0.005, 0.01, 0.015, 0.02]);
    expect(ticks(0, 3_600, 450)).toEqual([0, 900, 1_800, 2_700, 3_600]);
    expect(ticks(5, 5, 400)).toEqual([]);
  });
});

describe("zoomed", () => {
  it("keeps the moment under the pointer in its place", () => {
    expect(zoomed({ from: 0, to: 100 }, 0.5, 20, 100)).toEqual({ from: 10, to: 60 });
  });

  it("does not leave the picture", () => {
    expect(zoomed({ from: 0, to: 50 }, 4, 10, 100)).toEqual({ from: 0, to: 100 });
    expect(zoomed({ from: 80, to: 100 }, 2, 100, 100)).toEqual({ from: 60, to: 100 });
  });
});

describe("placeOf", () => {
  it("cuts what reaches out of the part that is shown", () => {
    expect(placeOf({ from: 0, to: 10 }, { from: 5, to: 25 })).toEqual({ left: 0, width: 25 });
    expect(placeOf({ from: 0, to: 4 }, { from: 5, to: 25 })).toBeNull();
  });
});
