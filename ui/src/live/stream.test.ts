import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { SseEvent } from "./sse";
import { EventStream, MAX_BACKOFF, SILENCE_TIMEOUT, type StreamStatus } from "./stream";

type Body = { push(text: string): void; end(): void };

class Server {
  readonly requests: (string | null)[] = [];
  readonly bodies: Body[] = [];
  status = 200;

  readonly fetch = vi.fn(async (_url: unknown, init?: RequestInit) => {
    this.requests.push(new Headers(init?.headers).get("Last-Event-ID"));
    if (this.status === 0) throw new TypeError("refused");
    let body: Body | undefined;
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        const encoder = new TextEncoder();
        body = { push: (text) => controller.enqueue(encoder.encode(text)), end: () => controller.close() };
      },
    });
    if (body) this.bodies.push(body);
    return new Response(stream, { status: this.status });
  });
}

describe("EventStream", () => {
  let server: Server;
  let events: SseEvent[];
  let statuses: StreamStatus[];
  let stream: EventStream;

  const start = () => {
    stream = new EventStream({
      url: "/api/v1/events",
      fetch: server.fetch as unknown as typeof fetch,
      onEvent: (event) => events.push(event),
      onStatus: (status) => statuses.push(status),
    });
  };
  const settle = (time = 0) => vi.advanceTimersByTimeAsync(time);

  beforeEach(() => {
    vi.useFakeTimers();
    server = new Server();
    events = [];
    statuses = [];
  });

  afterEach(() => {
    stream.close();
    vi.useRealTimers();
  });

  it("connects again behind the last event when the server ends the stream", async () => {
    start();
    await settle();
    server.bodies[0]?.push("id: 41\nevent: run\ndata: {}\n\nid: 42\nevent: run\ndata: {}\n\n");
    server.bodies[0]?.end();
    await settle(2_000);
    expect(events).toHaveLength(2);
    expect(server.requests).toEqual([null, "42"]);
    expect(statuses).toEqual(["connecting", "open", "lost", "connecting", "open"]);
  });

  it("waits longer after each failure, up to a bound, and goes on when the server is back", async () => {
    server.status = 0;
    start();
    await settle(120_000);
    const failed = server.requests.length;
    expect(failed).toBeGreaterThan(6);
    expect(failed).toBeLessThan(20);
    server.status = 200;
    await settle(MAX_BACKOFF * 1.25);
    expect(statuses.at(-1)).toBe("open");
  });

  it("waits for a sign-in when the session is over, and goes on at once after it", async () => {
    server.status = 401;
    start();
    await settle(1_000);
    expect(statuses).toEqual(["connecting", "denied"]);
    server.status = 200;
    stream.retry();
    await settle();
    expect(statuses.at(-1)).toBe("open");
  });

  it("is denied when the server says that the token was revoked", async () => {
    start();
    await settle();
    server.bodies[0]?.push('event: closed\ndata: {"reason":"revoked"}\n\n');
    await settle();
    expect(statuses.at(-1)).toBe("denied");
  });

  it("gives a position up that the server refuses", async () => {
    start();
    await settle();
    server.bodies[0]?.push("id: 9\nevent: run\ndata: {}\n\n");
    server.bodies[0]?.end();
    await settle();
    server.status = 400;
    await settle(1_000);
    server.status = 200;
    await settle(5_000);
    expect(server.requests).toEqual([null, "9", null]);
  });

  it("gives a connection up that is silent", async () => {
    start();
    await settle();
    await settle(SILENCE_TIMEOUT + 5_000);
    expect(server.requests.length).toBe(2);
  });

  it("ends with the run", async () => {
    start();
    await settle();
    server.bodies[0]?.push('event: end\ndata: {"state":"completed"}\n\n');
    await settle(60_000);
    expect(server.requests).toEqual([null]);
    expect(events.map((each) => each.event)).toEqual(["end"]);
  });
});
