import { describe, expect, it } from "vitest";
import { shownProps } from "./text";

describe("shownProps", () => {
  it("makes seen what a page would interpret, in children and in texts that are properties", () => {
    const props = { children: ["a ", "\u202egpj.exe", 3], title: "\u001b[31mred", value: "\u202e" };
    expect(shownProps("span", props)).toEqual({
      children: ["a ", "⟨U+202E⟩gpj.exe", 3],
      title: "\\x1b[31mred",
      value: "\u202e",
    });
  });

  it("leaves properties as they are that have nothing of the kind, and those of components", () => {
    const plain = { children: ["line\none\ttwo", null], title: "ok" };
    expect(shownProps("span", plain)).toBe(plain);
    const own = { children: "\u202e" };
    expect(shownProps(() => null, own)).toBe(own);
  });
});
