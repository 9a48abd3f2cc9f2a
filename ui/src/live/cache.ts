import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import type { Schemas } from "@/api/client";
import type { SseEvent } from "./sse";
import { Throttle } from "./throttle";

type Run = Schemas["Run"];
type RunPage = Schemas["RunPage"];

/** Milliseconds between two reads of what one run shows. */
const INTERVAL = 1_000;
/** First parts of the keys of queries that a change of a run may change, with the milliseconds between two reads. */
const AFFECTED = { runs: 1_000, tasks: 1_000, workflows: 2_000, limits: 2_000, attention: 5_000, stats: 5_000 };

/** Applies events of the stream of all runs to what is cached: known runs at once, lists by reading them again. */
export class LiveCache {
  private readonly client: QueryClient;
  private readonly throttle = new Throttle();

  constructor(client: QueryClient) {
    this.client = client;
  }

  apply(event: SseEvent): void {
    if (event.event !== "run") return;
    const run = JSON.parse(event.data) as Run;
    this.client.setQueriesData<InfiniteData<RunPage>>({ queryKey: ["runs", "list"] }, (pages) => patched(pages, run));
    this.client.setQueryData<Schemas["RunDetail"]>(["run", run.id, "detail"], (known) => known && { ...known, ...run });
    for (const [noun, interval] of Object.entries(AFFECTED)) this.refresh(interval, noun);
    this.refresh(INTERVAL, "run", run.id);
  }

  /** Reads again what is shown: events were missed. */
  stale(): void {
    void this.client.invalidateQueries();
  }

  private refresh(interval: number, ...key: string[]): void {
    this.throttle.run(key.join(" "), interval, () => void this.client.invalidateQueries({ queryKey: key }));
  }
}

/** Returns the pages with this run as it is now; the same pages if they do not have it. */
export function patched(pages: InfiniteData<RunPage> | undefined, run: Run): InfiniteData<RunPage> | undefined {
  if (!pages?.pages?.some((page) => page.runs.some((each) => each.id === run.id))) return pages;
  return {
    ...pages,
    pages: pages.pages.map((page) => ({
      ...page,
      runs: page.runs.map((each) => (each.id === run.id ? { ...each, ...run } : each)),
    })),
  };
}
