import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { Schemas } from "@/api/client";
import { workflowsQuery } from "@/api/queries";
import { Badge, Button, Code, type Column, EmptyState, Input, RelativeTime, StateStrip, Table } from "@/components";
import { useSettled } from "@/lib/debounce";
import type { WorkflowSearch } from "@/lib/search";
import { ListPage } from "@/pages/ListPage";
import { FileProblems } from "./FileProblems";

type Workflow = Schemas["WorkflowSummary"];

const route = getRouteApi("/shell/workflows");

/** The list of workflows, each with the states of its last runs. */
export function WorkflowsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [typed, setTyped] = useState(search.q ?? "");
  const text = useSettled(typed);
  const choose = (changed: Partial<WorkflowSearch>) =>
    void navigate({ search: (known) => ({ ...known, ...changed }), replace: true });
  useEffect(() => {
    void navigate({ search: (known) => ({ ...known, q: text || undefined }), replace: true });
  }, [text, navigate]);

  const workflows = useInfiniteQuery(workflowsQuery({ ...search, recent: 15, limit: 100 }));
  const rows = workflows.data?.pages.flatMap((page) => page.workflows);
  const files = workflows.data?.pages[0]?.files ?? [];
  const filtered = Object.keys(search).length > 0;
  const clear = () => {
    setTyped("");
    void navigate({ search: {} });
  };
  const toggle = (tag: string) => {
    const known = search.tag ?? [];
    const next = known.includes(tag) ? known.filter((each) => each !== tag) : [...known, tag];
    choose({ tag: next.length > 0 ? next : undefined });
  };

  return (
    <ListPage
      title="Workflows"
      filters={
        <>
          <Input
            label="Filter by name or description"
            hidden
            icon="search"
            data-filter=""
            placeholder="Name or description"
            className="w-64"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
          {(["yaml", "python"] as const).map((kind) => (
            <Choice
              key={kind}
              on={search.kind === kind}
              onClick={() => choose({ kind: search.kind === kind ? undefined : kind })}
            >
              {kind === "yaml" ? "YAML" : "Python"}
            </Choice>
          ))}
          <Choice on={search.broken === true} onClick={() => choose({ broken: search.broken ? undefined : true })}>
            With errors
          </Choice>
          {search.tag?.map((tag) => (
            <Button key={tag} small icon="close" onClick={() => toggle(tag)}>
              <span className="foreign">tag: {tag}</span>
            </Button>
          ))}
        </>
      }
      error={rows === undefined ? workflows.error : null}
      onRetry={() => void workflows.refetch()}
    >
      {files.length > 0 && <FileProblems files={files} />}
      <Table
        label="Workflows"
        columns={columns(toggle)}
        rows={rows}
        rowKey={(each) => each.full_name}
        rowLink={(each) => ({ to: "/workflows/$name", params: { name: each.full_name } })}
        empty={<NoWorkflows filtered={filtered} onClear={clear} />}
        footer={
          workflows.hasNextPage && (
            <div className="border-line border-t p-2 text-center">
              <Button small look="quiet" busy={workflows.isFetching} onClick={() => void workflows.fetchNextPage()}>
                Show more
              </Button>
            </div>
          )
        }
      />
    </ListPage>
  );
}

function Choice({ on, onClick, children }: { on: boolean; onClick: () => void; children: string }) {
  return (
    <Button aria-pressed={on} onClick={onClick} className={on ? "border-accent bg-accent-soft" : undefined}>
      {children}
    </Button>
  );
}

function NoWorkflows({ filtered, onClear }: { filtered: boolean; onClear: () => void }) {
  if (filtered) {
    return (
      <EmptyState icon="filter" title="No workflow fits the filter">
        <Button small onClick={onClear}>
          Clear the filter
        </Button>
      </EmptyState>
    );
  }
  return (
    <EmptyState icon="workflows" title="No workflows">
      Start the server with some: <Code>turnout server flows.py</Code>, or put YAML files into one of its workflow
      folders.
    </EmptyState>
  );
}

function columns(onTag: (tag: string) => void): Column<Workflow>[] {
  return [
    {
      key: "name",
      header: "Name",
      cell: (each) => (
        <span className="flex items-center gap-2">
          <span className="foreign truncate font-medium">{each.name}</span>
          {each.removed ? <Badge tone="idle">removed</Badge> : <Health workflow={each} />}
        </span>
      ),
    },
    { key: "recent", header: "Last runs", width: "9rem", cell: (each) => <StateStrip runs={each.recent ?? []} /> },
    {
      key: "last",
      header: "Last run",
      width: "5.5rem",
      phone: false,
      cell: (each) => <RelativeTime at={each.recent?.[0]?.created_at} />,
    },
    {
      key: "kind",
      header: "Source",
      width: "4.5rem",
      phone: false,
      cell: (each) => <span className="text-ink-2">{each.kind === "yaml" ? "YAML" : "Python"}</span>,
    },
    {
      key: "tags",
      header: "Tags",
      phone: false,
      cell: (each) => (
        <span className="flex gap-1 overflow-hidden">
          {(each.tags ?? []).map((tag) => (
            <button key={tag} type="button" title={`Only those with the tag ${tag}`} onClick={() => onTag(tag)}>
              <Badge>{tag}</Badge>
            </button>
          ))}
        </span>
      ),
    },
    {
      key: "about",
      header: "Description",
      phone: false,
      width: "minmax(0, 2fr)",
      cell: (each) => <span className="foreign text-ink-2">{each.description}</span>,
    },
  ];
}

/** Says if there is something wrong with the text of a workflow. */
function Health({ workflow }: { workflow: Workflow }) {
  const errors = workflow.findings?.filter((each) => each.severity === "error") ?? [];
  if (errors.length === 0 && workflow.available !== false) return null;
  return (
    <Badge tone="bad" title={errors[0]?.message}>
      {workflow.available === false ? "unavailable" : "errors"}
    </Badge>
  );
}
