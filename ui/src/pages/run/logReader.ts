import type { Schemas } from "@/api/client";
import { isTrouble, type LogLine, Places } from "./lines";

/** Pages of 1,000 lines of a log that is complete which are read at once; more on demand. */
const MAX_PAGES = 20;
/** Lines that a page keeps. The oldest are dropped beyond it, in pieces: a log may be written for days. */
const MAX_LINES = 60_000;
const DROPPED_AT_ONCE = 10_000;
/** Milliseconds for which lines of the stream are collected. */
const COLLECTION_INTERVAL = 80;

type Read = (cursor: string | undefined, signal: AbortSignal) => Promise<Schemas["LogPage"]>;

export interface LogStatus {
  /** Goes up with every change of the lines. */
  version: number;
  /** `reading` until the pages are read, `more` if there are more than are read at once; `end`: a stream can go on. */
  state: "reading" | "more" | "end";
  error: unknown;
}

/** The lines of a log in the order in which they were stored, each once. Only lines that are new are looked at. */
export class LogBuffer {
  lines: LogLine[] = [];
  /** How many of the first lines were dropped. */
  dropped = 0;
  /** Goes up when lines get other places: some were dropped, or came late. */
  generation = 0;
  /** The last that a task said of how far it is, as JSON. */
  progress: string | undefined;
  /** The id of the last line, of any kind. */
  last = 0;
  /** The places of lines that look like an error. */
  readonly troubles = new Places(isTrouble);
  private readonly max: number;

  constructor(max = MAX_LINES) {
    this.max = max;
  }

  /** Adds lines; those that are known are left out. True if any was new. */
  add(given: readonly LogLine[]): boolean {
    let news = false;
    for (const line of given) news = (line.id > this.last ? this.append(line) : this.insert(line)) || news;
    if (this.lines.length > this.max) {
      const count = this.lines.length - this.max + Math.min(DROPPED_AT_ONCE, this.max / 2);
      this.lines = this.lines.slice(count);
      this.dropped += count;
      this.rearranged();
    }
    this.troubles.extend(this.lines);
    return news;
  }

  private append(line: LogLine): boolean {
    this.last = line.id;
    if (line.stream === "progress") this.progress = line.text;
    else this.lines.push(line);
    return true;
  }

  /** Inserts a line that came late: another tab's stream, which this one has joined, was ahead of what was read. */
  private insert(line: LogLine): boolean {
    if (line.stream === "progress") return false;
    let [low, high] = [0, this.lines.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.lines[middle]?.id ?? 0) < line.id) low = middle + 1;
      else high = middle;
    }
    if (this.lines[low]?.id === line.id || (low === 0 && this.dropped > 0)) return false;
    this.lines.splice(low, 0, line);
    this.rearranged();
    return true;
  }

  private rearranged(): void {
    this.generation++;
    this.troubles.clear();
  }
}

/** Reads the stored lines of a log page by page, and goes on behind the last one; a stream may append lines meanwhile. */
export class LogReader {
  readonly buffer: LogBuffer;
  private status: LogStatus = { version: 0, state: "reading", error: null };
  private readonly read: Read;
  private readonly maxPages: number;
  private readonly listeners = new Set<() => void>();
  private abort: AbortController | null = null;
  private cursor: string | undefined;
  private pages = 0;
  private live = false;
  private isReading = false;
  private again = false;
  private collected: LogLine[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(read: Read, { maxPages = MAX_PAGES, buffer = new LogBuffer() } = {}) {
    this.read = read;
    this.maxPages = maxPages;
    this.buffer = buffer;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly snapshot = (): LogStatus => this.status;

  /** Begins to read. A log that is `live` is read to its end, where a stream can go on, however long it is. */
  open(live: boolean): void {
    this.live = live;
    this.abort = new AbortController();
    this.isReading = false;
    void this.readOn();
  }

  close(): void {
    this.abort?.abort();
    this.abort = null;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.collected = [];
  }

  /** Reads what was stored since; during a reading, once more after it. */
  async readOn(): Promise<void> {
    const { abort } = this;
    if (abort === null) return;
    if (this.isReading) {
      this.again = true;
      return;
    }
    this.isReading = true;
    try {
      do {
        this.again = false;
        await this.readPages(abort.signal);
      } while (this.again && !abort.signal.aborted);
    } catch (error) {
      if (!abort.signal.aborted) this.change({ error });
    } finally {
      if (this.abort === abort) this.isReading = false;
    }
  }

  /** Reads as many pages once more as are read at once. */
  async readMore(): Promise<void> {
    this.pages = 0;
    this.change({ state: "reading" });
    await this.readOn();
  }

  /** Appends a line of the stream, with others that come at about the same time. */
  append(line: LogLine): void {
    this.collected.push(line);
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      const lines = this.collected;
      this.collected = [];
      if (this.buffer.add(lines)) this.change({});
    }, COLLECTION_INTERVAL);
  }

  /** Returns all lines from the first one on, with those that are not kept here. */
  async all(): Promise<LogLine[]> {
    const found = new LogBuffer(Number.POSITIVE_INFINITY);
    let cursor: string | undefined;
    do {
      const page = await this.read(cursor, new AbortController().signal);
      found.add(page.lines);
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
    return found.lines;
  }

  private async readPages(signal: AbortSignal): Promise<void> {
    // Behind lines of a stream the rest is read whole: none may be missing between them.
    const bounded = !this.live && this.status.state !== "end";
    for (;;) {
      if (bounded && this.pages >= this.maxPages) return this.change({ state: "more" });
      const page = await this.read(this.cursor, signal);
      if (signal.aborted) return;
      const news = this.buffer.add(page.lines);
      if (!page.next) {
        if (news || this.status.state !== "end" || this.status.error !== null)
          this.change({ state: "end", error: null });
        return;
      }
      // The last page is read again the next time, from the same cursor: it may have got lines since.
      this.cursor = page.next;
      this.pages++;
      this.change({ error: null });
    }
  }

  private change(what: Partial<LogStatus>): void {
    this.status = { ...this.status, ...what, version: this.status.version + 1 };
    for (const listener of this.listeners) listener();
  }
}

/** Returns a position of a run's events, such as "0198…:9.0.0", behind a log line. */
export function behindLine(position: string | undefined, line: number): string | undefined {
  return position?.replace(/\.\d+$/, `.${line}`);
}
