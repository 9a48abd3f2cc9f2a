import { StreamHub } from "./hub";
import type { FromHub, ToHub } from "./messages";

/** The way from a tab to the hub, which is in a shared worker, in another tab or in this one. */
export interface Transport {
  send(message: ToHub): void;
  close(): void;
}

type Receive = (message: FromHub) => void;

/** Connects this tab to the hub of its browser. `onRestart`: the hub has moved, so that subscriptions are sent again. */
export function connect(root: string, receive: Receive, onRestart: () => void): Transport {
  if (typeof SharedWorker !== "undefined") return sharedWorker(root, receive);
  if (typeof BroadcastChannel !== "undefined" && navigator.locks) return electedTab(root, receive, onRestart);
  return ownHub(root, receive);
}

function sharedWorker(root: string, receive: Receive): Transport {
  const worker = new SharedWorker(new URL("./shared.worker.ts", import.meta.url), {
    type: "module",
    name: `turnout:${root}`,
  });
  worker.port.onmessage = (event: MessageEvent<FromHub>) => receive(event.data);
  worker.port.start();
  const lock = `turnout-tab-${crypto.randomUUID()}`;
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  void navigator.locks?.request(lock, () => {
    worker.port.postMessage({ type: "join", lock } satisfies ToHub);
    return held;
  });
  return {
    send: (message) => worker.port.postMessage(message),
    close: () => {
      worker.port.postMessage({ type: "leave" } satisfies ToHub);
      release();
      worker.port.close();
    },
  };
}

type Relayed = { from: string; message: ToHub } | { to: string; message: FromHub } | { leader: string };

/** The tab that holds the lock has the hub; the others reach it over a channel, and one of them takes its place. */
export function electedTab(root: string, receive: Receive, onRestart: () => void): Transport {
  const self = crypto.randomUUID();
  const channel = new BroadcastChannel(`turnout:${root}`);
  const stopped = new AbortController();
  let hub: StreamHub | null = null;
  let release = () => {};

  channel.onmessage = (event: MessageEvent<Relayed>) => {
    const relayed = event.data;
    if ("leader" in relayed) onRestart();
    else if ("to" in relayed) {
      if (relayed.to === self) receive(relayed.message);
    } else if (hub !== null) {
      const { from, message } = relayed;
      if (message.type === "subscribe") {
        hub.join(from, (each) => channel.postMessage({ to: from, message: each } satisfies Relayed));
      }
      hub.receive(from, message);
    }
  };
  navigator.locks
    .request(`turnout-leader:${root}`, { signal: stopped.signal }, () => {
      hub = new StreamHub(root, fetch.bind(globalThis));
      hub.join(self, receive);
      onRestart();
      channel.postMessage({ leader: self } satisfies Relayed);
      return new Promise<void>((resolve) => {
        release = resolve;
      });
    })
    .catch(() => {}); // this tab was closed before its turn came

  return {
    send: (message) => {
      if (hub !== null) hub.receive(self, message);
      else channel.postMessage({ from: self, message } satisfies Relayed);
    },
    close: () => {
      if (hub === null) channel.postMessage({ from: self, message: { type: "leave" } } satisfies Relayed);
      stopped.abort();
      hub?.close();
      release();
      channel.close();
    },
  };
}

function ownHub(root: string, receive: Receive): Transport {
  const hub = new StreamHub(root, fetch.bind(globalThis));
  hub.join("self", receive);
  return { send: (message) => hub.receive("self", message), close: () => hub.close() };
}
