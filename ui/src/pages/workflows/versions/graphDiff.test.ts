import { expect, it } from "vitest";
import type { Schemas } from "@/api/client";
import { changesOf, diffGraph } from "./graphDiff";

function task(name: string, more: Partial<Schemas["PlacedTask"]> = {}): Schemas["PlacedTask"] {
  return { name, full_name: `w::${name}`, kind: "python", ref: `flows:${name}`, column: 0, row: 0, ...more };
}

function graph(tasks: Schemas["PlacedTask"][], more: Partial<Schemas["WorkflowGraph"]> = {}): Schemas["WorkflowGraph"] {
  return { workflow: "w", version: "v", tasks, edges: [], parameters: [], columns: 1, rows: 1, ...more };
}

const BEFORE = graph([task("fetch"), task("pack", { row: 3 }), task("ship", { depends_on: ["pack"] })], {
  edges: [{ from: "pack", to: "ship" }],
  parameters: [{ name: "order", required: true, type: "str" }],
});
const AFTER = graph(
  [task("fetch", { column: 2 }), task("label"), task("ship", { depends_on: ["label"], attempts: 3 })],
  {
    edges: [{ from: "label", to: "ship" }],
    parameters: [{ name: "order", required: false, type: "str", default: "A" }],
    rows: 2,
  },
);

it("tells what was added, removed and changed, but not what only moved", () => {
  expect(changesOf(BEFORE, AFTER).map(({ kind, noun, name }) => `${kind} ${noun} ${name}`)).toEqual([
    "added task label",
    "changed task ship",
    "removed task pack",
    "added edge label → ship",
    "removed edge pack → ship",
    "changed parameter order",
  ]);
  expect(changesOf(BEFORE, AFTER)[1]?.details).toEqual([
    { property: "depends_on", was: "pack", now: "label" },
    { property: "attempts", was: "none", now: "3" },
  ]);
});

it("finds nothing between a graph and itself", () => {
  expect(changesOf(AFTER, AFTER)).toEqual([]);
});

it("draws removed tasks below the newer graph, with their edges", () => {
  const picture = diffGraph(BEFORE, AFTER);
  expect(picture.tasks.map(({ name, change, row }) => [name, change, row])).toEqual([
    ["fetch", undefined, 0],
    ["label", "added", 0],
    ["ship", "changed", 0],
    ["pack", "removed", 2],
  ]);
  expect(picture.links).toEqual([
    { from: "label", to: "ship" },
    { from: "pack", to: "ship" },
  ]);
});
