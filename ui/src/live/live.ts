import type { FromHub, Topic } from "./messages";
import type { SseEvent } from "./sse";
import type { StreamStatus } from "./stream";
import { connect, type Transport } from "./transport";

/** What a subscriber hears of its topic: events, or that it has to read again what it shows. */
export interface Listener {
  onEvent?(event: SseEvent): void;
  /** Events may have been missed: the stream is new, or there is none for this topic. */
  onStale?(): void;
  onStatus?(status: StreamStatus): void;
}

/** The streams of this tab. Subscriptions of several components to one topic are one subscription of the tab. */
export class Live {
  private readonly root: string;
  private readonly topics = new Map<Topic, Set<Listener>>();
  private transport: Transport | null = null;

  constructor(root: string) {
    this.root = root;
  }

  open(): void {
    if (this.transport !== null) return;
    this.transport = connect(
      this.root,
      (message) => this.receive(message),
      () => this.subscribeAgain(),
    );
    this.subscribeAgain();
  }

  close(): void {
    this.transport?.close();
    this.transport = null;
  }

  /** Connects streams at once that wait: after a sign-in, or when the network is back. */
  retry(): void {
    this.transport?.send({ type: "retry" });
  }

  subscribe(topic: Topic, listener: Listener, lastEventId?: string): () => void {
    let listeners = this.topics.get(topic);
    if (listeners === undefined) {
      listeners = new Set();
      this.topics.set(topic, listeners);
    }
    listeners.add(listener);
    this.transport?.send({ type: "subscribe", topic, lastEventId });
    return () => {
      listeners.delete(listener);
      if (listeners.size > 0 || this.topics.get(topic) !== listeners) return;
      this.topics.delete(topic);
      this.transport?.send({ type: "unsubscribe", topic });
    };
  }

  private subscribeAgain(): void {
    for (const topic of this.topics.keys()) this.transport?.send({ type: "subscribe", topic });
  }

  private receive(message: FromHub): void {
    for (const listener of [...(this.topics.get(message.topic) ?? [])]) {
      if (message.type === "event") {
        if (message.event.event === "reset") listener.onStale?.();
        listener.onEvent?.(message.event);
      } else if (message.type === "poll") listener.onStale?.();
      else listener.onStatus?.(message.status);
    }
  }
}
