import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import type { Schemas } from "@/api/client";
import { runsQuery, workflowsQuery } from "@/api/queries";
import {
  Button,
  Code,
  type Column,
  Duration,
  EmptyState,
  ErrorBox,
  Input,
  PageHeader,
  RelativeTime,
  Select,
  ShortTrigger,
  StateBadge,
  Table,
} from "@/components";
import { cx } from "@/lib/cx";
import { useTyped } from "@/lib/debounce";
import { shortId } from "@/lib/names";
import type { RunSearch } from "@/lib/search";
import { RUN_STATES, type RunState, SOFT, toneOf } from "@/lib/states";
import { useTitle } from "@/lib/title";
import { type BulkAction, BulkDialog } from "./BulkDialog";
import { isNarrow } from "./filters";
import { SavedFilters } from "./SavedFilters";
import { TagFilter, TimeFilter } from "./TimeAndTags";
import { whyOf } from "./why";

type Run = Schemas["Run"];

const route = getRouteApi("/shell/runs");
/** Milliseconds after which the list is read again while runs of it go on. */
const WAITS_INTERVAL = 5_000;

export const RUN_COLUMNS: Column<Run>[] = [
  { key: "name", header: "Workflow", cell: (run) => <span className="foreign font-medium">{run.name}</span> },
  { key: "state", header: "State", width: "7rem", cell: (run) => <StateBadge state={run.state} /> },
  {
    key: "reason",
    header: "Why",
    phone: false,
    width: "minmax(0, 2fr)",
    cell: (run) => <span className={cx("foreign", run.error ? "text-bad" : "text-ink-2")}>{whyOf(run)}</span>,
  },
  {
    key: "trigger",
    header: "Started by",
    phone: false,
    cell: (run) => (
      <span className="text-ink-2 text-xs">
        <ShortTrigger trigger={run.trigger} />
      </span>
    ),
  },
  {
    key: "id",
    header: "Run",
    width: "6rem",
    phone: false,
    cell: (run) => <span className="font-mono text-ink-3 text-xs">{shortId(run.id)}</span>,
  },
  {
    key: "created",
    header: "Created",
    width: "5.5rem",
    align: "end",
    cell: (run) => <RelativeTime at={run.created_at} />,
  },
  {
    key: "duration",
    header: "Duration",
    width: "5.5rem",
    align: "end",
    phone: false,
    cell: (run) => <Duration from={run.started_at} to={run.finished_at} />,
  },
];

