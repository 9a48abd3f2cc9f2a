import { describe, expect, it } from "vitest";
import { arranged, NODE, type TaskGraph } from "./arrange";

const chain: TaskGraph = {
  tasks: [
    { name: "a", column: 0, row: 0 },
    { name: "b", column: 1, row: 0 },
    { name: "c", column: 1, row: 1 },
    { name: "d", column: 2, row: 0.5 },
  ],
  links: [
    { from: "a", to: "b" },
    { from: "a", to: "d", via: [{ column: 1, row: 2 }] },
    { from: "a", to: "gone" },
  ],
};

describe("arranged", () => {
  it("places columns from left to right and rows from top to bottom", () => {
    const { nodes } = arranged(chain);
    const [a, b, c, d] = nodes;
    expect(a).toMatchObject({ x: 0, y: 0, width: NODE.width });
    expect(b?.x).toBeGreaterThan(NODE.width);
    expect(c?.x).toBe(b?.x);
    expect(c?.y).toBeGreaterThanOrEqual(NODE.height);
    expect(d?.y).toBe((c?.y ?? 0) / 2);
  });

  it("leads a line through the places that the layout keeps free for it, and leaves out lines to nothing", () => {
    const { links } = arranged(chain);
    expect(links.map((each) => each.id)).toEqual(["a→b", "a→d"]);
    const middle = 2 * (NODE.height + 20) + NODE.height / 2;
    expect(links[1]?.path).toContain(` ${middle} L `);
  });

  it("makes room for a graph that is shown inside a node, and for one inside of that", () => {
    const inner: TaskGraph = { tasks: chain.tasks.slice(0, 2), links: [{ from: "a", to: "b" }] };
    const opened = new Map([
      ["b", inner],
      ["b/a", inner],
    ]);
    const { nodes, links } = arranged(chain, opened);
    const at = (id: string) => nodes.find((each) => each.id === id) ?? { x: NaN, y: NaN, width: NaN, height: NaN };
    const plain = arranged(chain).nodes;
    expect(at("d").x).toBeGreaterThan((plain[3]?.x ?? 0) + NODE.width);
    expect(at("c").y).toBeGreaterThanOrEqual(at("b").y + at("b").height);
    for (const id of ["b/a", "b/b", "b/a/a", "b/a/b"]) {
      expect(at(id).x).toBeGreaterThanOrEqual(at("b").x);
      expect(at(id).x + at(id).width).toBeLessThanOrEqual(at("b").x + at("b").width);
      expect(at(id).y + at(id).height).toBeLessThanOrEqual(at("b").y + at("b").height);
    }
    expect(links.map((each) => each.id)).toContain("b/a/a→b/a/b");
  });

  it("is empty for a graph without tasks", () => {
    expect(arranged({ tasks: [], links: [] })).toEqual({ nodes: [], links: [], width: 0, height: 0 });
  });
});
