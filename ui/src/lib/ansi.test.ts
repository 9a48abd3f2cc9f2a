import { describe, expect, it } from "vitest";
import { ansiSpans, plain, visible } from "./ansi";

const ESC = "\u001b";

describe("ansiSpans", () => {
  it("splits a text by its colours", () => {
    expect(ansiSpans(`a ${ESC}[31;1mred${ESC}[0m b`)).toEqual([
      { text: "a " },
      { text: "red", ink: "bad", bold: true },
      { text: " b" },
    ]);
  });

  it("takes the nearest readable colour of 256 and of 16 million", () => {
    expect(ansiSpans(`${ESC}[38;5;196mx`)).toEqual([{ text: "x", ink: "bad" }]);
    expect(ansiSpans(`${ESC}[38;2;10;200;20mx${ESC}[39my`)).toEqual([
      { text: "x", ink: "ok" },
      { text: "y", ink: undefined },
    ]);
    expect(ansiSpans(`${ESC}[48;5;21;4mx`)).toEqual([{ text: "x", fill: "run", underlined: true }]);
  });

  it("shows links, titles and moves of the cursor as text", () => {
    const link = `${ESC}]8;;https://example.org\u0007click${ESC}]8;;\u0007`;
    expect(ansiSpans(link)).toEqual([{ text: "\\x1b]8;;https://example.org\\x07click\\x1b]8;;\\x07" }]);
    expect(ansiSpans(`${ESC}[2Jgone`)).toEqual([{ text: "\\x1b[2Jgone" }]);
  });

  it("survives sequences that are cut off or without sense", () => {
    expect(ansiSpans(`${ESC}[38;5`)).toEqual([{ text: "\\x1b[38;5" }]);
    expect(ansiSpans(`${ESC}[38mx${ESC}[999;;mx`).map((each) => each.text)).toEqual(["x", "x"]);
    expect(ansiSpans("")).toEqual([]);
  });
});

describe("visible", () => {
  it("shows what changes the direction of writing", () => {
    expect(visible("safe\u202Egpj.exe\u2066")).toBe("safe⟨U+202E⟩gpj.exe⟨U+2066⟩");
  });

  it("leaves tabs, line ends and letters of all languages as they are", () => {
    expect(visible("a\tb\nשלום 👩‍🚀")).toBe("a\tb\nשלום 👩‍🚀");
  });
});

describe("plain", () => {
  it("is the text without colours", () => {
    expect(plain(`${ESC}[32mok${ESC}[0m <b>\r`)).toBe("ok <b>");
  });
});
