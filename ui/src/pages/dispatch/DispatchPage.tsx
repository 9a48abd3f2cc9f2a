import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { executorsQuery, routingQuery } from "@/api/queries";
import { PageHeader, SkeletonLines, Tabs } from "@/components";
import { useTitle } from "@/lib/title";
import { ExecutorsTab } from "./ExecutorsTab";
import { Origin } from "./Origin";
import { RoutedTasksTab } from "./RoutedTasksTab";
import { RulesTab } from "./RulesTab";
import { ShadowsTab } from "./ShadowsTab";

const RuleEditor = lazy(() => import("./RuleEditor").then((module) => ({ default: module.RuleEditor })));

const route = getRouteApi("/shell/dispatch");

const TABS = ["rules", "tasks", "executors", "shadows"] as const;

/** Where tasks go and why: the rules and their editor, every known task, the executors, and shadow comparisons. */
export function DispatchPage() {
  useTitle("Dispatch");
  const routing = useQuery(routingQuery);
  const executors = useQuery(executorsQuery);
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const active = TABS.find((each) => each === search.tab) ?? "rules";
  const go = (to: typeof search) => void navigate({ search: to, replace: true, resetScroll: false });
  const rules = routing.data?.routing.rules?.length;
  return (
    <>
      <PageHeader title="Dispatch" about={routing.data && <Origin routing={routing.data} />} />
      <Tabs
        label="Dispatch"
        tabs={[
          { key: "rules", label: "Rules", count: rules },
          { key: "tasks", label: "Where tasks go" },
          { key: "executors", label: "Executors", count: executors.data?.executors.length },
          { key: "shadows", label: "Shadow comparisons" },
        ]}
        active={active}
        onChange={(tab) => go({ tab })}
      >
        {active === "rules" && search.view === "edit" && (
          <Suspense fallback={<SkeletonLines lines={10} />}>
            <RuleEditor onClose={() => go({})} />
          </Suspense>
        )}
        {active === "rules" && search.view !== "edit" && <RulesTab onEdit={() => go({ tab: "rules", view: "edit" })} />}
        {active === "tasks" && (
          <RoutedTasksTab executor={search.task} onExecutor={(task) => go({ tab: "tasks", task })} />
        )}
        {active === "executors" && (
          <ExecutorsTab chosen={search.task} onChoose={(task) => go({ tab: "executors", task })} />
        )}
        {active === "shadows" && <ShadowsTab />}
      </Tabs>
    </>
  );
}
