import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Schemas } from "@/api/client";
import { auditQuery } from "@/api/queries";
import { Badge, Button, Card, type Column, EmptyState, ErrorBox, RelativeTime, Table } from "@/components";

type Entry = Schemas["AuditRow"];

/** Every request that changed something, or tried to. */
export function AuditTab() {
  const [actor, setActor] = useState<{ id: string; name: string } | null>(null);
  const audit = useInfiniteQuery(auditQuery(actor?.id));
  const rows = audit.data?.pages.flatMap((page) => page.entries);
  const columns: Column<Entry>[] = [
    { key: "at", header: "When", width: "5.5rem", cell: (entry) => <RelativeTime at={entry.at} /> },
    {
      key: "actor",
      header: "Token",
      width: "minmax(5rem, 10rem)",
      cell: (entry) => (
        <button
          type="button"
          title={`Only entries of ${entry.actor_name}`}
          onClick={() => setActor({ id: entry.actor, name: entry.actor_name })}
          className="foreign max-w-full truncate font-medium hover:underline"
        >
          {entry.actor_name}
        </button>
      ),
    },
    {
      key: "request",
      header: "Request",
      cell: (entry) => (
        <span className="foreign font-mono text-xs">
          <span className="text-ink-3">{entry.method}</span> {entry.target}
        </span>
      ),
    },
    {
      key: "status",
      header: "Outcome",
      width: "minmax(4rem, 11rem)",
      phone: false,
      cell: (entry) => (
        <Badge tone={entry.status < 400 ? "ok" : "bad"}>{`${entry.status}${entry.code ? ` ${entry.code}` : ""}`}</Badge>
      ),
    },
    {
      key: "address",
      header: "From",
      width: "8rem",
      phone: false,
      cell: (entry) => <span className="text-ink-2">{entry.address}</span>,
    },
  ];
  return (
    <Card
      title="Audit"
      flush
      aside={
        actor && (
          <Button small look="quiet" icon="close" onClick={() => setActor(null)}>
            {`Only ${actor.name}`}
          </Button>
        )
      }
    >
      {audit.error && !rows ? (
        <ErrorBox error={audit.error} />
      ) : (
        <Table
          label="Audit"
          columns={columns}
          rows={rows}
          rowKey={(entry) => String(entry.id)}
          empty={
            <EmptyState icon="list" title={actor ? `Nothing was changed by ${actor.name}` : "Nothing was changed yet"}>
              {actor
                ? "Show the entries of all tokens instead."
                : "Start a run, or make a token: each request that changes something is listed here, with its token."}
            </EmptyState>
          }
          footer={
            audit.hasNextPage && (
              <div className="grid place-items-center border-line border-t p-2">
                <Button small look="quiet" busy={audit.isFetchingNextPage} onClick={() => void audit.fetchNextPage()}>
                  Show older entries
                </Button>
              </div>
            )
          }
        />
      )}
    </Card>
  );
}
