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
  private readonly statuses = new Map<Topic, StreamStatus>();
  private readonly onChange: () => void;
  private transport: Transport | null = null;

  /** `onChange`: a topic has another status. */
  constructor(root: string, onChange: () => void = () => {}) {
    this.root = root;
    this.onChange = onChange;
  }

  /** True if a topic of this tab has no stream, and is read again now and then. */
  get polls(): boolean {
    return [...this.statuses.values()].some((each) => each === "refused" || each === "lost");
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
      if (this.statuses.delete(topic)) this.onChange();
      this.transport?.send({ type: "unsubscribe", topic });
    };
  }

  private subscribeAgain(): void {
    for (const topic of this.topics.keys()) this.transport?.send({ type: "subscribe", topic });
  }

  private receive(message: FromHub): void {
    if (message.type === "status" && this.topics.has(message.topic)) this.note(message.topic, message.status);
    for (const listener of [...(this.topics.get(message.topic) ?? [])]) {
      if (message.type === "event") {
        if (message.event.event === "reset") listener.onStale?.();
        listener.onEvent?.(message.event);
      } else if (message.type === "poll") listener.onStale?.();
      else listener.onStatus?.(message.status);
    }
  }

  private note(topic: Topic, status: StreamStatus): void {
    // A stream that connects again has been refused, or lost, until it is open.
    if (status === "connecting" && this.statuses.has(topic)) return;
    this.statuses.set(topic, status);
    this.onChange();
  }
}
