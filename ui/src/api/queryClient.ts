import { MutationCache, QueryClient } from "@tanstack/react-query";
import { isPassing } from "./problem";

/** What all pages of this tab have read. */
export const queryClient = new QueryClient({
  mutationCache: new MutationCache({
    // What was changed may show anywhere.
    onSuccess: () => void queryClient.invalidateQueries(),
  }),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (failures, error) => isPassing(error) && failures < 4,
      retryDelay: (attempt) => Math.min(400 * 2 ** attempt, 5_000),
    },
    mutations: { retry: false },
  },
});
