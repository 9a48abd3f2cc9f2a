import { describe, expect, it } from "vitest";
import type { Schemas } from "@/api/client";
import { movedGraph, movedRun, unknownTo } from "./moves";
import type { Move } from "./tasks";

const move = (seq: number, task: string | null, old: string | null, now: string, part = 0): Move => ({
  run_id: "r",
  at: seq,
  seq,
  part,
  task,
  old,
  new: now,
  attempt: 1,
});

const RUN = { id: "r", position: "r:4.0.17", tasks: { ready: 2, running: 1 } } as unknown as Schemas["RunDetail"];
const GRAPH: Schemas["RunGraph"] = {
  run_id: "r",
  workflow: "w",
  version: "1",
  position: "r:4.0.0",
  nodes: [
    { name: "price", kind: "python", ref: "price", state: "running", items: { ready: 2 } },
    { name: "total", kind: "python", ref: "total", state: "pending" },
  ],
  edges: [],
};

describe("unknownTo", () => {
  it("leaves out what a reading knows, and the claim of a poller comes behind its move", () => {
    const moves = [
      move(4, "a", "ready", "ready"),
      move(4, "a", "ready", "running", 1),
      move(5, "a", "running", "failed"),
    ];
    expect(unknownTo("r:4.0.17", moves)).toEqual(moves.slice(1));
    expect(unknownTo(undefined, moves)).toEqual(moves);
  });
});

describe("movedRun", () => {
  it("counts each move once, however often it arrives", () => {
    const moves = [move(5, "a", "ready", "running"), move(6, "b", "running", "completed"), move(6, null, "x", "y")];
    const after = movedRun(RUN, moves);
    expect(after.tasks).toEqual({ ready: 1, running: 1, completed: 1 });
    expect(after.position).toBe("r:6.0.17");
    expect(movedRun(after, moves)).toBe(after);
  });

  it("never counts below zero: an item may begin with the commit that makes it", () => {
    expect(movedRun(RUN, [move(5, "a[0]", "pending", "running")]).tasks).toEqual({ ready: 2, running: 2 });
  });
});

describe("movedGraph", () => {
  it("moves items between the counts of their task, and other tasks themselves", () => {
    const after = movedGraph(GRAPH, [move(5, "price[0]", "ready", "running"), move(6, "total", "pending", "running")]);
    expect(after.nodes[0]).toMatchObject({ state: "running", items: { ready: 1, running: 1 } });
    expect(after.nodes[1]).toMatchObject({ state: "running", started_at: 6, finished_at: null });
  });

  it("stays the same without moves that it does not know", () => {
    expect(movedGraph(GRAPH, [move(3, "total", "pending", "running")])).toBe(GRAPH);
  });
});