/** The list of runs: live, filtered by what its address says, and changed in bulk. */
export function RunsPage() {
  useTitle("Runs");
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [bulk, setBulk] = useState<BulkAction | null>(null);
  const { from, until, top, ...rest } = search;
  const [moreFilters, setMoreFilters] = useState(from !== undefined || until !== undefined || search.tag !== undefined);
  const runs = useInfiniteQuery({
    ...runsQuery({ ...rest, created_from: from, created_before: until, top_level: top, limit: 100 }),
    // That a task of a run waits is no event of the run.
    refetchInterval: ({ state }) =>
      state.data?.pages.some((page) => page.runs.some((run) => run.state === "running")) ? WAITS_INTERVAL : false,
  });
  const rows = runs.data?.pages.flatMap((page) => page.runs);
  const change = (to: Partial<RunSearch>) => void navigate({ search: (old) => ({ ...old, ...to }), replace: true });
  const more = () => {
    if (runs.hasNextPage && !runs.isFetching) void runs.fetchNextPage();
  };
  const narrow = isNarrow(search);
  return (
    <div className="flex h-full min-h-0 flex-col">
      <PageHeader
        title="Runs"
        actions={
          narrow && (
            <>
              <Button icon="rerun" onClick={() => setBulk("rerun")}>
                Rerun all
              </Button>
              <Button look="danger" icon="stop" onClick={() => setBulk("cancel")}>
                Cancel all
              </Button>
            </>
          )
        }
      />
      <div className="flex flex-wrap items-center gap-2 px-4 pb-3 md:px-6">
        <SavedFilters search={search} onChoose={(chosen) => void navigate({ search: chosen, replace: true })} />
        <WorkflowFilter value={search.workflow} onChange={(workflow) => change({ workflow })} />
        <KeyFilter value={search.key} onChange={(key) => change({ key })} />
        <States chosen={search.state ?? []} onChange={(state) => change({ state: state.length ? state : undefined })} />
        <Button
          small
          look={search.top ? "plain" : "quiet"}
          aria-pressed={search.top ?? false}
          onClick={() => change({ top: search.top ? undefined : true })}
        >
          Without child runs
        </Button>
        <Button
          small
          look={moreFilters ? "plain" : "quiet"}
          icon="filter"
          aria-expanded={moreFilters}
          onClick={() => setMoreFilters(!moreFilters)}
        >
          Time and tags
        </Button>
        {narrow && (
          <Button small look="quiet" icon="close" onClick={() => void navigate({ search: {}, replace: true })}>
            Clear
          </Button>
        )}
        {moreFilters && (
          <div className="grid w-full grid-cols-1 items-start gap-2 min-[28rem]:grid-cols-2 md:flex md:flex-wrap">
            <TimeFilter from={from} until={until} onChange={change} />
            <TagFilter chosen={search.tag ?? []} onChange={(tag) => change({ tag })} />
          </div>
        )}
      </div>
      <div className="mx-4 mb-4 min-h-0 flex-1 overflow-hidden rounded-lg border border-line bg-surface shadow-card md:mx-6">
        {runs.error && !rows ? (
          <ErrorBox error={runs.error} onRetry={() => void runs.refetch()} />
        ) : (
          <Table
            label="Runs"
            columns={RUN_COLUMNS}
            rows={rows}
            rowKey={(run) => run.id}
            rowLink={(run) => ({ to: "/runs/$runId", params: { runId: run.id } })}
            virtual={rows !== undefined}
            onEnd={more}
            empty={
              narrow ? (
                <EmptyState icon="filter" title="No run fits this filter">
                  Clear it to see all runs.
                </EmptyState>
              ) : (
                <EmptyState icon="runs" title="No runs">
                  Start one on the page of a workflow, or with <Code>turnout enqueue NAME</Code>.
                </EmptyState>
              )
            }
          />
        )}
      </div>
      {bulk && <BulkDialog action={bulk} search={search} onClose={() => setBulk(null)} />}
    </div>
  );
}

function States({ chosen, onChange }: { chosen: readonly RunState[]; onChange: (states: RunState[]) => void }) {
  const toggle = (state: RunState) =>
    onChange(chosen.includes(state) ? chosen.filter((each) => each !== state) : [...chosen, state]);
  return (
    <fieldset className="flex flex-wrap gap-1">
      <legend className="sr-only">States</legend>
      {RUN_STATES.map((state) => {
        const on = chosen.includes(state);
        return (
          <button
            key={state}
            type="button"
            aria-pressed={on}
            onClick={() => toggle(state)}
            className={cx(
              "h-7 rounded-md border px-2 font-medium text-xs",
              on ? `${SOFT[toneOf(state)]} border-current` : "border-line text-ink-2 hover:bg-hover hover:text-ink",
            )}
          >
            {state}
          </button>
        );
      })}
    </fieldset>
  );
}

function WorkflowFilter({ value, onChange }: { value: string | undefined; onChange: (name?: string) => void }) {
  const names = useInfiniteQuery(workflowsQuery({ limit: 200 })).data?.pages.flatMap((page) =>
    page.workflows.map((each) => each.name),
  );
  const all = value && !names?.includes(value) ? [value, ...(names ?? [])] : (names ?? []);
  return (
    <Select
      label="Workflow"
      hidden
      className="w-44"
      data-filter=""
      value={value ?? ""}
      onChange={(event) => onChange(event.target.value || undefined)}
    >
      <option value="">All workflows</option>
      {all.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </Select>
  );
}

function KeyFilter({ value, onChange }: { value: string | undefined; onChange: (key?: string) => void }) {
  const [typed, setTyped] = useTyped(value, onChange);
  return (
    <Input
      label="Key"
      hidden
      placeholder="Key"
      className="w-32"
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
    />
  );
}
