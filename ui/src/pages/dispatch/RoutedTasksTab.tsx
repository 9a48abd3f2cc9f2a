import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Schemas } from "@/api/client";
import { executorsQuery, routedTasksQuery } from "@/api/queries";
import { Badge, Code, type Column, EmptyState, ErrorBox, Input, Labels, Select, Table } from "@/components";
import { cx } from "@/lib/cx";
import { useSettled } from "@/lib/debounce";
import { lastSegment } from "@/lib/names";

type Routed = Schemas["RoutedTask"];

const COLUMNS: Column<Routed>[] = [
  {
    key: "task",
    header: "Task",
    width: "minmax(0, 1.4fr)",
    cell: (routed) => (
      <span className="flex items-baseline gap-2" title={routed.task}>
        <span className="foreign truncate font-medium">{routed.name}</span>
        {routed.mapped && <Badge title="Each of its items goes there">mapped</Badge>}
      </span>
    ),
  },
  {
    key: "workflow",
    header: "Workflow",
    phone: false,
    cell: (routed) => (
      <Link
        to="/workflows/$name"
        params={{ name: routed.workflow }}
        title={routed.workflow}
        className="foreign text-ink-2 hover:underline"
      >
        {lastSegment(routed.workflow)}
      </Link>
    ),
  },
  {
    key: "executor",
    header: "Goes to",
    width: "minmax(6rem, 1.2fr)",
    cell: (routed) => (
      <span className="flex gap-1 overflow-hidden">
        {routed.refused ? <Badge tone="bad">refused</Badge> : <Badge tone="run">{routed.executor}</Badge>}
        <Labels labels={routed.labels} />
      </span>
    ),
  },
  {
    key: "reason",
    header: "Because",
    width: "minmax(0, 1.6fr)",
    phone: false,
    cell: (routed) => (
      <span className={cx("foreign text-xs", routed.refused ? "text-bad" : "text-ink-2")} title={routed.reason}>
        {routed.reason}
      </span>
    ),
  },
];

interface RoutedTasksTabProps {
  executor: string | undefined;
  onExecutor: (executor: string | undefined) => void;
}

/** Every known task with where a new run would send it, and why. */
export function RoutedTasksTab({ executor, onExecutor }: RoutedTasksTabProps) {
  const [text, setText] = useState("");
  const q = useSettled(text.trim()) || undefined;
  const executors = useQuery(executorsQuery);
  const tasks = useInfiniteQuery(routedTasksQuery({ executor, q, limit: 200 }));
  const rows = tasks.data?.pages.flatMap((page) => page.tasks);
  const keys = new Set([...(executors.data?.executors.map((each) => each.key) ?? []), ...(executor ? [executor] : [])]);
  const narrow = executor !== undefined || q !== undefined;
  const more = () => {
    if (tasks.hasNextPage && !tasks.isFetching) void tasks.fetchNextPage();
  };
  return (
    <div className="flex min-h-0 flex-1 flex-col p-4 md:px-6">
      <div className="mb-3 flex flex-wrap items-center gap-2">
        <Input
          label="Filter tasks"
          hidden
          icon="search"
          data-filter=""
          placeholder="Part of a task's full name"
          value={text}
          onChange={(event) => setText(event.target.value)}
          className="w-64"
        />
        <Select
          label="Executor"
          hidden
          value={executor ?? ""}
          onChange={(event) => onExecutor(event.target.value || undefined)}
          className="w-44"
        >
          <option value="">All executors</option>
          {[...keys].map((key) => (
            <option key={key}>{key}</option>
          ))}
        </Select>
        <span className="text-ink-3 text-xs">Rules for a share of runs are left out here.</span>
      </div>
      <div className="h-[32rem] min-h-0 flex-1 overflow-hidden rounded-lg border border-line bg-surface shadow-card">
        {tasks.error && !rows ? (
          <ErrorBox error={tasks.error} onRetry={() => void tasks.refetch()} />
        ) : (
          <Table
            label="Where tasks go"
            columns={COLUMNS}
            rows={rows}
            rowKey={(routed) => routed.task}
            virtual={rows !== undefined}
            onEnd={more}
            empty={
              narrow ? (
                <EmptyState icon="filter" title="No known task fits">
                  Choose another executor, or clear the text.
                </EmptyState>
              ) : (
                <EmptyState icon="dispatch" title="No workflow is known">
                  <Code>turnout server flows.py</Code> starts a server with the workflows of a file.
                </EmptyState>
              )
            }
          />
        )}
      </div>
    </div>
  );
}
