import { describe, expect, it } from "vitest";
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
