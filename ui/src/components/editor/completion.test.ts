import { describe, expect, it } from "vitest";
import published from "../../../../docs/reference/workflow.schema.json";
import { type Node, positionOf, suggestions } from "./completion";

const SCHEMA = published as unknown as Node;
const labels = (text: string) => suggestions(SCHEMA, text).map((each) => each.label);

describe("where the end of a text is", () => {
  it.each([
    ["", [], null],
    ["na", [], null],
    ["steps:\n  - ", ["steps", "[]"], null],
    ["steps:\n  - name: a\n    ", ["steps", "[]"], null],
    ["steps:\n- name: a\n  com", ["steps", "[]"], null],
    ["steps:\n  - name: a\n    retry_policy:\n      li", ["steps", "[]", "retry_policy"], null],
    ["steps:\n  - name: a\n    retry_policy:\n      limit: 3\n    ", ["steps", "[]"], null],
    ["name: x\n\n# note\ntype: gr", [], "type"],
    ["steps:\n  - name: a\n  - name: b\n    command: x\nna", [], null],
  ])("%j", (text, path, key) => {
    expect(positionOf(text)).toEqual({ path, key });
  });
});

describe("completion by the published schema", () => {
  it("knows the keys of the file, of a step and of what is inside one", () => {
    expect(labels("")).toEqual(expect.arrayContaining(["name", "steps", "params", "schedule"]));
    expect(labels("steps:\n  - ")).toEqual(expect.arrayContaining(["name", "command", "depends", "retry_policy"]));
    expect(labels("steps:\n  - name: a\n    retry_policy:\n      ")).toContain("limit");
    expect(labels("steps:\n  - name: a\n    ")).not.toContain("steps");
  });

  it("knows values that are few", () => {
    expect(labels("type: ")).toEqual(expect.arrayContaining(["graph", "chain"]));
  });

  it("suggests nothing where the schema says nothing", () => {
    expect(labels("labels_that_are_not_there:\n  ")).toEqual([]);
  });
});
