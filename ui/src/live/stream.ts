import { type SseEvent, SseParser } from "./sse";

/**
 * What a stream is doing: `lost` and `refused` wait before the next connection, `denied` waits for a sign-in. The server
 * has answered a stream that is refused: it serves as many as it can.
 */
export type StreamStatus = "connecting" | "open" | "lost" | "refused" | "denied";
type End = Extract<StreamStatus, "lost" | "refused" | "denied">;

export interface StreamOptions {
  url: string;
  fetch: typeof fetch;
  onEvent(event: SseEvent): void;
  onStatus(status: StreamStatus): void;
  /** The position to start behind. */
  lastEventId?: string;
}

export const FIRST_BACKOFF = 500;
export const MAX_BACKOFF = 15_000;
/** The server sends a comment every 15 s: a stream that is silent for longer is dead. */
export const SILENCE_TIMEOUT = 45_000;

/** Follows one stream of events and connects again behind the last event, until it is closed. */
export class EventStream {
  private readonly options: StreamOptions;
  private lastEventId: string | undefined;
  private abort = new AbortController();
  private backoff = FIRST_BACKOFF;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private closed = false;

  constructor(options: StreamOptions) {
    this.options = options;
    this.lastEventId = options.lastEventId;
    void this.connect();
  }

  /** Connects now: after a sign-in, or when the network is back. */
  retry(): void {
    if (this.closed || this.timer === undefined) return;
    this.backoff = FIRST_BACKOFF;
    void this.connect();
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    this.abort.abort();
  }

  private async connect(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.abort = new AbortController();
    this.options.onStatus("connecting");
    let end: End = "lost";
    try {
      end = await this.follow(this.abort.signal);
    } catch {
      // The connection failed or ended; its end is no news beyond that.
    }
    if (this.closed) return;
    this.options.onStatus(end);
    // A denied stream asks again now and then too: the sign-in may happen in another browser tab.
    const delay = end === "denied" ? MAX_BACKOFF : this.backoff * (0.75 + Math.random() / 2);
    this.backoff = Math.min(this.backoff * 2, MAX_BACKOFF);
    this.timer = setTimeout(() => void this.connect(), delay);
  }

  private async follow(signal: AbortSignal): Promise<End> {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (this.lastEventId !== undefined) headers["Last-Event-ID"] = this.lastEventId;
    const answer = await this.options.fetch(this.options.url, {
      headers,
      signal,
      credentials: "same-origin",
      cache: "no-store",
    });
    if (answer.status === 401 || answer.status === 403) return "denied";
    if (answer.status === 400) this.lastEventId = undefined; // a position that this server does not know
    if (!answer.ok || answer.body === null) return "refused";
    this.options.onStatus("open");
    this.backoff = FIRST_BACKOFF;
    return await this.read(answer.body);
  }

  private async read(body: ReadableStream<Uint8Array>): Promise<End> {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    const parser = new SseParser();
    for (;;) {
      const { done, value } = await this.beforeSilence(reader.read());
      if (done) return "lost";
      for (const event of parser.push(decoder.decode(value, { stream: true }))) {
        if (event.id !== undefined) this.lastEventId = event.id;
        if (event.retry !== undefined) this.backoff = Math.max(event.retry, FIRST_BACKOFF);
        if (event.event === "closed" && event.data.includes('"revoked"')) return "denied";
        this.options.onEvent(event);
        if (event.event === "end") this.closed = true; // the run has ended, and no event follows
      }
      if (this.closed) return "lost";
    }
  }

  private async beforeSilence<T>(read: Promise<T>): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const silence = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(new Error("the stream is silent"));
        this.abort.abort();
      }, SILENCE_TIMEOUT);
    });
    try {
      return await Promise.race([read, silence]);
    } finally {
      clearTimeout(timer);
    }
  }
}
