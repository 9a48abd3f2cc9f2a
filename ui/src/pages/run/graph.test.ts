import { describe, expect, it } from "vitest";
import { graphOf, ownerOf } from "./graph";

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
