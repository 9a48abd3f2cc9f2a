import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { workflowQuery } from "@/api/queries";
import { Badge, Button, ErrorBox, PageHeader, SkeletonLines, StateStrip, Tabs } from "@/components";
import { lastSegment } from "@/lib/names";
import { useTitle } from "@/lib/title";
import { useCommands } from "@/shell/commands";
import { useShortcuts } from "@/shell/shortcuts";
import { HistoryTab } from "./history/HistoryTab";
import { OverviewTab } from "./OverviewTab";
import { SchedulesTab } from "./SchedulesTab";
import { StartTab } from "./start/StartTab";
import { VersionsTab } from "./versions/VersionsTab";

const SourceTab = lazy(() => import("./source/SourceTab"));
const route = getRouteApi("/shell/workflows/$name");

const TABS = [
  { key: "overview", label: "Overview" },
  { key: "start", label: "Start a run" },
  { key: "history", label: "History" },
  { key: "source", label: "Source" },
  { key: "schedules", label: "Schedules" },
  { key: "versions", label: "Versions" },
] as const;

type Key = (typeof TABS)[number]["key"];

/** One workflow: its graph, a form that starts a run, its history, text, schedules and versions. */
export function WorkflowPage() {
  const { name } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const workflow = useQuery(workflowQuery(name));
  const active: Key = TABS.find((tab) => tab.key === search.tab)?.key ?? "overview";
  const show = (tab: Key) => void navigate({ search: tab === "overview" ? {} : { tab }, replace: true });
  const own = lastSegment(name);
  useTitle(own);
  useShortcuts([{ keys: "s", label: "Start a run", group: "Workflow", run: () => show("start") }]);
  useCommands(
    TABS.map((tab) => ({
      id: `workflow-${tab.key}`,
      label: `${own}: ${tab.label}`,
      hint: "workflow",
      run: () => show(tab.key),
    })),
  );
  if (workflow.error && !workflow.data) {
    return <ErrorBox error={workflow.error} onRetry={() => void workflow.refetch()} />;
  }
  const { data } = workflow;
  return (
    <>
      <PageHeader
        title={
          <span className="flex flex-wrap items-center gap-2">
            <span className="foreign">{own}</span>
            {data?.tags?.map((tag) => (
              <Badge key={tag}>{tag}</Badge>
            ))}
            {data?.removed && <Badge tone="idle">removed</Badge>}
            {data?.available === false && <Badge tone="bad">unavailable</Badge>}
          </span>
        }
        about={<span className="foreign">{data?.description || name}</span>}
        actions={
          <>
            <StateStrip runs={data?.recent ?? []} length={20} />
            <Button look="primary" icon="runs" onClick={() => show("start")}>
              Start a run
            </Button>
          </>
        }
      />
      <Tabs label="Workflow" tabs={TABS} active={active} onChange={show}>
        <div className="min-w-0 p-4 md:px-6">
          {active === "overview" && <OverviewTab name={name} workflow={data} />}
          {active === "start" && <StartTab workflow={data} />}
          {active === "history" && <HistoryTab name={name} onStart={() => show("start")} />}
          {active === "source" && (
            <Suspense fallback={<SkeletonLines lines={8} />}>
              <SourceTab key={name} name={name} workflow={data} />
            </Suspense>
          )}
          {active === "schedules" && <SchedulesTab name={name} />}
          {active === "versions" && (
            <VersionsTab
              name={name}
              workflow={data}
              compared={search}
              onCompare={(change) =>
                void navigate({ search: (old) => ({ ...old, ...change }), replace: true, resetScroll: false })
              }
            />
          )}
        </div>
      </Tabs>
    </>
  );
}
