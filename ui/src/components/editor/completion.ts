/** A schema of the published JSON Schema of workflow files, as far as completion reads it. */
export interface Node {
  $ref?: string;
  $defs?: Record<string, Node>;
  description?: string;
  type?: string | string[];
  enum?: unknown[];
  properties?: Record<string, Node>;
  items?: Node;
  anyOf?: Node[];
}

export interface Suggestion {
  label: string;
  detail?: string;
  info?: string;
  kind: "key" | "value";
}

/** Where the end of a text is: the keys around it, `[]` for an entry of a list, and the key whose value is typed. */
export interface Position {
  path: string[];
  /** Null while a key is typed. */
  key: string | null;
}

/** Returns where the end of a text is, by its indentation. Flow style and block scalars are not followed. */
export function positionOf(text: string): Position {
  const lines = text.split("\n");
  const last = lines.pop() ?? "";
  const { indent, entry, key } = parts(last);
  const path: string[] = entry ? ["[]"] : [];
  let depth = entry ? entryIndent(last) : indent;
  for (const line of lines.reverse()) {
    if (/^\s*(#|$)/.test(line)) continue;
    const each = parts(line);
    if (each.entry && each.indent === depth && path[0] !== "[]") {
      // The keys of an entry stand below the first one, behind its dash.
      path.unshift("[]");
      depth = entryIndent(line);
    } else if (each.indent < depth || (path[0] === "[]" && each.indent === depth && !each.entry)) {
      if (each.key === null) break;
      path.unshift(each.key);
      depth = each.indent;
      if (each.entry) {
        path.unshift("[]");
        depth = entryIndent(line);
      }
    }
    if (depth === 0 && path[0] !== "[]") break;
  }
  return { path, key };
}

function parts(line: string): { indent: number; entry: boolean; key: string | null } {
  const [, space = "", dash = "", rest = ""] = /^(\s*)(- +|-$)?(.*)$/.exec(line) ?? [];
  const key = /^("?)([\w.$-]+)\1\s*:(\s|$)/.exec(rest)?.[2] ?? null;
  return { indent: space.length + dash.length, entry: dash !== "", key };
}

function entryIndent(line: string): number {
  return line.length - line.trimStart().length;
}

/** Returns what may stand at the end of a text, by the schema. */
export function suggestions(schema: Node, text: string): Suggestion[] {
  const { path, key } = positionOf(text);
  let found: Node[] = alternatives(schema, schema);
  for (const step of path) found = found.flatMap((node) => below(node, step, schema));
  if (key === null) return keys(found);
  return values(found.flatMap((node) => below(node, key, schema)));
}

function below(node: Node, step: string, root: Node): Node[] {
  const next = step === "[]" ? node.items : node.properties?.[step];
  return next === undefined ? [] : alternatives(next, root);
}

/** Returns the schemas that a schema stands for: what it refers to, and its alternatives. */
function alternatives(node: Node, root: Node, depth = 0): Node[] {
  if (depth > 6) return [];
  const name = node.$ref?.replace("#/$defs/", "");
  const referred = name === undefined ? undefined : root.$defs?.[name];
  const nested = [...(referred ? [referred] : []), ...(node.anyOf ?? [])];
  return [node, ...nested.flatMap((each) => alternatives(each, root, depth + 1))];
}

function keys(nodes: readonly Node[]): Suggestion[] {
  const found = new Map<string, Suggestion>();
  for (const node of nodes) {
    for (const [label, value] of Object.entries(node.properties ?? {})) {
      found.set(label, { label, info: value.description, detail: typeName(value), kind: "key" });
    }
  }
  return [...found.values()];
}

function values(nodes: readonly Node[]): Suggestion[] {
  const found = new Set<string>();
  for (const node of nodes) {
    for (const value of node.enum ?? []) if (value !== null) found.add(String(value));
    if (node.type === "boolean") for (const value of ["true", "false"]) found.add(value);
  }
  return [...found].map((label) => ({ label, kind: "value" }));
}

function typeName(node: Node): string | undefined {
  return Array.isArray(node.type) ? node.type.join(" or ") : node.type;
}
