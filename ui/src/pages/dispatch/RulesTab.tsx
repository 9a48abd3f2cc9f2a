import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { api, call, type Schemas } from "@/api/client";
import { routedTasksQuery, routingQuery, sessionQuery } from "@/api/queries";
import {
  Badge,
  Button,
  Card,
  Code,
  type Column,
  Dialog,
  EmptyState,
  ErrorBox,
  Icon,
  Labels,
  Table,
  toast,
  toastError,
} from "@/components";
import { counted, whole } from "@/lib/numbers";

type Rule = Schemas["Rule"];
type InForce = Schemas["RoutingInForce"];

interface Numbered {
  number: number;
  rule: Rule;
  /** Known tasks that it decides; undefined while that is not known. */
  decides: number | undefined;
}

/** The most tasks that are counted by rule. */
const COUNTED = 1_000;

const COLUMNS: Column<Numbered>[] = [
  {
    key: "number",
    header: "#",
    width: "2rem",
    cell: ({ number }) => <span className="text-ink-3">{number}</span>,
  },
  {
    key: "pattern",
    header: "Tasks whose full name fits",
    width: "minmax(0, 2fr)",
    cell: ({ rule }) => <span className="foreign font-mono text-xs">{rule.pattern}</span>,
  },
  {
    key: "executor",
    header: "go to",
    width: "minmax(5rem, 1fr)",
    cell: ({ rule }) => (
      <span className="flex items-center gap-1.5">
        <Icon name="chevron" size={12} />
        <Badge tone="run">{rule.executor}</Badge>
      </span>
    ),
  },
  {
    key: "labels",
    header: "on workers with",
    phone: false,
    cell: ({ rule }) => <Labels labels={rule.labels} none="any labels" />,
  },
  {
    key: "share",
    header: "for",
    width: "7rem",
    phone: false,
    cell: ({ rule }) => <Share rule={rule} />,
  },
  {
    key: "decides",
    header: "Decides",
    width: "5rem",
    align: "end",
    cell: ({ rule, decides }) =>
      rule.shadow || decides === undefined ? (
        <span className="text-ink-3">–</span>
      ) : (
        <span className={decides === 0 ? "text-ink-3" : undefined}>{counted(decides, "task")}</span>
      ),
  },
];

function Share({ rule }: { rule: Rule }) {
  if (rule.shadow) {
    return (
      <Badge tone="hold" title="Adds a copy whose result is compared and decides nothing">
        {rule.percent == null ? "a shadow copy" : `shadow, ${rule.percent} %`}
      </Badge>
    );
  }
  if (rule.percent == null) return <span className="text-ink-2">all runs</span>;
  return <Badge tone="wait">{`${rule.percent} % of runs`}</Badge>;
}

/** The rules in force, in the order in which they are asked. */
export function RulesTab({ onEdit }: { onEdit: () => void }) {
  const routing = useQuery(routingQuery);
  const tasks = useInfiniteQuery(routedTasksQuery({ limit: COUNTED }));
  const first = tasks.data?.pages[0];
  const rows = useMemo(() => numbered(routing.data, first), [routing.data, first]);
  if (routing.error && !routing.data) return <ErrorBox error={routing.error} onRetry={() => void routing.refetch()} />;
  const byDefault = first?.tasks.filter((each) => each.rule == null && !each.refused).length;
  const refused = first?.tasks.filter((each) => each.refused).length ?? 0;
  return (
    <div className="grid gap-4 p-4 md:px-6">
      {routing.data?.problem && <Problem text={routing.data.problem} />}
      <Card
        title="Rules, in order: the first that fits decides"
        flush
        aside={
          <>
            <Revert routing={routing.data} />
            <Button small look="primary" onClick={onEdit} disabled={routing.data === undefined}>
              Edit and try
            </Button>
          </>
        }
      >
        <Table
          label="Routing rules"
          columns={COLUMNS}
          rows={rows}
          rowKey={({ number }) => String(number)}
          empty={
            <EmptyState icon="dispatch" title="No rules">
              Every task goes to the default executor, unless it asks for another one or for labels itself. “Edit and
              try” shows what a rule would change before it is in force.
            </EmptyState>
          }
        />
        {routing.data && (
          <div className="flex flex-wrap items-center gap-x-2 gap-y-1 border-line border-t bg-sunken px-3.5 py-2 text-ink-2 text-sm">
            <span>Otherwise: what the task asks for itself, else the default executor</span>
            <Badge tone="run">{routing.data.routing.default_executor ?? "default"}</Badge>
            {byDefault !== undefined && (
              <span className="ml-auto text-xs">
                {`${whole(byDefault)}${first?.next ? "+" : ""} known ${byDefault === 1 ? "task" : "tasks"}`}
              </span>
            )}
          </div>
        )}
      </Card>
      {refused > 0 && (
        <p role="status" className="flex items-center gap-2 rounded-md bg-bad-soft px-3 py-2 text-bad text-sm">
          <Icon name="alert" />
          {counted(refused, "known task")} would be refused: “Where tasks go” has the reason of each.
        </p>
      )}
    </div>
  );
}

function numbered(routing: InForce | undefined, page: Schemas["RoutedTasks"] | undefined): Numbered[] | undefined {
  const counts = new Map<number, number>();
  for (const { rule } of page?.tasks ?? []) if (rule != null) counts.set(rule, (counts.get(rule) ?? 0) + 1);
  return (routing?.routing.rules as Rule[] | undefined)?.map((rule, index) => ({
    number: index + 1,
    rule,
    decides: page === undefined || page.next != null ? undefined : (counts.get(index + 1) ?? 0),
  }));
}

function Problem({ text }: { text: string }) {
  return (
    <div role="alert" className="flex gap-2 rounded-md bg-bad-soft px-3 py-2 text-bad text-sm">
      <Icon name="alert" className="mt-0.5 shrink-0" />
      <span className="foreign">The rules in the database are not in force on this server: {text}</span>
    </div>
  );
}

/** Returns every server to the rules of its configuration, after a question. */
function Revert({ routing }: { routing: InForce | undefined }) {
  const [asking, setAsking] = useState(false);
  const session = useQuery(sessionQuery);
  const client = useQueryClient();
  const revert = useMutation({
    mutationFn: (version: number) =>
      call(api.DELETE("/api/v1/routing", { params: { header: { "If-Match": `"${version}"` } } })),
    onSuccess: () => toast("The rules of the configuration are in force"),
    onError: (error) => toastError("The rules stay as they are", error),
    onSettled: () => {
      setAsking(false);
      void client.invalidateQueries({ queryKey: ["routing"] });
    },
  });
  if (!routing?.revert || session.data?.role !== "admin") return null;
  return (
    <>
      <Button small look="quiet" onClick={() => setAsking(true)}>
        Back to the configuration
      </Button>
      <Dialog
        open={asking}
        onClose={() => setAsking(false)}
        title="Back to the rules of the configuration"
        actions={
          <>
            <Button onClick={() => setAsking(false)}>Keep them</Button>
            <Button look="danger" busy={revert.isPending} onClick={() => revert.mutate(routing.version)}>
              Delete the shared rules
            </Button>
          </>
        }
      >
        <p className="text-sm">
          Version {routing.version} is deleted from the database. Every server then decides by the rules of its own
          configuration (<Code>turnout.toml</Code>). Attempts that run keep their decision.
        </p>
      </Dialog>
    </>
  );
}
