import { useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useMemo, useState } from "react";
import type { Schemas } from "@/api/client";
import { firstFailedItemQuery, runGraphQuery, runTaskQuery } from "@/api/queries";
import { EmptyState, ErrorBox, SkeletonLines, toastError } from "@/components";
import type { GraphTask, TaskGraph } from "@/components/graph/arrange";
import { ENDED } from "@/lib/states";
import { atItem, chosenItem, graphOf, type OpenedNode, ownerOf, toggled } from "./graph";

/** Milliseconds between two reads of a run that is opened in place and goes on. */
const OPENED_INTERVAL = 1_500;
const GraphView = lazy(() => import("@/components/graph/GraphView"));

interface GraphTabProps {
  runId: string;
  selected: string | undefined;
  onSelect: (task: string) => void;
}

/** The graph of a run with the states of its tasks; runs that its tasks have started open inside of them. */
export function GraphTab({ runId, selected, onSelect }: GraphTabProps) {
  const navigate = useNavigate();
  const graph = useQuery(runGraphQuery(runId));
  const [opened, setOpened] = useState<readonly OpenedNode[]>([]);
  const client = useQueryClient();
  const items = useQueries({
    queries: opened.map(({ owner, task, item }) => ({
      ...runTaskQuery(owner, item === undefined ? task : `${task}[${item}]`),
      enabled: item !== undefined,
      refetchInterval: (query: { state: { data?: Schemas["TaskDetail"] } }) =>
        query.state.data?.child_run || ENDED.has(query.state.data?.state ?? "") ? false : OPENED_INTERVAL,
    })),
    combine: (results) => results.map((each) => each.data),
  });
  const runs = opened.map((each, index) => each.run ?? items[index]?.child_run ?? undefined);
  const children = useQueries({
    queries: runs.map((run) => ({
      ...runGraphQuery(run ?? ""),
      enabled: run !== undefined,
      refetchInterval: (query: { state: { data?: Schemas["RunGraph"] } }) =>
        query.state.data?.nodes.every((node) => ENDED.has(node.state)) ? false : OPENED_INTERVAL,
    })),
    combine: (results) => results.map((each) => each.data),
  });
  const shown = useMemo(() => graph.data && graphOf(graph.data), [graph.data]);
  const inside = useMemo(() => {
    const found = new Map<string, TaskGraph>();
    for (const [index, { id, item }] of opened.entries()) {
      const data = children[index];
      if (data) found.set(id, { ...graphOf(data), item });
      else if (item !== undefined) found.set(id, { tasks: [], links: [], item, note: noteOf(items[index]) });
    }
    return found;
  }, [opened, children, items]);

  if (graph.error && !shown) return <ErrorBox error={graph.error} onRetry={() => void graph.refetch()} />;
  if (!shown) return <SkeletonLines lines={6} />;
  if (shown.tasks.length === 0) {
    return (
      <EmptyState icon="workflows" title="No tasks">
        This workflow has no tasks: a run of it ends at once.
      </EmptyState>
    );
  }
  const pairs = opened.flatMap(({ id }, index) => {
    const run = runs[index];
    return run === undefined ? [] : [[id, run] as const];
  });
  const choose = (id: string) => {
    const owner = ownerOf(id, pairs);
    if (!owner) onSelect(id);
    else void navigate({ to: "/runs/$runId", params: { runId: owner.run }, search: { task: owner.task } });
  };
  /** The item whose run is shown first: the chosen one, else the first that failed. */
  const firstItem = async (owner: string, task: GraphTask): Promise<number> => {
    const chosen = owner === runId ? chosenItem(task.name, selected) : undefined;
    if (chosen !== undefined || !task.items?.failed) return chosen ?? 0;
    const failed = await client.fetchQuery(firstFailedItemQuery(owner, task.name));
    return failed ?? 0;
  };
  const toggle = async (id: string, task: GraphTask) => {
    const owner = ownerOf(id, pairs)?.run ?? runId;
    const closes = opened.some((each) => each.id === id);
    const item = task.childRun || closes ? undefined : await firstItem(owner, task);
    setOpened((known) => toggled(known, { id, owner, task: task.name, run: task.childRun, item }));
  };
  return (
    <div className="min-h-[24rem] flex-1 bg-canvas">
      <Suspense fallback={<SkeletonLines lines={6} />}>
        <GraphView
          label="Graph of the run"
          graph={shown}
          opened={inside}
          selected={selected?.replace(/\[\d+\]$/, "")}
          onSelect={choose}
          onOpen={(id, task) => toggle(id, task).catch((error) => toastError("The run cannot be shown", error))}
          onItem={(id, item) => setOpened((known) => atItem(known, id, item))}
        />
      </Suspense>
    </div>
  );
}

/** Says why there is no run of an item to show; nothing while it is read. */
function noteOf(item: Schemas["TaskDetail"] | undefined): string | undefined {
  return item && !item.child_run ? `It has no run: ${item.name} is ${item.state}.` : undefined;
}
