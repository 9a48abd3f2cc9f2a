import { StreamHub } from "./hub";
import type { ToHub } from "./messages";

/* One for all tabs of a browser: it holds the streams. The root of the server comes in its name. */
const scope = globalThis as unknown as {
  name: string;
  onconnect: ((event: MessageEvent) => void) | null;
};
const hub = new StreamHub(scope.name.replace(/^turnout:/, ""), fetch.bind(globalThis));
let tabs = 0;

scope.onconnect = (event) => {
  const port = event.ports[0];
  if (port === undefined) return;
  const tab = `tab ${++tabs}`;
  hub.join(tab, (message) => port.postMessage(message));
  port.onmessage = (sent: MessageEvent<ToHub>) => {
    const message = sent.data;
    if (message.type === "join") {
      hub.join(tab, (each) => port.postMessage(each));
      // A tab holds this lock for as long as it lives: having it means that the tab is gone, without a word.
      void navigator.locks?.request(message.lock, () => hub.leave(tab));
      return;
    }
    hub.receive(tab, message);
  };
};
