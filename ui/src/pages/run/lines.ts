import type { Schemas } from "@/api/client";
import { plain } from "@/lib/ansi";

export type LogLine = Schemas["LogLine"];

/** The places of the lines of a growing list that fit; each line is looked at once. */
export class Places {
  readonly found: number[] = [];
  private seen = 0;
  private readonly fits: (line: LogLine) => boolean;

  constructor(fits: (line: LogLine) => boolean) {
    this.fits = fits;
  }

  extend(lines: readonly LogLine[]): readonly number[] {
    for (; this.seen < lines.length; this.seen++) {
      const line = lines[this.seen];
      if (line && this.fits(line)) this.found.push(this.seen);
    }
    return this.found;
  }

  clear(): void {
    this.seen = 0;
    this.found.length = 0;
  }
}

/** Returns the places of the lines that contain a text, in any case. */
export function matches(typed: string): Places {
  const wanted = typed.toLowerCase();
  return new Places((line) => wanted !== "" && plain(line.text).toLowerCase().includes(wanted));
}

const TROUBLE = /\b(error|exception|fatal|critical|panic|traceback)\b/i;
const RAISED = /\w(Error|Exception)\b/;

/** True if a line looks like an error. */
export function isTrouble(line: LogLine): boolean {
  return TROUBLE.test(line.text) || RAISED.test(line.text);
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
