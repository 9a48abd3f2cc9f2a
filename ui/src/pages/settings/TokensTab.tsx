import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, call, type Schemas } from "@/api/client";
import { tokensQuery } from "@/api/queries";
import {
  Badge,
  Button,
  Card,
  type Column,
  Dialog,
  ErrorBox,
  RelativeTime,
  Table,
  toast,
  toastError,
} from "@/components";
import type { Tone } from "@/lib/states";
import { NewToken } from "./NewToken";

type Token = Schemas["TokenRow"];

const STATES: Record<string, Tone> = { usable: "ok", revoked: "idle", expired: "wait" };

/** The access tokens; sessions of browsers, which end with their token, are left out. */
export function TokensTab() {
  const tokens = useQuery(tokensQuery);
  const [creating, setCreating] = useState(false);
  const [leaving, setLeaving] = useState<Token | null>(null);
  const [all, setAll] = useState(false);
  const made = tokens.data?.tokens.filter((token) => token.parent === null);
  const names = new Map(made?.map((token) => [token.id, token.name]));
  const rows = made?.filter((token) => all || token.state === "usable");
  const hidden = (made?.length ?? 0) - (rows?.length ?? 0);

  const columns: Column<Token>[] = [
    { key: "name", header: "Name", cell: (token) => <span className="foreign font-medium">{token.name}</span> },
    { key: "role", header: "Role", width: "4.5rem", cell: (token) => token.role },
    {
      key: "state",
      header: "State",
      width: "4.5rem",
      cell: (token) => <Badge tone={STATES[token.state] ?? "idle"}>{token.state}</Badge>,
    },
    {
      key: "by",
      header: "Made by",
      phone: false,
      cell: (token) => <span className="foreign text-ink-2">{names.get(token.created_by) ?? token.created_by}</span>,
    },
    {
      key: "created",
      header: "Made",
      width: "5.5rem",
      phone: false,
      cell: (token) => <RelativeTime at={token.created_at} />,
    },
    {
      key: "expires",
      header: "Expires",
      width: "5.5rem",
      phone: false,
      cell: (token) => <RelativeTime at={token.expires_at} />,
    },
    {
      key: "used",
      header: "Last used",
      width: "5.5rem",
      phone: false,
      cell: (token) => <RelativeTime at={token.last_used_at} />,
    },
    {
      key: "act",
      header: <span className="sr-only">Actions</span>,
      width: "5rem",
      align: "end",
      cell: (token) =>
        token.state === "usable" && (
          <Button small look="danger" aria-label={`Revoke ${token.name}`} onClick={() => setLeaving(token)}>
            Revoke
          </Button>
        ),
    },
  ];
  return (
    <>
      <Card
        title="Access tokens"
        flush
        aside={
          <>
            {(hidden > 0 || all) && (
              <Button small look="quiet" onClick={() => setAll(!all)}>
                {all ? "Only usable" : `Show ${hidden} revoked or expired`}
              </Button>
            )}
            <Button small icon="plus" onClick={() => setCreating(true)}>
              New token
            </Button>
          </>
        }
      >
        {tokens.error && !tokens.data ? (
          <ErrorBox error={tokens.error} />
        ) : (
          <Table label="Access tokens" columns={columns} rows={rows} rowKey={(token) => token.id} />
        )}
      </Card>
      <NewToken open={creating} onClose={() => setCreating(false)} />
      <Revocation token={leaving} onClose={() => setLeaving(null)} />
    </>
  );
}

function Revocation({ token, onClose }: { token: Token | null; onClose: () => void }) {
  const revoke = useMutation({
    mutationFn: (id: string) => call(api.DELETE("/api/v1/tokens/{token}", { params: { path: { token: id } } })),
    onSuccess: (row) => toast(`The token ${row.name} is revoked`),
    onError: (error) => toastError("The token was not revoked", error),
    onSettled: onClose,
  });
  return (
    <Dialog
      open={token !== null}
      onClose={onClose}
      title="Revoke a token"
      actions={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button look="danger" busy={revoke.isPending} onClick={() => token && revoke.mutate(token.id)}>
            Revoke
          </Button>
        </>
      }
    >
      <p>
        Requests with <b className="foreign font-semibold">{token?.name}</b> are refused, and its streams and browser
        sessions end, within two seconds. A revoked token cannot be used again.
      </p>
    </Dialog>
  );
}
