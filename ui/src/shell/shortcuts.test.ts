import { describe, expect, it } from "vitest";
import { KeySequence, keyName, type Shortcut } from "./shortcuts";

const shortcut = (keys: string, label = keys): Shortcut => ({ keys, label, group: "", run: () => {} });
const HELD = [shortcut("g r"), shortcut("g w"), shortcut("r"), shortcut("?"), shortcut("mod+k")];

describe("KeySequence", () => {
  it("recognises a sequence of two keys", () => {
    const sequence = new KeySequence();
    expect(sequence.press("g", 0, HELD)).toBeNull();
    expect(sequence.press("r", 300, HELD)?.keys).toBe("g r");
  });

  it("forgets the first key after a while, and the second one counts alone", () => {
    const sequence = new KeySequence();
    sequence.press("g", 0, HELD);
    expect(sequence.press("r", 5_000, HELD)?.keys).toBe("r");
  });

  it("begins anew after a sequence that is none", () => {
    const sequence = new KeySequence();
    sequence.press("g", 0, HELD);
    expect(sequence.press("x", 100, HELD)).toBeNull();
    expect(sequence.press("?", 200, HELD)?.keys).toBe("?");
  });

  it("prefers the shortcut of the page to that of the shell", () => {
    const held = [shortcut("r", "shell"), shortcut("r", "page")];
    expect(new KeySequence().press("r", 0, held)?.label).toBe("page");
  });

  it("names keys with their modifiers", () => {
    const plain = { ctrlKey: false, metaKey: false, altKey: false };
    expect(keyName({ key: "K", ...plain, ctrlKey: true })).toBe("mod+k");
    expect(keyName({ key: "k", ...plain, metaKey: true })).toBe("mod+k");
    expect(keyName({ key: "?", ...plain })).toBe("?");
    expect(keyName({ key: "Escape", ...plain })).toBe("escape");
  });
});
