import type { FromHub, ToHub, Topic } from "./messages";
import { EventStream, type StreamStatus } from "./stream";

/** A browser opens six connections to one host: these many are streams, and the others answer requests. */
export const MAX_STREAMS = 4;
/** Milliseconds between two signals to topics that have no stream. */
export const POLL_INTERVAL = 3_000;
/** Milliseconds that a stream stays open without a subscriber: pages come and go. */
export const LINGER = 5_000;

export type Send = (message: FromHub) => void;

interface Channel {
  stream: EventStream | null;
  status: StreamStatus;
  lastEventId: string | undefined;
  tabs: Set<string>;
  timer: ReturnType<typeof setTimeout> | undefined;
  /** Signals to read again while the stream brings nothing. */
  polls: ReturnType<typeof setInterval> | undefined;
}

/** Holds one stream per topic for all tabs of a browser. */
export class StreamHub {
  private readonly root: string;
  private readonly fetch: typeof fetch;
  private readonly tabs = new Map<string, Send>();
  private readonly channels = new Map<Topic, Channel>();

  constructor(root: string, fetcher: typeof fetch) {
    this.root = root;
    this.fetch = fetcher;
  }

  join(tab: string, send: Send): void {
    this.tabs.set(tab, send);
  }

  leave(tab: string): void {
    this.tabs.delete(tab);
    for (const topic of [...this.channels.keys()]) this.unsubscribe(tab, topic);
  }

  receive(tab: string, message: ToHub): void {
    if (message.type === "subscribe") this.subscribe(tab, message.topic, message.lastEventId);
    else if (message.type === "unsubscribe") this.unsubscribe(tab, message.topic);
    else if (message.type === "leave") this.leave(tab);
    else if (message.type === "retry") for (const each of this.channels.values()) each.stream?.retry();
  }

  /** Ends all streams. */
  close(): void {
    for (const channel of this.channels.values()) this.end(channel);
    this.channels.clear();
    this.tabs.clear();
  }

  private subscribe(tab: string, topic: Topic, lastEventId: string | undefined): void {
    let channel = this.channels.get(topic);
    if (channel === undefined) {
      channel = {
        stream: null,
        status: "connecting",
        lastEventId,
        tabs: new Set(),
        timer: undefined,
        polls: undefined,
      };
      this.channels.set(topic, channel);
    } else if (channel.tabs.size === 0 && channel.stream !== null) {
      clearTimeout(channel.timer);
      channel.timer = undefined;
    }
    channel.tabs.add(tab);
    if (channel.stream !== null || channel.timer !== undefined)
      this.tabs.get(tab)?.({ type: "status", topic, status: channel.status });
    else this.open(topic, channel);
  }

  private open(topic: Topic, channel: Channel): void {
    const open = [...this.channels.values()].filter((each) => each.stream !== null).length;
    if (open >= MAX_STREAMS) {
      if (channel.status !== "refused") this.changed(topic, channel, "refused");
      channel.timer = setTimeout(() => this.poll(topic, channel), POLL_INTERVAL);
      return;
    }
    channel.timer = undefined;
    channel.stream = new EventStream({
      url: this.root + topic,
      fetch: this.fetch,
      lastEventId: channel.lastEventId,
      onEvent: (event) => this.send(channel, { type: "event", topic, event }),
      onStatus: (status) => {
        this.changed(topic, channel, status);
        if (status === "lost" || status === "refused") {
          channel.polls ??= setInterval(() => this.send(channel, { type: "poll", topic }), POLL_INTERVAL);
        } else if (status !== "connecting") this.endPolls(channel);
      },
    });
  }

  private changed(topic: Topic, channel: Channel, status: StreamStatus): void {
    channel.status = status;
    this.send(channel, { type: "status", topic, status });
  }

  private endPolls(channel: Channel): void {
    clearInterval(channel.polls);
    channel.polls = undefined;
  }

  private poll(topic: Topic, channel: Channel): void {
    this.send(channel, { type: "poll", topic });
    this.open(topic, channel); // a stream may have become free
  }

  private unsubscribe(tab: string, topic: Topic): void {
    const channel = this.channels.get(topic);
    if (channel === undefined || !channel.tabs.delete(tab) || channel.tabs.size > 0) return;
    clearTimeout(channel.timer);
    if (channel.stream === null) {
      this.channels.delete(topic);
      return;
    }
    channel.timer = setTimeout(() => {
      this.end(channel);
      this.channels.delete(topic);
    }, LINGER);
  }

  private end(channel: Channel): void {
    clearTimeout(channel.timer);
    this.endPolls(channel);
    channel.stream?.close();
    channel.stream = null;
  }

  private send(channel: Channel, message: FromHub): void {
    for (const tab of channel.tabs) this.tabs.get(tab)?.(message);
  }
}
