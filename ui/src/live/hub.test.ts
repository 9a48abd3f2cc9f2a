import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LINGER, MAX_STREAMS, POLL_INTERVAL, StreamHub } from "./hub";
import { ALL_RUNS, type FromHub, runTopic } from "./messages";

class Server {
  readonly open = new Map<string, ReadableStreamDefaultController<Uint8Array>>();
  readonly urls: string[] = [];

  /** Serves as many streams as it can. */
  full = false;

  readonly fetch = async (url: unknown, init?: RequestInit) => {
    this.urls.push(String(url));
    if (this.full) return new Response("{}", { status: 429 });
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.open.set(String(url), controller);
        init?.signal?.addEventListener("abort", () => {
          this.open.delete(String(url));
          controller.error(new DOMException("aborted", "AbortError"));
        });
      },
    });
    return new Response(stream);
  };

  say(url: string, text: string): void {
    this.open.get(url)?.enqueue(new TextEncoder().encode(text));
  }
}

describe("StreamHub", () => {
  let server: Server;
  let hub: StreamHub;
  const heard = new Map<string, FromHub[]>();
  const join = (tab: string) => {
    heard.set(tab, []);
    hub.join(tab, (message) => heard.get(tab)?.push(message));
  };
  const settle = (time = 0) => vi.advanceTimersByTimeAsync(time);

  beforeEach(() => {
    vi.useFakeTimers();
    server = new Server();
    hub = new StreamHub("/ops", server.fetch as typeof fetch);
  });

  afterEach(() => {
    hub.close();
    vi.useRealTimers();
  });

  it("opens one stream for many tabs, and each hears every event", async () => {
    for (let number = 0; number < 12; number++) {
      join(`tab ${number}`);
      hub.receive(`tab ${number}`, { type: "subscribe", topic: ALL_RUNS });
    }
    await settle();
    server.say("/ops/api/v1/events", "id: 1\nevent: run\ndata: {}\n\n");
    await settle();
    expect(server.urls).toEqual(["/ops/api/v1/events"]);
    for (const messages of heard.values()) {
      expect(messages.filter((each) => each.type === "event")).toHaveLength(1);
    }
  });

  it("tells a tab that comes later that the stream is open", async () => {
    join("first");
    hub.receive("first", { type: "subscribe", topic: ALL_RUNS });
    await settle();
    join("second");
    hub.receive("second", { type: "subscribe", topic: ALL_RUNS });
    expect(heard.get("second")).toEqual([{ type: "status", topic: ALL_RUNS, status: "open" }]);
  });

  it("closes a stream some time after its last subscriber has left", async () => {
    join("tab");
    hub.receive("tab", { type: "subscribe", topic: ALL_RUNS });
    await settle();
    hub.leave("tab");
    await settle(LINGER - 100);
    expect(server.open.size).toBe(1);
    await settle(200);
    expect(server.open.size).toBe(0);
  });

  it("keeps the stream of a page that comes back at once", async () => {
    join("tab");
    hub.receive("tab", { type: "subscribe", topic: ALL_RUNS });
    await settle();
    hub.receive("tab", { type: "unsubscribe", topic: ALL_RUNS });
    await settle(100);
    hub.receive("tab", { type: "subscribe", topic: ALL_RUNS });
    await settle(LINGER * 2);
    expect(server.urls).toHaveLength(1);
    expect(server.open.size).toBe(1);
  });

  it("polls topics for which no connection is left, and opens their stream once there is one", async () => {
    join("tab");
    for (let number = 0; number <= MAX_STREAMS; number++) {
      hub.receive("tab", { type: "subscribe", topic: runTopic(`r${number}`) });
    }
    await settle(POLL_INTERVAL + 100);
    expect(server.open.size).toBe(MAX_STREAMS);
    const last = runTopic(`r${MAX_STREAMS}`);
    expect(heard.get("tab")).toContainEqual({ type: "status", topic: last, status: "refused" });
    expect(heard.get("tab")).toContainEqual({ type: "poll", topic: last });
    hub.receive("tab", { type: "unsubscribe", topic: runTopic("r0") });
    await settle(LINGER + POLL_INTERVAL + 100);
    expect(server.open.has(`/ops${runTopic(`r${MAX_STREAMS}`)}`)).toBe(true);
  });

  it("polls a topic that the server refuses, until its stream is open", async () => {
    server.full = true;
    join("tab");
    hub.receive("tab", { type: "subscribe", topic: runTopic("r") });
    const polls = () => heard.get("tab")?.filter((each) => each.type === "poll").length ?? 0;
    await settle(POLL_INTERVAL * 3 + 100);
    expect(heard.get("tab")).toContainEqual({ type: "status", topic: runTopic("r"), status: "refused" });
    expect(polls()).toBe(3);
    server.full = false;
    hub.receive("tab", { type: "retry" });
    await settle(100);
    expect(heard.get("tab")?.at(-1)).toEqual({ type: "status", topic: runTopic("r"), status: "open" });
    await settle(POLL_INTERVAL * 2);
    expect(polls()).toBe(3);
  });
});
