import { useQueries, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useMemo, useState } from "react";
import type { Schemas } from "@/api/client";
import { runGraphQuery } from "@/api/queries";
import { EmptyState, ErrorBox, SkeletonLines } from "@/components";
import type { TaskGraph } from "@/components/graph/arrange";
import { ENDED } from "@/lib/states";
import { graphOf, ownerOf } from "./graph";

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
  const [opened, setOpened] = useState<readonly (readonly [id: string, run: string])[]>([]);
  const children = useQueries({
    queries: opened.map(([, child]) => ({
      ...runGraphQuery(child),
      refetchInterval: (query: { state: { data?: Schemas["RunGraph"] } }) =>
        query.state.data?.nodes.every((node) => ENDED.has(node.state)) ? false : 1_500,
    })),
    combine: (results) => results.map((each) => each.data),
  });
  const shown = useMemo(() => graph.data && graphOf(graph.data), [graph.data]);
  const inside = useMemo(() => {
    const found = new Map<string, TaskGraph>();
    for (const [index, [id]] of opened.entries()) {
      const data = children[index];
      if (data) found.set(id, graphOf(data));
    }
    return found;
  }, [opened, children]);

  if (graph.error && !shown) return <ErrorBox error={graph.error} onRetry={() => void graph.refetch()} />;
  if (!shown) return <SkeletonLines lines={6} />;
  if (shown.tasks.length === 0) {
    return (
      <EmptyState icon="workflows" title="No tasks">
        This workflow has no tasks: a run of it ends at once.
      </EmptyState>
    );
  }
  const choose = (id: string) => {
    const owner = ownerOf(id, opened);
    if (!owner) onSelect(id);
    else void navigate({ to: "/runs/$runId", params: { runId: owner.run }, search: { task: owner.task } });
  };
  const toggle = (id: string, run: string) =>
    setOpened((known) =>
      known.some(([each]) => each === id)
        ? known.filter(([each]) => each !== id && !each.startsWith(`${id}/`))
        : [...known, [id, run] as const],
    );
  return (
    <div className="min-h-[24rem] flex-1 bg-canvas">
      <Suspense fallback={<SkeletonLines lines={6} />}>
        <GraphView
          label="Graph of the run"
          graph={shown}
          opened={inside}
          selected={selected?.replace(/\[\d+\]$/, "")}
          onSelect={choose}
          onOpen={toggle}
        />
      </Suspense>
    </div>
  );
}
