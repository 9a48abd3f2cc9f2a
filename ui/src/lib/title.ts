import { useEffect } from "react";
import { titled } from "./page";

/** Names the tab of the browser after the page. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = titled(title);
  }, [title]);
}
