import { useQuery } from "@tanstack/react-query";
import { orchestrationQuery } from "@/api/queries";
import { type Column, EmptyState, Table } from "@/components";
import { ListPage } from "@/pages/ListPage";

type Entry = [name: string, value: unknown];

const COLUMNS: Column<Entry>[] = [
  { key: "name", header: "Name", width: "14rem", cell: ([name]) => <span className="font-medium">{name}</span> },
  {
    key: "value",
    header: "Value",
    cell: ([, value]) => (
      <span className="foreign font-mono text-ink-2 text-xs">
        {typeof value === "object" ? JSON.stringify(value) : String(value)}
      </span>
    ),
  },
];

/** The health of the orchestrators. */
export function OrchestrationPage() {
  const health = useQuery(orchestrationQuery);
  return (
    <ListPage
      title="Orchestration"
      error={health.data === undefined ? health.error : null}
      onRetry={() => void health.refetch()}
    >
      <Table
        label="Health"
        columns={COLUMNS}
        rows={health.data && Object.entries(health.data)}
        rowKey={([name]) => name}
        empty={<EmptyState icon="orchestration" title="No orchestrator is alive" />}
      />
    </ListPage>
  );
}
