import { describe, expect, it } from "vitest";
import { Problem } from "@/api/problem";
import { JsonText, read, written } from "@/lib/json";
import { faultsOf, fieldsOf, inputOf, type Parameter } from "./parameterForm";

const PARAMETERS: Parameter[] = [
  { name: "region", required: false, default: "eu", schema: { enum: ["eu", "us"] } },
  { name: "limit", required: true, schema: { type: "integer", minimum: 1, maximum: 50, description: "How many" } },
  { name: "size", required: false, default: 2, schema: { $ref: "#/$defs/Size", $defs: { Size: { enum: [1, 2] } } } },
  { name: "tags", required: false, default: ["a"], schema: { type: "array", items: { type: "string" } } },
  { name: "ratio", required: false, default: null, schema: { anyOf: [{ type: "number" }, { type: "null" }] } },
  { name: "dry", required: false, default: false, schema: { type: "boolean" } },
  { name: "to", required: false, default: { zip: 1 }, schema: { type: "object" } },
  { name: "note", required: false, default: "", schema: { type: "string", maxLength: 3 } },
];
const fields = fieldsOf(PARAMETERS);

describe("the form of a workflow's parameters", () => {
  it("has a control for each schema", () => {
    expect(fields.map((field) => field.kind)).toEqual([
      "choice",
      "integer",
      "choice",
      "lines",
      "number",
      "boolean",
      "json",
      "text",
    ]);
    expect(fields[4]?.nullable).toBe(true);
    expect(fields[1]?.description).toBe("How many");
  });

  it("leaves defaults to the server and reads the rest by type", () => {
    expect(inputOf(fields, { limit: "7" })).toEqual({ input: { limit: 7 }, faults: {} });
    const typed = { region: "us", limit: "7", size: "1", tags: "x\ny", ratio: "0.5", dry: "true", to: '{"zip":2}' };
    expect(inputOf(fields, typed).input).toEqual({
      region: "us",
      limit: 7,
      size: 1,
      tags: ["x", "y"],
      ratio: 0.5,
      dry: true,
      to: new JsonText('{"zip":2}'),
    });
  });

  it("keeps all digits of large integers, typed or of a default", () => {
    const typed = { limit: "+9007199254740993", to: '{"id": 9007199254740993, "x": 2}' };
    const free = fields.map((field) => ({ ...field, maximum: undefined }));
    expect(written(inputOf(free, typed).input)).toBe('{"limit":9007199254740993,"to":{"id":9007199254740993,"x":2}}');
    expect(inputOf(free, { limit: "1e20" }).faults.limit).toBe("1e20 has too many digits.");
    const [whole, nested] = fieldsOf(
      read(
        '[{"name":"a","required":false,"default":9007199254740993,"schema":{"type":"integer"}},' +
          '{"name":"b","required":false,"default":{"id":9007199254740993},"schema":{"type":"object"}}]',
      ) as Parameter[],
    );
    expect(whole?.initial).toBe("9007199254740993");
    expect(nested?.initial).toBe('{\n  "id": 9007199254740993\n}');
  });

  it("says what is wrong before anything is sent", () => {
    const { faults } = inputOf(fields, { limit: "99", ratio: "much", to: "{", note: "long" });
    expect(Object.keys(faults)).toEqual(["limit", "ratio", "to", "note"]);
    expect(faults.limit).toBe("At most 50.");
    expect(inputOf(fields, {}).faults.limit).toBe("A value is needed.");
    expect(inputOf(fields, { limit: "1.5" }).faults.limit).toBe("1.5 is no whole number.");
  });

  it("puts the server's messages at their fields", () => {
    const problem = new Problem(422, {
      code: "invalid_input",
      problems: [{ parameter: "limit", message: "must be int" }],
    } as object);
    expect(faultsOf(problem, fields)).toEqual({ faults: { limit: "must be int" }, rest: false });
    expect(faultsOf(new Problem(503, {}), fields)).toEqual({ faults: {}, rest: true });
  });

  it("does not follow references out of the document", () => {
    const [field] = fieldsOf([{ name: "x", required: false, schema: { $ref: "https://elsewhere/schema" } }]);
    expect(field?.kind).toBe("json");
  });
});
