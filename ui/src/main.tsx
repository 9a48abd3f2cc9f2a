import "./styles.css";
import { MutationCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { isPassing } from "@/api/problem";
import { router } from "@/router";
import "@/shell/theme";

const client = new QueryClient({
  mutationCache: new MutationCache({
    // What was changed may show anywhere.
    onSuccess: () => void client.invalidateQueries(),
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

const element = document.getElementById("root");
if (element) {
  createRoot(element).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  );
}
