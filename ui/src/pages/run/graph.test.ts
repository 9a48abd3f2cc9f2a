import { describe, expect, it } from "vitest";
import { atItem, chosenItem, graphOf, ownerOf, toggled } from "./graph";

describe("graphOf", () => {
  it("has the counts of mapped tasks, and says why a task that is ready waits", () => {
    const graph = graphOf({
      run_id: "r",
      workflow: "w",
      version: "1",
      nodes: [
        { name: "price", kind: "python", ref: "price", state: "running", items: { ready: 2 }, column: 0, row: 0 },
        { name: "train", kind: "python", ref: "train", state: "ready", reason: "no worker", executor: "x", column: 1 },
        { name: "ship", kind: "python", ref: "ship", state: "running", reason: "old", executor: "process", column: 2 },
      ],
      edges: [{ from: "price", to: "train", via: [{ column: 1, row: 1 }] }],
    });
    expect(graph.tasks.map((task) => task.note)).toEqual([undefined, "no worker", "process"]);
    expect(graph.tasks[0]?.items).toEqual({ ready: 2 });
    expect(graph.links[0]?.via).toEqual([{ column: 1, row: 1 }]);
  });
});

describe("ownerOf", () => {
  it("finds the innermost run around a node", () => {
    const opened = [
      ["a", "run-a"],
      ["a/b", "run-b"],
    ] as const;
    expect(ownerOf("a/b/c", opened)).toEqual({ run: "run-b", task: "c" });
    expect(ownerOf("a/d", opened)).toEqual({ run: "run-a", task: "d" });
    expect(ownerOf("a", opened)).toBeNull();
  });
});

describe("nodes that are opened in place", () => {
  const outer = { id: "a", owner: "r", task: "a", item: 0 };
  const inner = { id: "a/b", owner: "run-a", task: "b", run: "run-b" };

  it("close with what is open inside of them", () => {
    expect(toggled([outer], inner)).toEqual([outer, inner]);
    expect(toggled([outer, inner], outer)).toEqual([]);
  });

  it("show another item without what was open in the one before", () => {
    expect(atItem([outer, inner], "a", 2)).toEqual([{ ...outer, item: 2 }]);
  });

  it("begin with the item that is chosen", () => {
    expect(chosenItem("price", "price[3]")).toBe(3);
    expect(chosenItem("price", "price")).toBeUndefined();
    expect(chosenItem("pri", "price[3]")).toBeUndefined();
  });

  it("have the number of runs of a mapped task whose items are runs", () => {
    const nodes = [
      { name: "a", kind: "workflow", ref: "w", state: "running", items: { running: 2, failed: 1 } },
      { name: "b", kind: "python", ref: "f", state: "running", items: { running: 2 } },
    ] as const;
    const graph = graphOf({ run_id: "r", workflow: "w", version: "1", nodes: [...nodes], edges: [] });
    expect(graph.tasks.map((task) => task.childRuns)).toEqual([3, undefined]);
  });
});
