import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { LogLine } from "./lines";
import { behindLine, LogBuffer, LogReader } from "./logReader";

const line = (id: number, text = `line ${id}`, stream = "stdout"): LogLine => ({
  id,
  task: "t",
  attempt: 1,
  stream,
  at: 0,
  text,
});
const ids = (buffer: LogBuffer) => buffer.lines.map((each) => each.id);

describe("LogBuffer", () => {
  it("has each line once and in order, progress apart", () => {
    const buffer = new LogBuffer();
    expect(buffer.add([line(1), line(2, "ValueError: x"), line(3, '{"done":1}', "progress")])).toBe(true);
    expect(buffer.add([line(2), line(3, "{}", "progress"), line(5)])).toBe(true);
    expect(buffer.add([line(5)])).toBe(false);
    expect([ids(buffer), buffer.progress, buffer.last]).toEqual([[1, 2, 5], '{"done":1}', 5]);
    expect(buffer.troubles.found).toEqual([1]);
  });

  it("inserts lines that come late in their place", () => {
    const buffer = new LogBuffer();
    buffer.add([line(1), line(6, "error"), line(8)]);
    expect(buffer.add([line(1), line(3), line(4, "{}", "progress"), line(6), line(7)])).toBe(true);
    expect([ids(buffer), buffer.troubles.found, buffer.generation]).toEqual([[1, 3, 6, 7, 8], [2], 2]);
  });

  it("drops the oldest lines beyond its bound, and the places of errors follow", () => {
    const buffer = new LogBuffer(4);
    buffer.add([line(1), line(2), line(3), line(4), line(5, "error")]);
    expect([ids(buffer), buffer.dropped, buffer.troubles.found]).toEqual([[4, 5], 3, [1]]);
  });
});

describe("LogReader", () => {
  /** A stored log with two lines per page; a cursor is the id of the last line before its page. */
  class Log {
    stored: LogLine[] = [];
    asked: (string | undefined)[] = [];
    refusal: Error | null = null;
    read = async (cursor: string | undefined) => {
      this.asked.push(cursor);
      if (this.refusal) throw this.refusal;
      const lines = this.stored.filter((each) => each.id > Number(cursor ?? 0)).slice(0, 2);
      return { lines, next: lines.length === 2 ? String(lines[1]?.id) : null };
    };
    write(...numbers: number[]) {
      this.stored.push(...numbers.map((each) => line(each)));
    }
  }
  let log: Log;
  let reader: LogReader;
  const settle = (time = 0) => vi.advanceTimersByTimeAsync(time);

  beforeEach(() => {
    vi.useFakeTimers();
    log = new Log();
    reader = new LogReader(log.read, { maxPages: 2 });
  });

  afterEach(() => {
    reader.close();
    vi.useRealTimers();
  });

  it("reads to the end, and later from its last page on only", async () => {
    log.write(1, 2, 3);
    reader.open(false);
    await settle();
    expect([ids(reader.buffer), reader.snapshot().state]).toEqual([[1, 2, 3], "end"]);
    log.write(4, 5);
    log.asked = [];
    await reader.readOn();
    expect(ids(reader.buffer)).toEqual([1, 2, 3, 4, 5]);
    expect(log.asked).toEqual(["2", "4"]);
  });

  it("stops after some pages, and goes on when it is asked to", async () => {
    log.write(1, 2, 3, 4, 5);
    reader.open(false);
    await settle();
    expect([ids(reader.buffer), reader.snapshot().state]).toEqual([[1, 2, 3, 4], "more"]);
    await reader.readMore();
    expect([ids(reader.buffer), reader.snapshot().state]).toEqual([[1, 2, 3, 4, 5], "end"]);
    expect((await reader.all()).map((each) => each.id)).toEqual([1, 2, 3, 4, 5]);
  });

  it("reads a log that is being written to its end", async () => {
    log.write(1, 2, 3, 4, 5, 6, 7);
    reader.open(true);
    await settle();
    expect([reader.buffer.last, reader.snapshot().state]).toEqual([7, "end"]);
  });

  it("appends what a stream brings, once and together", async () => {
    log.write(1);
    reader.open(false);
    await settle();
    const before = reader.snapshot().version;
    for (const id of [1, 2, 3, 3]) reader.append(line(id));
    await settle(100);
    expect(ids(reader.buffer)).toEqual([1, 2, 3]);
    expect(reader.snapshot().version).toBe(before + 1);
  });

  it("keeps what it has when a reading fails, and the next one goes on", async () => {
    log.write(1, 2);
    log.refusal = new Error("away");
    reader.open(false);
    await settle();
    expect(reader.snapshot()).toMatchObject({ error: log.refusal, state: "reading" });
    log.refusal = null;
    await reader.readOn();
    expect([ids(reader.buffer), reader.snapshot()]).toMatchObject([[1, 2], { error: null, state: "end" }]);
  });

  it("reads once more if it is asked during a reading", async () => {
    reader.open(false);
    const asked = reader.readOn();
    await settle();
    await asked;
    expect(log.asked).toHaveLength(2);
  });
});

describe("behindLine", () => {
  it("is the position behind a line", () => {
    expect(behindLine("0198c3f0-0000-7000-8000-000000000000:9.1.0", 17)).toBe(
      "0198c3f0-0000-7000-8000-000000000000:9.1.17",
    );
    expect(behindLine(undefined, 17)).toBeUndefined();
  });
});
