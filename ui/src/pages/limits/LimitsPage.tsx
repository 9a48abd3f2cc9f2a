import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { Schemas } from "@/api/client";
import { limitsQuery } from "@/api/queries";
import { Badge, type Column, EmptyState, Panel, Table } from "@/components";
import { duration } from "@/lib/time";
import { ListPage } from "@/pages/ListPage";
import { LimitUsers } from "./LimitUsers";

type Limit = Schemas["LimitView"];

const route = getRouteApi("/shell/limits");

const COLUMNS: Column<Limit>[] = [
  {
    key: "name",
    header: "Limit",
    width: "minmax(6rem, 2fr)",
    cell: (limit) => (
      <span className="flex items-center gap-2">
        <span className="foreign truncate font-medium">{limit.name}</span>
        {limit.configured && <Badge title="Its size is that of the configuration">configured</Badge>}
        {limit.conflict && (
          <Badge tone="wait" title="Holders and waiters declare different sizes: the smallest is in force">
            sizes differ
          </Badge>
        )}
      </span>
    ),
  },
  {
    key: "size",
    header: "Allows",
    width: "minmax(5.5rem, 1fr)",
    cell: (limit) => <span className="text-ink-2">{allows(limit)}</span>,
  },
  { key: "use", header: "Use", width: "minmax(2rem, 10rem)", phone: false, cell: (limit) => <Use limit={limit} /> },
  { key: "held", header: "Held", width: "4rem", align: "end", cell: (limit) => limit.held },
  { key: "waiting", header: "Waiting", width: "5rem", align: "end", cell: (limit) => limit.waiting },
];

/** Returns what a limit allows, in words. */
function allows({ at_most: most, rate, per }: Limit): string {
  const parts: string[] = [];
  if (most !== null) parts.push(`${most} at once`);
  if (rate !== null) parts.push(`${rate} per ${duration(per ?? 1)}`);
  return parts.join(", ");
}

function Use({ limit }: { limit: Limit }) {
  if (limit.at_most === null) return <span className="text-ink-3">–</span>;
  const share = limit.at_most === 0 ? 1 : Math.min(1, limit.held / limit.at_most);
  return (
    <span aria-hidden="true" className="block h-1.5 overflow-hidden rounded-full bg-idle-soft">
      <span
        className={share >= 1 ? "block h-full bg-wait-mark" : "block h-full bg-run-mark"}
        style={{ width: `${share * 100}%` }}
      />
    </span>
  );
}

/** The limits that are held or waited for; one of them with its holders and its queue. */
export function LimitsPage() {
  const limits = useQuery(limitsQuery);
  const { task: chosen } = route.useSearch();
  const navigate = route.useNavigate();
  const show = (name?: string) => void navigate({ search: name ? { task: name } : {}, replace: true });
  return (
    <div className="flex min-h-0 flex-1">
      <div className="min-w-0 flex-1">
        <ListPage
          title="Limits"
          about="What holds each limit, and what waits for it; choose one to see both"
          error={limits.data === undefined ? limits.error : null}
          onRetry={() => void limits.refetch()}
        >
          <Table
            label="Limits"
            columns={COLUMNS}
            rows={limits.data?.limits}
            rowKey={(limit) => limit.name}
            onRowOpen={(limit) => show(limit.name)}
            isSelected={(limit) => limit.name === chosen}
            empty={
              <EmptyState icon="limits" title="No limit is held or waited for">
                A task declares one with <code>limit:</code> in YAML, or with the argument of the same name in Python.
              </EmptyState>
            }
          />
        </ListPage>
      </div>
      {chosen && (
        <Panel title={chosen} onClose={() => show()}>
          <LimitUsers name={chosen} />
        </Panel>
      )}
    </div>
  );
}
