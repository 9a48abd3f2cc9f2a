import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, call, type Schemas } from "@/api/client";
import { Problem } from "@/api/problem";

type Routing = Schemas["Routing"];

export const DEFAULT_DAYS = 7;
/** Decisions that are replayed at most. */
export const MAX_REPLAYED = 5_000;

/** The server's check of a text of rules, sent as it is so that it is judged in the server's words. */
export function useCheckedRules(text: string, enabled: boolean) {
  return useQuery({
    queryKey: ["routing", "validation", text],
    queryFn: ({ signal }) =>
      call(
        api.POST("/api/v1/routing/validate", {
          signal,
          body: text as unknown as Routing,
          bodySerializer: (body) => body as unknown as string,
        }),
      ),
    enabled,
    placeholderData: keepPreviousData,
    retry: (failures, error) => !(error instanceof Problem) && failures < 2,
  });
}

/** The decisions of the last days that rules would change. */
export function useWhatIf(routing: Routing | undefined, days: number, enabled: boolean) {
  return useQuery({
    queryKey: ["routing", "what-if", routing, days],
    queryFn: ({ signal }) => {
      const since = Date.now() / 1_000 - days * 86_400;
      const body = { routing: routing ?? {}, limit: MAX_REPLAYED, created_from: since };
      return call(api.POST("/api/v1/routing/what-if", { signal, body }));
    },
    enabled: enabled && routing !== undefined,
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });
}

export type Trial = ReturnType<typeof useWhatIf>;
