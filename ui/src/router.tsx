import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Navigate,
  useNavigate,
} from "@tanstack/react-router";
import { useState } from "react";
import { queryClient } from "@/api/queryClient";
import { ROOT } from "@/lib/page";
import {
  type RunPageSearch,
  type RunSearch,
  runPageSearch,
  runSearch,
  type TabSearch,
  tabSearch,
  type WorkflowPageSearch,
  type WorkflowSearch,
  workflowPageSearch,
  workflowSearch,
} from "@/lib/search";
import { NotFoundPage } from "@/pages/NotFoundPage";
import { PageError } from "@/pages/PageError";
import { PagePending } from "@/pages/PagePending";
import { prepareRun } from "@/pages/run/prepare";
import { Gate } from "@/session/Gate";
import { SignIn } from "@/session/SignInPage";
import { AppShell } from "@/shell/AppShell";

const root = createRootRoute({ notFoundComponent: NotFoundPage });

const shell = createRoute({
  getParentRoute: () => root,
  id: "shell",
  component: () => <Gate>{(session) => <AppShell session={session} />}</Gate>,
  notFoundComponent: NotFoundPage,
});

/** The way in for the link that `turnout dev` prints; a viewer who is signed in goes on to the home page. */
function SignInRoute() {
  const navigate = useNavigate();
  const [hasCode] = useState(() => location.hash.startsWith("#code="));
  if (hasCode) return <SignIn onDone={() => void navigate({ to: "/", replace: true })} />;
  return <Gate>{() => <Navigate to="/" replace />}</Gate>;
}

const signIn = createRoute({ getParentRoute: () => root, path: "/sign-in", component: SignInRoute });

/* One module per page, which loads when the page is opened. */
const home = createRoute({
  getParentRoute: () => shell,
  path: "/",
  component: lazyRouteComponent(() => import("@/pages/home/HomePage"), "HomePage"),
});
const workflows = createRoute({
  getParentRoute: () => shell,
  path: "/workflows",
  validateSearch: (search): WorkflowSearch => workflowSearch(search),
  component: lazyRouteComponent(() => import("@/pages/workflows/WorkflowsPage"), "WorkflowsPage"),
});
const workflow = createRoute({
  getParentRoute: () => shell,
  path: "/workflows/$name",
  validateSearch: (search): WorkflowPageSearch => workflowPageSearch(search),
  component: lazyRouteComponent(() => import("@/pages/workflows/WorkflowPage"), "WorkflowPage"),
});
const runs = createRoute({
  getParentRoute: () => shell,
  path: "/runs",
  validateSearch: (search): RunSearch => runSearch(search),
  component: lazyRouteComponent(() => import("@/pages/runs/RunsPage"), "RunsPage"),
});
const run = createRoute({
  getParentRoute: () => shell,
  path: "/runs/$runId",
  validateSearch: (search): RunPageSearch => runPageSearch(search),
  loaderDeps: ({ search }) => ({ tab: search.tab }),
  // A link that the pointer is over prepares the module of the page only.
  loader: ({ params, deps, preload }) => {
    if (!preload) prepareRun(queryClient, params.runId, deps.tab);
  },
  component: lazyRouteComponent(() => import("@/pages/run/RunPage"), "RunPage"),
});
const dispatch = createRoute({
  getParentRoute: () => shell,
  path: "/dispatch",
  validateSearch: (search): TabSearch => tabSearch(search),
  component: lazyRouteComponent(() => import("@/pages/dispatch/DispatchPage"), "DispatchPage"),
});
const workers = createRoute({
  getParentRoute: () => shell,
  path: "/workers",
  validateSearch: (search): TabSearch => tabSearch(search),
  component: lazyRouteComponent(() => import("@/pages/workers/WorkersPage"), "WorkersPage"),
});
const orchestration = createRoute({
  getParentRoute: () => shell,
  path: "/orchestration",
  validateSearch: (search): TabSearch => tabSearch(search),
  component: lazyRouteComponent(() => import("@/pages/orchestration/OrchestrationPage"), "OrchestrationPage"),
});
const schedules = createRoute({
  getParentRoute: () => shell,
  path: "/schedules",
  validateSearch: (search): TabSearch => tabSearch(search),
  component: lazyRouteComponent(() => import("@/pages/schedules/SchedulesPage"), "SchedulesPage"),
});
const limits = createRoute({
  getParentRoute: () => shell,
  path: "/limits",
  validateSearch: (search): TabSearch => tabSearch(search),
  component: lazyRouteComponent(() => import("@/pages/limits/LimitsPage"), "LimitsPage"),
});
const settings = createRoute({
  getParentRoute: () => shell,
  path: "/settings",
  validateSearch: (search): TabSearch => tabSearch(search),
  component: lazyRouteComponent(() => import("@/pages/settings/SettingsPage"), "SettingsPage"),
});

/* Addresses without a page keep the navigation around them. */
const elsewhere = createRoute({ getParentRoute: () => shell, path: "$", component: NotFoundPage });

const pages = [
  home,
  workflows,
  workflow,
  runs,
  run,
  dispatch,
  workers,
  orchestration,
  schedules,
  limits,
  settings,
  elsewhere,
];

export const router = createRouter({
  routeTree: root.addChildren([signIn, shell.addChildren(pages)]),
  basepath: ROOT || "/",
  defaultPreload: "intent",
  defaultPendingComponent: PagePending,
  defaultPendingMs: 120,
  defaultErrorComponent: PageError,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
