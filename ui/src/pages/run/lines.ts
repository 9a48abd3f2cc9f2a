import type { Schemas } from "@/api/client";
import { plain } from "@/lib/ansi";

export type LogLine = Schemas["LogLine"];

/** Returns all lines once, in the order in which they were stored. */
export function merged(read: readonly LogLine[], streamed: readonly LogLine[]): LogLine[] {
  const last = read.at(-1)?.id ?? -1;
  if (streamed.every((line) => line.id > last)) return [...read, ...unique(streamed)];
  const all = new Map<number, LogLine>();
  for (const line of read) all.set(line.id, line);
  for (const line of streamed) all.set(line.id, line);
  return [...all.values()].sort((left, right) => left.id - right.id);
}

function unique(lines: readonly LogLine[]): LogLine[] {
  let last = -1;
  const found: LogLine[] = [];
  for (const line of lines) {
    if (line.id > last) found.push(line);
    last = Math.max(last, line.id);
  }
  return found;
}

/** Returns the places of the lines that contain a text, in any case. */
export function matches(lines: readonly LogLine[], typed: string): number[] {
  const wanted = typed.toLowerCase();
  if (wanted === "") return [];
  return places(lines, (line) => plain(line.text).toLowerCase().includes(wanted));
}

const TROUBLE = /\b(error|exception|fatal|critical|panic|traceback)\b/i;
const RAISED = /\w(Error|Exception)\b/;

/** Returns the places of the lines that look like an error. */
export function troubles(lines: readonly LogLine[]): number[] {
  return places(lines, (line) => TROUBLE.test(line.text) || RAISED.test(line.text));
}

function places(lines: readonly LogLine[], fits: (line: LogLine) => boolean): number[] {
  const found: number[] = [];
  for (const [index, line] of lines.entries()) if (fits(line)) found.push(index);
  return found;
}

/** Returns the lines as a text file. */
export function asText(lines: readonly LogLine[]): string {
  return lines
    .map((line) => `${new Date(line.at * 1_000).toISOString()} ${line.task}#${line.attempt} ${plain(line.text)}\n`)
    .join("");
}

/** Splits a text where it contains what is searched; every second piece is a hit. */
export function split(text: string, wanted: string): string[] {
  if (wanted === "") return [text];
  const pieces: string[] = [];
  const lower = text.toLowerCase();
  const key = wanted.toLowerCase();
  let from = 0;
  for (let at = lower.indexOf(key); at >= 0; at = lower.indexOf(key, from)) {
    pieces.push(text.slice(from, at), text.slice(at, at + key.length));
    from = at + key.length;
  }
  pieces.push(text.slice(from));
  return pieces;
}
