import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import type { Schemas } from "@/api/client";
import { runLimitsQuery, runQuery } from "@/api/queries";
import {
  Button,
  CopyButton,
  Duration,
  ErrorBox,
  Icon,
  PageHeader,
  Panel,
  RelativeTime,
  RunTrigger,
  SkeletonLines,
  StateBadge,
  StateDot,
  Tabs,
} from "@/components";
import { shortId } from "@/lib/names";
import { whole } from "@/lib/numbers";
import { ENDED, MARK, toneOf } from "@/lib/states";
import { useTitle } from "@/lib/title";
import { useFollowedRun } from "./follow";
import { HeaderValues } from "./HeaderValues";
import { RunActions } from "./RunActions";
import { TASK_STATES } from "./tasks";

const GraphTab = lazy(() => import("./GraphTab").then((module) => ({ default: module.GraphTab })));
const TasksTab = lazy(() => import("./TasksTab").then((module) => ({ default: module.TasksTab })));
const TimelineTab = lazy(() => import("./TimelineTab").then((module) => ({ default: module.TimelineTab })));
const LogView = lazy(() => import("./LogView").then((module) => ({ default: module.LogView })));
const ValuesTab = lazy(() => import("./ValuesTab").then((module) => ({ default: module.ValuesTab })));
const TaskPanel = lazy(() => import("./TaskPanel").then((module) => ({ default: module.TaskPanel })));

const route = getRouteApi("/shell/runs/$runId");
const TABS = ["graph", "timeline", "tasks", "logs", "values"] as const;

