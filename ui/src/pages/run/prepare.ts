import type { QueryClient } from "@tanstack/react-query";
import { runGraphQuery, runQuery, runTasksQuery, runTimelineQuery } from "@/api/queries";

/** Begins to read what the page of a run shows first, and to load its modules, before the page itself is there. */
export function prepareRun(client: QueryClient, runId: string, tab: string | undefined): void {
  void client.prefetchQuery(runQuery(runId));
  if (tab === "timeline") {
    void import("./TimelineTab");
    void client.prefetchInfiniteQuery(runTimelineQuery(runId));
  } else if (tab === "tasks") {
    void import("./TasksTab");
    void client.prefetchInfiniteQuery(runTasksQuery(runId));
  } else if (tab === "logs") {
    void import("./LogView");
  } else if (tab === "values") {
    void import("./ValuesTab");
  } else {
    void import("./GraphTab");
    void import("@/components/graph/GraphView");
    void client.prefetchQuery(runGraphQuery(runId));
  }
}
