import { describe, expect, it } from "vitest";
import { completeUntil, extended } from "@/api/history";
import { columnsOf, line, poolSeries, span } from "./series";

function sample(at: number, sizes: Record<string, number> = { task_claimer: 1 }, saturation = 0) {
  const pools = Object.fromEntries(
    Object.entries(sizes).map(([name, executors]) => [
      name,
      { executors, utilisation: 0.5, throughput: 1, queued: 0, unhealthy: 0, breaker: "closed" },
    ]),
  );
  return { at, owned_runs: 0, saturation, backpressure: 1, cpu_ratio: 0, memory_bytes: 0, pools };
}

describe("columns of samples", () => {
  it("are interrupted where samples are missing", () => {
    const { at, samples } = columnsOf([sample(0), sample(5), sample(60), sample(65)], 5);
    expect(at).toEqual([0, 5, 10, 60, 65]);
    expect(samples.map((each) => each === null)).toEqual([false, false, true, false, false]);
  });

  it("bear a sample that is a little late", () => {
    expect(columnsOf([sample(0), sample(14)], 5).at).toEqual([0, 14]);
  });
});

describe("lines", () => {
  it("has the pools in the order of a run's way, and pools that come later", () => {
    const columns = columnsOf(
      [sample(0, { task_finalizer: 1, task_claimer: 2 }), sample(5, { task_claimer: 3, new_pool: 4 })],
      5,
    );
    const series = poolSeries(columns, (pool) => pool.executors);
    expect(series.map((each) => each.label)).toEqual(["Claims", "Ends", "new pool"]);
    expect(series.map((each) => each.values)).toEqual([
      [2, 3],
      [1, null],
      [null, 4],
    ]);
  });

  it("tells its least and its most", () => {
    const columns = columnsOf([sample(0, {}, 0.1), sample(5, {}, 0.7), sample(100, {}, 0.2)], 5);
    expect(span(line(columns, "saturation", "wait", (each) => each.saturation))).toEqual([0.1, 0.7]);
    expect(span({ label: "", tone: "ok", values: [null] })).toBeNull();
  });
});

describe("a history that is read in parts", () => {
  const part = (orchestrator: string, times: number[], events: number[] = []) => ({
    orchestrator,
    interval: 5,
    samples: times.map((at) => sample(at)),
    events: events.map((at) => ({ at, kind: "scaled", pool: "task_claimer", detail: "" })),
  });

  it("is extended, and keeps an hour", () => {
    const known = part("a", [0, 5], [3]);
    expect(completeUntil(known)).toBe(5);
    const more = extended(known, part("a", [10], [7]));
    expect(more.samples.map((each) => each.at)).toEqual([0, 5, 10]);
    expect(more.events.map((each) => each.at)).toEqual([3, 7]);
    const later = extended(more, part("a", [3_608]));
    expect(later.samples.map((each) => each.at)).toEqual([10, 3_608]);
    expect(later.events).toEqual([]);
  });

  it("begins anew with another orchestrator", () => {
    const restarted = part("b", [20]);
    expect(extended(part("a", [0, 5]), restarted)).toBe(restarted);
    expect(completeUntil(undefined)).toBe(0);
  });
});
