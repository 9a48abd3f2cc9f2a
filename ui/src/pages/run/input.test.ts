import { describe, expect, it } from "vitest";
import { editable, written } from "@/lib/json";
import { changedInput } from "./input";

describe("changedInput", () => {
  const sent = (text: string, known: string) => {
    const found = changedInput(text, known);
    return "input" in found ? written(found.input) : found;
  };

  it("has only what differs from the run", () => {
    expect(sent('{"order": "A", "fail": false, "more": 1}', '{"order":"A","fail":true}')).toBe(
      '{"fail":false,"more":1}',
    );
  });

  it("keeps the digits of numbers that were not edited", () => {
    const known = '{"order":{"id":9007199254740993,"x":1,"share":1.0},"other":9007199254740993}';
    expect(sent(editable(known).replace('"x": 1', '"x": 2'), known)).toBe(
      '{"order":{"id":9007199254740993,"x":2,"share":1.0}}',
    );
    expect(sent(known.replace(/3}$/, "4}"), known)).toBe('{"other":9007199254740994}');
  });

  it("takes marks of the direction that are written as escapes for what they are", () => {
    const known = JSON.stringify({ name: "\u202egpj.exe" });
    expect(editable(known)).not.toContain("\u202e");
    expect(sent(editable(known), known)).toBe("{}");
  });

  it("says what is wrong with a text that is no object", () => {
    expect(changedInput("{", "{}")).toHaveProperty("error");
    expect(changedInput("[1]", "{}")).toEqual({ error: "The input is an object, such as {}." });
  });
});
