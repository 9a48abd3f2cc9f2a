/** Where a value stands in a text. */
export interface Span {
  from: number;
  to: number;
}

/** Returns the place of each value of a JSON text by its path, such as `rules[0].executor`; the whole text has the
 *  empty path. A text that is malformed has the places of the values in front of the fault. */
export function spansOf(text: string): Map<string, Span> {
  const spans = new Map<string, Span>();
  const reader = new Reader(text, spans);
  try {
    reader.value("");
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
  }
  return spans;
}

class Malformed extends Error {}

class Reader {
  private at = 0;
  private readonly text: string;
  private readonly spans: Map<string, Span>;

  constructor(text: string, spans: Map<string, Span>) {
    this.text = text;
    this.spans = spans;
  }

  value(path: string): void {
    this.take(/[\s]*/y);
    const from = this.at;
    // Known from its beginning on, so that an object which is not closed has a place.
    this.spans.set(path, { from, to: this.text.length });
    if (this.skip("{")) {
      this.entries("}", () => {
        const name: unknown = JSON.parse(this.take(STRING));
        this.take(/\s*:/y);
        this.value(path === "" ? String(name) : `${path}.${name}`);
      });
    } else if (this.skip("[")) {
      let index = 0;
      this.entries("]", () => this.value(`${path}[${index++}]`));
    } else this.take(SCALAR);
    this.spans.set(path, { from, to: this.at });
  }

  private entries(end: string, entry: () => void): void {
    if (this.skip(end)) return;
    for (;;) {
      this.take(/\s*/y);
      entry();
      if (this.skip(end)) return;
      if (!this.skip(",")) throw new Malformed();
    }
  }

  private skip(mark: string): boolean {
    this.take(/\s*/y);
    if (!this.text.startsWith(mark, this.at)) return false;
    this.at += mark.length;
    return true;
  }

  private take(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found === undefined) throw new Malformed();
    this.at += found.length;
    return found;
  }
}

const STRING = /"(?:[^"\\\n]|\\.)*"/y;
const SCALAR = /"(?:[^"\\\n]|\\.)*"|-?[\d.]+(?:[eE][+-]?\d+)?|true|false|null/y;