/** One run: its graph, its tasks, its log, and what can be done with it. */
export function RunPage() {
  const { runId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(runQuery(runId));
  const run = query.data;
  useTitle(run ? `${run.name} ${shortId(runId)}` : "Run");
  useFollowedRun(run);

  if (query.error && !run) return <ErrorBox error={query.error} onRetry={() => void query.refetch()} />;
  if (!run) return <SkeletonLines lines={8} />;
  const tab = TABS.find((each) => each === search.tab) ?? "graph";
  const go = (to: Partial<typeof search>) =>
    void navigate({ search: (old) => ({ ...old, ...to }), replace: true, resetScroll: false });
  const select = (task: string) => go({ task });
  const close = () => go({ task: undefined, view: undefined, find: undefined });
  const count = Object.values(run.tasks ?? {}).reduce((sum, each) => sum + each, 0);
  return (
    <div className="flex min-h-full min-w-0 flex-1 md:h-full md:min-h-0">
      <div className="flex min-w-0 flex-1 flex-col">
        <PageHeader
          title={
            <span className="flex flex-wrap items-center gap-2.5">
              <Link to="/workflows/$name" params={{ name: run.workflow }} className="hover:underline">
                {run.name}
              </Link>
              <StateBadge state={run.state} />
            </span>
          }
          about={<About run={run} onShow={() => go({ tab: "values" })} />}
          actions={<RunActions run={run} />}
        />
        <Notice run={run} onShow={() => go({ tab: "tasks" })} />
        <Tabs
          label="Parts of the run"
          tabs={[
            { key: "graph", label: "Graph" },
            { key: "timeline", label: "Timeline" },
            { key: "tasks", label: "Tasks", count },
            { key: "logs", label: "Log" },
            { key: "values", label: "Input and result" },
          ]}
          active={tab}
          onChange={(chosen) => go({ tab: chosen })}
        >
          <Suspense fallback={<SkeletonLines lines={6} />}>
            {tab === "graph" && <GraphTab key={runId} runId={runId} selected={search.task} onSelect={select} />}
            {tab === "timeline" && (
              <TimelineTab
                key={runId}
                runId={runId}
                selected={search.task}
                onSelect={select}
                group={search.group}
                onGroup={(group) => go({ group })}
              />
            )}
            {tab === "tasks" && (
              <TasksTab
                key={runId}
                run={run}
                selected={search.task}
                onSelect={select}
                filter={search.q}
                onFilter={(q) => go({ q })}
              />
            )}
            {tab === "logs" && (
              <LogView
                key={runId}
                runId={runId}
                live={!ENDED.has(run.state)}
                position={run.position}
                find={search.task ? undefined : search.find}
                onFind={(find) => go({ find })}
              />
            )}
            {tab === "values" && <ValuesTab key={runId} run={run} />}
          </Suspense>
        </Tabs>
      </div>
      {search.task && (
        <Suspense
          fallback={
            <Panel title={search.task} onClose={close}>
              <SkeletonLines lines={8} />
            </Panel>
          }
        >
          <TaskPanel
            run={run}
            task={search.task}
            view={search.view}
            find={search.find}
            onFind={(find) => go({ find })}
            onView={(view) => go({ view })}
            onSelect={select}
            onClose={close}
          />
        </Suspense>
      )}
    </div>
  );
}

function About({ run, onShow }: { run: Schemas["RunDetail"]; onShow: () => void }) {
  return (
    <div className="grid gap-1.5">
      <span className="flex flex-wrap items-center gap-x-3">
        <span className="flex items-center font-mono">
          {run.id}
          <CopyButton text={run.id} label="Copy the id" />
        </span>
        <span>
          started by <RunTrigger trigger={run.trigger} />
        </span>
        <RelativeTime at={run.created_at} />
        {run.started_at && (
          <span>
            {run.finished_at ? "took" : "for"} <Duration from={run.started_at} to={run.finished_at} />
          </span>
        )}
        {run.key && <span className="foreign">key {run.key}</span>}
        {(run.priority ?? 0) !== 0 && <span>priority {run.priority}</span>}
      </span>
      <Counts tasks={run.tasks ?? {}} />
      <HeaderValues run={run} onShow={onShow} />
    </div>
  );
}

function Counts({ tasks }: { tasks: Readonly<Record<string, number>> }) {
  const shown = TASK_STATES.filter((state) => (tasks[state] ?? 0) > 0);
  return (
    <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <span aria-hidden="true" className="flex h-1.5 w-44 gap-px overflow-hidden rounded-full bg-idle-soft">
        {[...shown].reverse().map((state) => (
          <span key={state} style={{ flexGrow: tasks[state] }} className={MARK[toneOf(state)]} />
        ))}
      </span>
      {shown.map((state) => (
        <span key={state} className="flex items-center gap-1">
          <StateDot state={state} size={6} />
          {whole(tasks[state] ?? 0)} {state}
        </span>
      ))}
    </span>
  );
}

/** Says why a run failed or waits, above everything else. */
function Notice({ run, onShow }: { run: Schemas["RunDetail"]; onShow: () => void }) {
  if (run.state === "pending" && run.reason === "limit") return <LimitNotice runId={run.id} />;
  const words = run.error?.message ?? (ENDED.has(run.state) && run.state !== "cancelled" ? null : run.reason);
  if (!words) return null;
  const bad = run.error !== null && run.error !== undefined;
  return (
    <div
      className={`mx-4 mb-3 flex items-center gap-2.5 rounded-md px-3 py-2 text-sm md:mx-6 ${bad ? "bg-bad-soft text-bad" : "bg-wait-soft text-wait"}`}
    >
      <Icon name={bad ? "alert" : "info"} />
      <span className="foreign line-clamp-3 min-w-0 flex-1">{words}</span>
      {bad && (
        <Button small onClick={onShow}>
          Failed tasks
        </Button>
      )}
    </div>
  );
}

/** Names the limits that a run waits for before it begins, and its places in their queues. */
function LimitNotice({ runId }: { runId: string }) {
  const limits = useQuery(runLimitsQuery(runId));
  const waited = limits.data?.limits.filter((limit) => limit.task === null && !limit.held) ?? [];
  return (
    <div className="mx-4 mb-3 flex flex-wrap items-center gap-x-2.5 gap-y-1 rounded-md bg-wait-soft px-3 py-2 text-sm text-wait md:mx-6">
      <Icon name="limits" />
      {waited.length === 0 && <span>waits for a limit</span>}
      {waited.map((limit) => (
        <span key={limit.name}>
          waits for the limit{" "}
          <Link to="/limits" search={{ task: limit.name }} className="foreign font-semibold underline">
            {limit.name}
          </Link>
          {limit.position ? `, position ${whole(limit.position)}` : ""}
          {(limit.deadlocked_with?.length ?? 0) > 0 && ", in a circle with runs that wait for one another: cancel one"}
        </span>
      ))}
    </div>
  );
}
