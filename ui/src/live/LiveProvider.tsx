import { useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useState } from "react";
import { sessionQuery } from "@/api/queries";
import { ROOT } from "@/lib/page";
import { LiveCache } from "./cache";
import { type Listener, Live } from "./live";
import { ALL_RUNS, type Topic } from "./messages";
import type { StreamStatus } from "./stream";

interface LiveContext {
  live: Live;
  status: StreamStatus;
}

const Context = createContext<LiveContext | null>(null);

/** Follows the changes of all runs for the pages below it, and keeps what they have read up to date. */
export function LiveProvider({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const [status, setStatus] = useState<StreamStatus>("connecting");
  const [polls, setPolls] = useState(false);
  const live = useMemo(() => {
    const made: Live = new Live(ROOT, () => setPolls(made.polls));
    return made;
  }, []);

  useEffect(() => {
    const cache = new LiveCache(client);
    let wasLost = false;
    live.open();
    const unsubscribe = live.subscribe(ALL_RUNS, {
      onEvent: (event) => cache.apply(event),
      onStale: () => cache.stale(),
      onStatus: (next) => {
        setStatus((before) => (before === "refused" && next === "connecting" ? before : next));
        if (next === "lost" || next === "refused" || next === "denied") wasLost = true;
        if (next === "denied") void client.invalidateQueries({ queryKey: sessionQuery.queryKey });
        if (next === "open" && wasLost) {
          wasLost = false;
          cache.stale();
        }
      },
    });
    live.retry(); // a stream that was denied before the sign-in is open in the shared worker
    const again = () => live.retry();
    const leave = () => live.close();
    const back = (event: PageTransitionEvent) => event.persisted && live.open();
    addEventListener("online", again);
    addEventListener("pagehide", leave);
    addEventListener("pageshow", back);
    return () => {
      removeEventListener("online", again);
      removeEventListener("pagehide", leave);
      removeEventListener("pageshow", back);
      unsubscribe();
      live.close();
    };
  }, [client, live]);

  const shown = status === "open" && polls ? "refused" : status;
  const value = useMemo(() => ({ live, status: shown }), [live, shown]);
  return <Context.Provider value={value}>{children}</Context.Provider>;
}

function useLive(): LiveContext {
  const found = useContext(Context);
  if (found === null) throw new Error("this component needs a LiveProvider above it");
  return found;
}

/** Returns whether changes arrive. */
export function useLiveStatus(): StreamStatus {
  return useLive().status;
}

/**
 * Follows a topic while the component is shown: `useStream(runTopic(id), { onEvent, onStale })`; null: nothing.
 * `lastEventId` is the position of what the component has read already; a stream that is open goes on where it is.
 */
export function useStream(topic: Topic | null, listener: Listener, lastEventId?: string): void {
  const { live } = useLive();
  const latest = useRef(listener);
  const position = useRef(lastEventId);
  useEffect(() => {
    latest.current = listener;
    position.current = lastEventId;
  });
  useEffect(() => {
    if (topic === null) return;
    const heard: Listener = {
      onEvent: (event) => latest.current.onEvent?.(event),
      onStale: () => latest.current.onStale?.(),
      onStatus: (status) => latest.current.onStatus?.(status),
    };
    return live.subscribe(topic, heard, position.current);
  }, [live, topic]);
}
