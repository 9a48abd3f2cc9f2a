import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { entriesOf, read } from "@/lib/json";
import { api, call, type Schemas } from "./client";
import { extended, type Histories, unknownSince } from "./history";
import type { paths } from "./schema";

type Query<Path extends keyof paths> = paths[Path] extends { get: { parameters: { query?: infer Found } } }
  ? NonNullable<Found>
  : never;

export type RunFilter = Omit<Query<"/api/v1/runs">, "cursor">;
export type WorkflowFilter = Omit<Query<"/api/v1/workflows">, "cursor">;

/*
 * One entry per question that pages ask. Keys begin with the noun: what arrives on the stream of events refreshes
 * queries by it (live/cache.ts).
 */

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/session", { signal })),
  staleTime: 60_000,
});

export function runsQuery(filter: RunFilter = {}) {
  return infiniteQueryOptions({
    queryKey: ["runs", "list", filter],
    queryFn: ({ signal, pageParam }) =>
      call(api.GET("/api/v1/runs", { signal, params: { query: { ...filter, cursor: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next ?? undefined,
    placeholderData: keepPreviousData,
  });
}

export function runQuery(id: string) {
  return queryOptions({
    queryKey: ["run", id, "detail"],
    queryFn: ({ signal }) => call(api.GET("/api/v1/runs/{run_id}", { signal, params: { path: { run_id: id } } })),
  });
}

/* Lists of tasks are long: events change them in place (pages/run/follow.ts), so that no event reads them again. */
export function runTasksQuery(id: string) {
  return infiniteQueryOptions({
    queryKey: ["run-tasks", id],
    queryFn: ({ signal, pageParam }) =>
      call(
        api.GET("/api/v1/runs/{run_id}/tasks", {
          signal,
          params: { path: { run_id: id }, query: { limit: 1_000, cursor: pageParam } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next ?? undefined,
  });
}

/** Tasks of one page of the open ones of a run. */
const MAX_OPEN_TASKS = 1_000;

/** The tasks of a run that run, and those that wait if they are not many: their progress and their reasons are no events. */
export function runOpenTasksQuery(id: string, counts: Readonly<Record<string, number>>) {
  const { running = 0, ready = 0 } = counts;
  const state: Schemas["TaskState"][] = running + ready > MAX_OPEN_TASKS ? ["running"] : ["running", "ready"];
  return queryOptions({
    queryKey: ["run-open-tasks", id, state],
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/runs/{run_id}/tasks", {
          signal,
          params: { path: { run_id: id }, query: { state, limit: MAX_OPEN_TASKS } },
        }),
      ),
    enabled: running + ready > 0,
    refetchInterval: 2_000,
    placeholderData: keepPreviousData,
  });
}

/** The index of the first item of a mapped task that failed; null if none has. */
export function firstFailedItemQuery(id: string, group: string) {
  return queryOptions({
    queryKey: ["run", id, "first-failed", group],
    queryFn: async ({ signal }) => {
      const query = { group, state: ["failed" as const], limit: 1 };
      const page = await call(
        api.GET("/api/v1/runs/{run_id}/tasks", { signal, params: { path: { run_id: id }, query } }),
      );
      return page.tasks[0]?.index ?? null;
    },
  });
}

export function runGraphQuery(id: string) {
  return queryOptions({
    queryKey: ["run", id, "graph"],
    queryFn: ({ signal }) => call(api.GET("/api/v1/runs/{run_id}/graph", { signal, params: { path: { run_id: id } } })),
  });
}

export function runTimelineQuery(id: string, group?: string) {
  return infiniteQueryOptions({
    queryKey: ["run", id, "timeline", group],
    queryFn: ({ signal, pageParam }) =>
      call(
        api.GET("/api/v1/runs/{run_id}/timeline", {
          signal,
          params: { path: { run_id: id }, query: { group, limit: 200, cursor: pageParam } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next ?? undefined,
  });
}

/** Values above this size are shown on demand only. */
export const MAX_INLINE_BYTES = 65_536;

export function runTaskQuery(id: string, task: string) {
  return queryOptions({
    queryKey: ["run", id, "task", task],
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/runs/{run_id}/tasks/{task}", {
          signal,
          params: { path: { run_id: id, task }, query: { max_output_bytes: MAX_INLINE_BYTES } },
        }),
      ),
  });
}

/** The input of a run as JSON: its numbers have all of their digits. */
export function runInputQuery(id: string) {
  return queryOptions({
    queryKey: ["run-input", id],
    queryFn: async ({ signal }): Promise<string> => {
      const params = { path: { run_id: id } };
      const answer = await call(api.GET("/api/v1/runs/{run_id}/input", { signal, params, parseAs: "text" }));
      return entriesOf(answer)?.get("input")?.text ?? "{}";
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function rerunPreviewQuery(id: string, body: Schemas["RerunRequest"]) {
  return queryOptions({
    queryKey: ["rerun-preview", id, body],
    queryFn: ({ signal }) =>
      call(api.POST("/api/v1/runs/{run_id}/rerun/preview", { signal, params: { path: { run_id: id } }, body })),
    placeholderData: keepPreviousData,
    staleTime: 0,
  });
}

/** Reads a page of the log lines of a run, or of one of its tasks. */
export function readLogPage(
  id: string,
  task: string | undefined,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<Schemas["LogPage"]> {
  const query = { limit: 1_000, cursor };
  if (task === undefined) {
    return call(api.GET("/api/v1/runs/{run_id}/logs", { signal, params: { path: { run_id: id }, query } }));
  }
  const path = { run_id: id, task };
  return call(api.GET("/api/v1/runs/{run_id}/tasks/{task}/logs", { signal, params: { path, query } }));
}

export function workflowsQuery(filter: WorkflowFilter = {}) {
  return infiniteQueryOptions({
    queryKey: ["workflows", "list", filter],
    queryFn: ({ signal, pageParam }) =>
      call(api.GET("/api/v1/workflows", { signal, params: { query: { ...filter, cursor: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next ?? undefined,
    placeholderData: keepPreviousData,
  });
}

export function workflowQuery(name: string) {
  return queryOptions({
    queryKey: ["workflows", "detail", name],
    queryFn: async ({ signal }) => {
      const params = { path: { name }, query: { recent: 25 } };
      const answer = await call(api.GET("/api/v1/workflows/{name}", { signal, params, parseAs: "text" }));
      return read(answer) as Schemas["WorkflowDetail"]; // defaults of parameters keep all of their digits
    },
  });
}

/** The text of the version in force, with the ETag that a change of it has to name. */
export interface SourceText {
  text: string;
  etag: string;
}

export function workflowSourceQuery(name: string) {
  return queryOptions({
    queryKey: ["workflows", "source", name],
    queryFn: async ({ signal }): Promise<SourceText> => {
      const { data, response } = await api.GET("/api/v1/workflows/{name}/source", {
        signal,
        params: { path: { name } },
        parseAs: "text",
      });
      return { text: data ?? "", etag: response.headers.get("ETag") ?? "" };
    },
  });
}

export function workflowVersionsQuery(name: string) {
  return queryOptions({
    queryKey: ["workflows", "versions", name],
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/workflows/{name}/versions", { signal, params: { path: { name }, query: { limit: 100 } } })),
  });
}

export function workflowVersionQuery(name: string, version: number) {
  return queryOptions({
    queryKey: ["workflows", "version", name, version],
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/workflows/{name}/versions/{version}", { signal, params: { path: { name, version } } })),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function workflowGraphsQuery(name: string) {
  return queryOptions({
    queryKey: ["workflows", "graphs", name],
    queryFn: ({ signal }) => call(api.GET("/api/v1/workflows/{name}/graphs", { signal, params: { path: { name } } })),
  });
}

/** The graph of one version; `current` is the one in force. */
export function workflowGraphQuery(name: string, graph = "current") {
  return queryOptions({
    queryKey: ["workflows", "graph", name, graph],
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/workflows/{name}/graphs/{graph}", { signal, params: { path: { name, graph } } })),
    placeholderData: keepPreviousData,
  });
}

export function workflowHistoryQuery(name: string, limit: number, cursor?: string) {
  return queryOptions({
    queryKey: ["workflows", "history", name, limit, cursor],
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/workflows/{name}/history", { signal, params: { path: { name }, query: { limit, cursor } } }),
      ),
    placeholderData: keepPreviousData,
  });
}

export const workersQuery = queryOptions({
  queryKey: ["workers", "list"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/workers", { signal })),
  refetchInterval: 5_000,
});

export const limitsQuery = queryOptions({
  queryKey: ["limits", "list"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/limits", { signal })),
  refetchInterval: 5_000,
});

export function limitQuery(name: string) {
  return queryOptions({
    queryKey: ["limits", "detail", name],
    queryFn: ({ signal }) => call(api.GET("/api/v1/limits/detail", { signal, params: { query: { name } } })),
    refetchInterval: 5_000,
  });
}

export function runLimitsQuery(runId: string) {
  return queryOptions({
    queryKey: ["limits", "run", runId],
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/runs/{run_id}/limits", { signal, params: { path: { run_id: runId } } })),
    refetchInterval: 5_000,
  });
}

export const unmatchedQuery = queryOptions({
  queryKey: ["workers", "unmatched"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/workers/unmatched", { signal })),
  refetchInterval: 5_000,
});

export function workerQuery(id: string) {
  return queryOptions({
    queryKey: ["workers", "detail", id],
    queryFn: ({ signal }) => call(api.GET("/api/v1/workers/{worker}", { signal, params: { path: { worker: id } } })),
    refetchInterval: 5_000,
  });
}

export const routingQuery = queryOptions({
  queryKey: ["routing", "rules"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/routing", { signal })),
  refetchInterval: 10_000,
});

export type RoutedFilter = Omit<Query<"/api/v1/routing/tasks">, "cursor">;

/** The tasks of all workflows, with where each goes. */
export function routedTasksQuery(filter: RoutedFilter = {}) {
  return infiniteQueryOptions({
    queryKey: ["routing", "tasks", filter],
    queryFn: ({ signal, pageParam }) =>
      call(api.GET("/api/v1/routing/tasks", { signal, params: { query: { ...filter, cursor: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next ?? undefined,
    placeholderData: keepPreviousData,
  });
}

export const shadowsQuery = queryOptions({
  queryKey: ["routing", "shadows"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/routing/shadows", { signal })),
  refetchInterval: 5_000,
});

export const executorsQuery = queryOptions({
  queryKey: ["executors"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/executors", { signal })),
  refetchInterval: 5_000,
});

/** The tasks of open runs that run in an executor, or wait for it. */
export function openTasksQuery(executor: string, limit = 100) {
  return queryOptions({
    queryKey: ["tasks", "open", executor, limit],
    queryFn: ({ signal }) => call(api.GET("/api/v1/tasks", { signal, params: { query: { executor, limit } } })),
    refetchInterval: 5_000,
  });
}

export const orchestrationQuery = queryOptions({
  queryKey: ["orchestration", "now"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/orchestration", { signal })),
  refetchInterval: 5_000,
});

/** The last hour of the orchestrators whose servers answered: each is read whole once, and then what is new. */
export const orchestrationHistoryQuery = queryOptions({
  queryKey: ["orchestration", "history"],
  queryFn: async ({ signal, client, queryKey }) => {
    const read = (since: number) =>
      call(api.GET("/api/v1/orchestration/history", { signal, params: { query: { since } } }));
    const known = client.getQueryData<Histories>(queryKey) ?? {};
    const since = unknownSince(known);
    const news = await read(since);
    return extended(known, news.orchestrator in known || since === 0 ? news : await read(0));
  },
  refetchInterval: 5_000,
});

/** The schedules of a workflow, by its full name or its last segment, or of all. */
export function schedulesQuery(workflow?: string) {
  return infiniteQueryOptions({
    queryKey: ["schedules", "list", workflow],
    queryFn: ({ signal, pageParam }) =>
      call(api.GET("/api/v1/schedules", { signal, params: { query: { workflow, limit: 200, cursor: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next ?? undefined,
  });
}

export function scheduleQuery(id: number) {
  return queryOptions({
    queryKey: ["schedules", "detail", id],
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/schedules/{schedule_id}", { signal, params: { path: { schedule_id: id } } })),
    staleTime: 60_000,
  });
}

/** The next due time of each schedule, the earliest first. */
export function nextFiresQuery(limit: number) {
  return queryOptions({
    queryKey: ["schedules", "next", limit],
    queryFn: ({ signal }) => call(api.GET("/api/v1/schedules/next", { signal, params: { query: { limit, each: 1 } } })),
    refetchInterval: 15_000,
  });
}

/** Tasks that wait, of all runs that have not ended. */
export const waitingTasksQuery = queryOptions({
  queryKey: ["runs", "waiting-tasks"],
  queryFn: ({ signal }) =>
    call(api.GET("/api/v1/tasks", { signal, params: { query: { state: ["ready"], limit: 200 } } })),
});

/** The due times of a schedule that a calendar shows at most: one that is due every minute leaves room for others. */
export const MOST_OF_ONE = 100;

/** The due times of a span, for a calendar. */
export function calendarQuery(from: number, until: number) {
  const query = { from, until, limit: 1000, each: MOST_OF_ONE };
  return queryOptions({
    queryKey: ["schedules", "calendar", from, until],
    queryFn: ({ signal }) => call(api.GET("/api/v1/schedules/next", { signal, params: { query } })),
  });
}

export function decisionsQuery() {
  return infiniteQueryOptions({
    queryKey: ["schedules", "decisions"],
    queryFn: ({ signal, pageParam }) =>
      call(api.GET("/api/v1/schedules/decisions", { signal, params: { query: { limit: 25, cursor: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next ?? undefined,
    refetchInterval: 15_000,
  });
}

export const tokensQuery = queryOptions({
  queryKey: ["tokens"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/tokens", { signal })),
});

export function auditQuery(actor?: string) {
  return infiniteQueryOptions({
    queryKey: ["audit", actor],
    queryFn: ({ signal, pageParam }) =>
      call(api.GET("/api/v1/audit", { signal, params: { query: { limit: 50, before: pageParam, actor } } })),
    initialPageParam: undefined as number | undefined,
    getNextPageParam: (page) => page.next ?? undefined,
  });
}

export function attentionQuery(since: number) {
  return queryOptions({
    queryKey: ["attention", since],
    queryFn: ({ signal }) => call(api.GET("/api/v1/attention", { signal, params: { query: { since } } })),
    refetchInterval: 15_000,
    placeholderData: keepPreviousData,
  });
}

export function statsQuery(window: "hour" | "day" = "hour", workflow?: string) {
  return queryOptions({
    queryKey: ["stats", window, workflow],
    queryFn: ({ signal }) => call(api.GET("/api/v1/stats", { signal, params: { query: { window, workflow } } })),
    refetchInterval: 15_000,
  });
}

export const aboutQuery = queryOptions({
  queryKey: ["about"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/about", { signal })),
});

export const configurationQuery = queryOptions({
  queryKey: ["configuration"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/configuration", { signal })),
  staleTime: 60_000,
});
