import type { Tone } from "./states";

/** A colour that a text may have; all of them are readable in both themes. */
export type Ink = Tone | "cyan" | "faint";

/** A piece of text with one look. */
export interface Span {
  text: string;
  ink?: Ink;
  /** The colour behind it. */
  fill?: Ink;
  bold?: boolean;
  italic?: boolean;
  underlined?: boolean;
}

type Look = Omit<Span, "text">;

/** Black, red, green, yellow, blue, magenta, cyan, white, by their meaning in the page. */
const INKS: (Ink | undefined)[] = ["faint", "bad", "ok", "wait", "run", "hold", "cyan", undefined];
const FILLS: (Ink | undefined)[] = ["idle", "bad", "ok", "wait", "run", "hold", "cyan", "idle"];

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
const COLOURS = /\u001b\[([\d;:]*)m/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const CONTROLS = new RegExp(CONTROL, "g");

/** True if a text has characters that a terminal or the direction of writing would interpret. */
export function hasControls(text: string): boolean {
  return CONTROL.test(text);
}

/**
 * Returns a text in which what a terminal or the direction of writing would interpret is seen: the escape
 * character is "\\x1b", and an override of the direction is "⟨U+202E⟩". Tabs and line ends stay.
 */
export function visible(text: string): string {
  return text.replace(CONTROLS, (found) => {
    const code = found.charCodeAt(0);
    if (code < 0xa0) return `\\x${code.toString(16).padStart(2, "0")}`;
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

/** Returns a JSON text in which what the direction of writing would interpret is an escape, such as "\\u202e". */
export function escaped(json: string): string {
  return json.replace(CONTROLS, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Splits a text by its ANSI colours. All other sequences, such as links and moves of the cursor, are shown as text. */
export function ansiSpans(text: string): Span[] {
  const spans: Span[] = [];
  let look: Look = {};
  let from = 0;
  const add = (piece: string) => {
    if (piece) spans.push({ text: visible(piece), ...look });
  };
  for (const found of text.matchAll(COLOURS)) {
    add(text.slice(from, found.index));
    look = changed(look, found[1] ?? "");
    from = found.index + found[0].length;
  }
  add(text.slice(from).replace(/\r$/, ""));
  return spans;
}

/** Returns a text without its colours, as searches and downloads have it. */
export function plain(text: string): string {
  return visible(text.replace(COLOURS, "").replace(/\r$/, ""));
}

function changed(look: Look, parameters: string): Look {
  const codes = parameters.split(/[;:]/).map((each) => Number(each) || 0);
  let next = { ...look };
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0;
    if (code === 0) next = {};
    else if (code === 1) next.bold = true;
    else if (code === 2) next.ink = "faint";
    else if (code === 3) next.italic = true;
    else if (code === 4) next.underlined = true;
    else if (code === 22) next.bold = undefined;
    else if (code === 23) next.italic = undefined;
    else if (code === 24) next.underlined = undefined;
    else if (code === 39) next.ink = undefined;
    else if (code === 49) next.fill = undefined;
    else if (code === 38 || code === 48) {
      const [basic, used] = extended(codes.slice(at + 1));
      at += used;
      if (code === 38) next.ink = INKS[basic];
      else next.fill = FILLS[basic];
    } else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) next.ink = INKS[code % 10];
    else if ((code >= 40 && code <= 47) || (code >= 100 && code <= 107)) next.fill = FILLS[code % 10];
  }
  return next;
}

/** Returns the nearest of the eight colours for one of 256 or of 16 million, and how many parameters it took. */
function extended([kind, first = 0, second = 0, third = 0]: number[]): [basic: number, used: number] {
  if (kind === 2) return [nearest(first, second, third), 4];
  if (kind !== 5) return [7, 1];
  if (first < 16) return [first % 8, 2];
  if (first >= 232) return [first < 244 ? 0 : 7, 2];
  const level = (value: number) => (value % 6) * 51;
  const cube = first - 16;
  return [nearest(level(Math.floor(cube / 36)), level(Math.floor(cube / 6)), level(cube)), 2];
}

function nearest(red: number, green: number, blue: number): number {
  const high = Math.max(red, green, blue);
  if (high - Math.min(red, green, blue) < 48) return high < 128 ? 0 : 7;
  const half = high * 0.6;
  return (red > half ? 1 : 0) + (green > half ? 2 : 0) + (blue > half ? 4 : 0);
}
