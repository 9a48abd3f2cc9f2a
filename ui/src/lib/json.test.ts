import { describe, expect, it } from "vitest";
import { compact, editable, entriesOf, indented, JsonText, read, written } from "./json";

const LARGE = "9007199254740993";

describe("indented", () => {
  it("writes what JSON.stringify writes", () => {
    for (const value of [1, "a", null, {}, [], { a: [], b: {} }, { a: [1, { "b:,{}[]": 'x"\\' }], c: true }, [[[]]]]) {
      expect(indented(JSON.stringify(value))).toBe(JSON.stringify(value, null, 2));
      expect(compact(JSON.stringify(value, null, 3))).toBe(JSON.stringify(value));
    }
  });

  it("keeps all digits of numbers, and text that is no JSON", () => {
    expect(indented(LARGE)).toBe(LARGE);
    expect(indented(`{"id":${LARGE},"share":1.0,"far":1E400}`)).toBe(
      `{\n  "id": ${LARGE},\n  "share": 1.0,\n  "far": 1E400\n}`,
    );
    expect(indented('{"cut": [1, 2')).toBe('{"cut": [1, 2');
  });
});

describe("editable", () => {
  it("has marks of the direction as escapes, which mean the same", () => {
    const text = JSON.stringify({ name: "\u202egpj.exe\u2066 é" });
    expect(editable(text)).toBe('{\n  "name": "\\u202egpj.exe\\u2066 é"\n}');
    expect(compact(editable(text))).toBe(text);
  });
});

describe("entriesOf", () => {
  it("has the entries of the outermost object only", () => {
    const found = entriesOf(`{"order": {"id": ${LARGE}, "of": [{"a": 1}]}, "n": -1.0, "s": "a,b", "e": {}}`);
    expect([...(found ?? [])].map(([name, each]) => [name, each.text])).toEqual([
      ["order", `{"id":${LARGE},"of":[{"a":1}]}`],
      ["n", "-1.0"],
      ["s", '"a,b"'],
      ["e", "{}"],
    ]);
    expect(entriesOf("{}")?.size).toBe(0);
    expect(entriesOf("[1]")).toBeNull();
    expect(() => entriesOf("{")).toThrow(SyntaxError);
  });
});

describe("written", () => {
  it("writes what JSON.stringify writes, and JSON texts as they are", () => {
    const value = { a: [1, null, undefined, { b: "c" }], d: undefined, e: null };
    expect(written(value)).toBe(JSON.stringify(value));
    expect(written({ a: [new JsonText(LARGE)] })).toBe(`{"a":[${LARGE}]}`);
  });
});

describe("read", () => {
  it("reads what JSON.parse reads, and large integers as they are", () => {
    const text = '{"a": [1, 2.5, {"b": null}, [], {}], "c": "d", "e": true, "__proto__": 1}';
    expect(read(text)).toEqual(JSON.parse(text));
    expect(read(`{"id": ${LARGE}, "far": 1e300}`)).toEqual({ id: new JsonText(LARGE), far: 1e300 });
  });
});
