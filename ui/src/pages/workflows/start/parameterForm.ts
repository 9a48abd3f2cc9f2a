import type { Schemas } from "@/api/client";
import { Problem } from "@/api/problem";
import { compact, editable, JsonText, written } from "@/lib/json";

export type Parameter = Schemas["WorkflowParameter"];
type Schema = Record<string, unknown>;

/** The control that a parameter gets. `json` is for values that no simple control can hold. */
export type FieldKind = "text" | "integer" | "number" | "boolean" | "choice" | "lines" | "json";

/** A parameter as a field of a form. What is typed is a text, in all kinds. */
export interface FormField {
  name: string;
  kind: FieldKind;
  required: boolean;
  nullable: boolean;
  /** The text that stands for the default; empty without one. */
  initial: string;
  /** Of a choice, in the order of the schema. */
  options: readonly unknown[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  type: string;
  description: string;
}

/** Returns the fields of a form for these parameters. */
export function fieldsOf(parameters: readonly Parameter[]): FormField[] {
  return parameters.map(fieldOf);
}

function fieldOf(parameter: Parameter): FormField {
  const root = parameter.schema ?? {};
  const { schema, nullable } = withoutNull(resolved(root, root), root);
  const kind = kindOf(schema, root);
  const options = Array.isArray(schema.enum) ? schema.enum : [];
  const base = { name: parameter.name, kind, required: parameter.required, nullable, options };
  return {
    ...base,
    initial: parameter.required ? (kind === "boolean" ? "false" : "") : textOf(parameter.default, kind),
    minimum: numeric(schema.minimum ?? schema.exclusiveMinimum),
    maximum: numeric(schema.maximum ?? schema.exclusiveMaximum),
    minLength: numeric(schema.minLength),
    maxLength: numeric(schema.maxLength),
    pattern: typeof schema.pattern === "string" ? schema.pattern : undefined,
    type: parameter.type ?? "",
    description: parameter.description || (typeof root.description === "string" ? root.description : ""),
  };
}

/** Returns the schema that a reference leads to; references lead into the definitions of their own document only. */
function resolved(schema: Schema, root: Schema): Schema {
  const name = typeof schema.$ref === "string" ? /^#\/\$defs\/(.+)$/.exec(schema.$ref)?.[1] : undefined;
  const found = name === undefined ? undefined : (root.$defs as Record<string, Schema> | undefined)?.[name];
  return found ?? schema;
}

/** Returns the schema of the values other than null, and whether null is one. */
function withoutNull(schema: Schema, root: Schema): { schema: Schema; nullable: boolean } {
  const choices = Array.isArray(schema.anyOf) ? (schema.anyOf as Schema[]) : null;
  if (choices !== null) {
    const rest = choices.filter((each) => each.type !== "null");
    const only = rest.length === 1 ? rest[0] : undefined;
    return { schema: only ? resolved(only, root) : schema, nullable: rest.length < choices.length };
  }
  if (Array.isArray(schema.type) && schema.type.includes("null")) {
    const rest = schema.type.filter((each) => each !== "null");
    return { schema: { ...schema, type: rest.length === 1 ? rest[0] : rest }, nullable: true };
  }
  return { schema, nullable: false };
}

function kindOf(schema: Schema, root: Schema): FieldKind {
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return "choice";
  switch (schema.type) {
    case "string":
      return "text";
    case "integer":
    case "number":
    case "boolean":
      return schema.type;
    case "array":
      return resolved((schema.items ?? {}) as Schema, root).type === "string" ? "lines" : "json";
    default:
      return "json";
  }
}

function numeric(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

/** Returns the text that stands for a value in a field of a kind. */
export function textOf(value: unknown, kind: FieldKind): string {
  if (value === undefined || value === null) return "";
  if (kind === "lines" && Array.isArray(value)) return value.join("\n");
  if (kind === "json") return editable(written(value));
  return kind === "choice" || typeof value === "string" ? String(value) : written(value);
}

/** What a text in a field means: a value, nothing (the default holds), or what is wrong with it. */
export type Read = { value: unknown } | { left: true } | { fault: string };

/** Returns what was typed into a field, as a value. */
export function read(field: FormField, text: string): Read {
  if (!field.required && text === field.initial) return { left: true };
  if (text === "" && field.kind !== "text" && field.kind !== "lines") {
    return field.nullable ? { value: null } : { fault: "A value is needed." };
  }
  switch (field.kind) {
    case "integer":
    case "number":
      return number(field, text);
    case "boolean":
      return { value: text === "true" };
    case "choice":
      return { value: field.options.find((each) => String(each) === text) ?? text };
    case "lines":
      return { value: text.split("\n").filter((line) => line !== "") };
    case "json":
      return json(text);
    case "text":
      return words(field, text);
  }
}

function number(field: FormField, text: string): Read {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) return { fault: `${text} is no number.` };
  if (field.kind === "integer" && !Number.isInteger(value)) return { fault: `${text} is no whole number.` };
  if (field.minimum !== undefined && value < field.minimum) return { fault: `At least ${field.minimum}.` };
  if (field.maximum !== undefined && value > field.maximum) return { fault: `At most ${field.maximum}.` };
  if (field.kind === "number" || Number.isSafeInteger(value)) return { value };
  if (!/^\s*[+-]?\d+\s*$/.test(text)) return { fault: `${text} has too many digits.` };
  return { value: new JsonText(String(BigInt(text))) };
}

function words(field: FormField, text: string): Read {
  if (text === "" && field.nullable) return { value: null };
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = field;
  if (text.length < minLength) return { fault: `At least ${minLength} characters.` };
  if (text.length > maxLength) return { fault: `At most ${maxLength} characters.` };
  return { value: text };
}

function json(text: string): Read {
  try {
    return { value: new JsonText(compact(text)) };
  } catch (error) {
    return { fault: `This is no JSON: ${error instanceof Error ? error.message : error}` };
  }
}

export type Texts = Readonly<Record<string, string>>;

/** Returns the input of a run as it is typed, or what is wrong with it by parameter. Defaults are left to the server. */
export function inputOf(fields: readonly FormField[], texts: Texts): { input: Schema; faults: Texts } {
  const input: Schema = {};
  const faults: Record<string, string> = {};
  for (const field of fields) {
    const typed = texts[field.name];
    const untouched = typed === undefined && field.required && field.kind !== "boolean";
    const found: Read = untouched ? { fault: "A value is needed." } : read(field, typed ?? field.initial);
    if ("fault" in found) faults[field.name] = found.fault;
    else if ("value" in found) input[field.name] = found.value;
  }
  return { input, faults };
}

/** Returns what the server says about single parameters; `rest` is true if it says more than that. */
export function faultsOf(error: unknown, fields: readonly FormField[]): { faults: Texts; rest: boolean } {
  const given = error instanceof Problem ? (error.document as { problems?: unknown }).problems : undefined;
  const problems = Array.isArray(given) ? (given as { parameter?: string; message?: string }[]) : [];
  const names = new Set(fields.map((field) => field.name));
  const faults: Record<string, string> = {};
  let rest = problems.length === 0;
  for (const { parameter, message } of problems) {
    if (parameter !== undefined && message !== undefined && names.has(parameter)) faults[parameter] = message;
    else rest = true;
  }
  return { faults, rest };
}
