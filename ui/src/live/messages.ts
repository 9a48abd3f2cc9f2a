import type { SseEvent } from "./sse";
import type { StreamStatus } from "./stream";

/** The path of a stream of events below the root, such as "/api/v1/events". */
export type Topic = string;

/** What a tab sends to the hub. */
export type ToHub =
  | { type: "subscribe"; topic: Topic; lastEventId?: string }
  | { type: "unsubscribe"; topic: Topic }
  | { type: "retry" }
  | { type: "leave" }
  | { type: "join"; lock: string };

/** What the hub sends to a tab. `poll` stands for a topic that has no connection of its own: read it again. */
export type FromHub =
  | { type: "event"; topic: Topic; event: SseEvent }
  | { type: "status"; topic: Topic; status: StreamStatus }
  | { type: "poll"; topic: Topic };

/** The topic of the changes of all runs. */
export const ALL_RUNS: Topic = "/api/v1/events";

/** Returns the topic of everything that happens in one run. */
export function runTopic(id: string): Topic {
  return `/api/v1/runs/${encodeURIComponent(id)}/events`;
}
