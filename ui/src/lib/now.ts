import { useEffect } from "react";
import { Store, useStore } from "./store";

const now = new Store(Date.now() / 1_000);
let users = 0;
let timer: ReturnType<typeof setInterval> | undefined;

/** Returns the current time in seconds since 1970, and draws the component again every second. One timer serves all. */
export function useNow(): number {
  useEffect(() => {
    if (users++ === 0) timer = setInterval(() => now.set(Date.now() / 1_000), 1_000);
    return () => {
      if (--users === 0) clearInterval(timer);
    };
  }, []);
  return useStore(now);
}
