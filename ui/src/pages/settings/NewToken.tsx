import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useId, useState } from "react";
import { api, call, type Schemas } from "@/api/client";
import { Button, CopyButton, Dialog, ErrorBox, Input, Select } from "@/components";

type Role = Schemas["Role"];

const ROLES: [Role, string][] = [
  ["viewer", "viewer: looks"],
  ["operator", "operator: starts, cancels and reruns too"],
  ["author", "author: changes workflows too"],
  ["admin", "admin: everything"],
];
const LIFETIMES: [string, number][] = [
  ["Until it is revoked", 0],
  ["1 day", 86_400],
  ["30 days", 30 * 86_400],
  ["90 days", 90 * 86_400],
  ["1 year", 365 * 86_400],
];

/** Makes a token, and shows its secret once. */
export function NewToken({ open, onClose }: { open: boolean; onClose: () => void }) {
  const form = useId();
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("viewer");
  const [lifetime, setLifetime] = useState(90 * 86_400);
  const create = useMutation({
    mutationFn: () => call(api.POST("/api/v1/tokens", { body: { name, role, lifetime: lifetime || null } })),
  });
  const close = () => {
    onClose();
    setName("");
    create.reset();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  const made = create.data;
  return (
    <Dialog
      open={open}
      onClose={close}
      title={made ? `The token ${made.token.name}` : "New token"}
      actions={
        made ? (
          <Button look="primary" onClick={close}>
            Done
          </Button>
        ) : (
          <>
            <Button onClick={close}>Cancel</Button>
            <Button look="primary" type="submit" form={form} busy={create.isPending}>
              Make the token
            </Button>
          </>
        )
      }
    >
      {made ? (
        <div className="grid gap-2.5">
          <p>Copy it now: it is shown this once and not stored.</p>
          <div className="flex items-center gap-2 rounded-md border border-line-strong bg-sunken p-2">
            <code className="foreign min-w-0 flex-1 font-mono text-xs" data-testid="secret">
              {made.secret}
            </code>
            <CopyButton text={made.secret} label="Copy the token" />
          </div>
        </div>
      ) : (
        <form id={form} onSubmit={submit} className="grid gap-3.5">
          <Input
            label="Name"
            required
            maxLength={100}
            hint="Who or what it is for: the audit shows it."
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
          <Select label="Role" value={role} onChange={(event) => setRole(event.target.value as Role)}>
            {ROLES.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </Select>
          <Select label="Valid for" value={lifetime} onChange={(event) => setLifetime(Number(event.target.value))}>
            {LIFETIMES.map(([label, value]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </Select>
          {create.error && (
            <div className="-mx-3.5">
              <ErrorBox error={create.error} />
            </div>
          )}
        </form>
      )}
    </Dialog>
  );
}
