import "./styles.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { sessionQuery } from "@/api/queries";
import { queryClient } from "@/api/queryClient";
import { router } from "@/router";
import "@/shell/theme";

// Asked for before anything is rendered: no page is shown without it.
void queryClient.prefetchQuery({ ...sessionQuery, retry: false });

const element = document.getElementById("root");
if (element) {
  createRoot(element).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  );
}
