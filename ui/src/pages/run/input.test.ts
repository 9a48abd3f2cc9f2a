import { describe, expect, it } from "vitest";
import { changedInput } from "./input";

describe("changedInput", () => {
  it("has only what differs from the run", () => {
    expect(changedInput('{"order": "A", "fail": false, "more": 1}', { order: "A", fail: true })).toEqual({
      input: { fail: false, more: 1 },
    });
  });

  it("says what is wrong with a text that is no object", () => {
    expect(changedInput("{", {})).toHaveProperty("error");
    expect(changedInput("[1]", {})).toEqual({ error: "The input is an object, such as {}." });
  });
});
