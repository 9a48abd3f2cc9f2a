import { useQuery } from "@tanstack/react-query";
import type { Schemas } from "@/api/client";
import { routingQuery } from "@/api/queries";
import { Badge, type Column, EmptyState, Table } from "@/components";
import { ListPage } from "@/pages/ListPage";

type Rule = Schemas["Rule"];

const COLUMNS: Column<Rule>[] = [
  {
    key: "pattern",
    header: "Tasks",
    cell: (rule) => <span className="foreign font-mono text-xs">{rule.pattern}</span>,
  },
  { key: "executor", header: "Executor", cell: (rule) => <Badge tone="run">{rule.executor}</Badge> },
  {
    key: "labels",
    header: "Labels",
    phone: false,
    cell: (rule) =>
      Object.entries(rule.labels ?? {}).map(([label, value]) => <Badge key={label}>{`${label}=${value}`}</Badge>),
  },
  {
    key: "share",
    header: "Share",
    width: "5rem",
    align: "end",
    cell: (rule) => (rule.shadow ? "shadow" : rule.percent == null ? "all" : `${rule.percent} %`),
  },
];

/** The routing rules in force. */
export function DispatchPage() {
  const routing = useQuery(routingQuery);
  const { data } = routing;
  return (
    <ListPage
      title="Dispatch"
      about={
        data &&
        `The default executor is ${data.routing.default_executor ?? "default"}; the rules come from the ${data.origin}.`
      }
      error={data === undefined ? routing.error : null}
      onRetry={() => void routing.refetch()}
    >
      <Table
        label="Routing rules"
        columns={COLUMNS}
        rows={data && ((data.routing.rules ?? []) as Rule[])}
        rowKey={(rule) => `${rule.pattern} ${rule.executor} ${rule.percent}`}
        empty={
          <EmptyState icon="dispatch" title="No rules">
            Every task goes to the default executor, unless it asks for another one itself.
          </EmptyState>
        }
      />
    </ListPage>
  );
}
