import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Schemas } from "@/api/client";
import { configurationQuery } from "@/api/queries";
import { Badge, Button, Card, Code, type Column, EmptyState, ErrorBox, Icon, Input, Table } from "@/components";

type Setting = Schemas["EffectiveSetting"];

const COLUMNS: Column<Setting>[] = [
  { key: "key", header: "Setting", cell: (each) => <span className="foreign font-mono text-xs">{each.key}</span> },
  {
    key: "value",
    header: "Value",
    cell: (each) => <span className="foreign font-mono text-xs">{shown(each.value)}</span>,
  },
  {
    key: "origin",
    header: "From",
    phone: false,
    cell: (each) =>
      each.origin === "default" ? (
        <span className="text-ink-3">default</span>
      ) : (
        <Badge tone="run" title={each.spelling}>
          {each.origin}
        </Badge>
      ),
  },
];

function shown(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Every setting of the server, with what it comes from. */
export function ConfigurationTab() {
  const configuration = useQuery(configurationQuery);
  const [typed, setTyped] = useState("");
  const [changed, setChanged] = useState(false);
  const { data } = configuration;
  const wanted = typed.trim().toLowerCase();
  const rows = data?.settings.filter(
    (each) => (!changed || each.origin !== "default") && `${each.key} ${each.origin}`.toLowerCase().includes(wanted),
  );
  return (
    <div className="grid gap-4">
      {data?.warnings.map((warning) => (
        <p key={warning} className="foreign flex gap-2 rounded-md bg-wait-soft px-3 py-2 text-sm text-wait">
          <Icon name="alert" /> {warning}
        </p>
      ))}
      <div className="flex flex-wrap items-center gap-2">
        <Input
          label="Filter"
          hidden
          icon="search"
          data-filter=""
          placeholder="Filter settings"
          className="w-64"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        <Button aria-pressed={changed} look={changed ? "primary" : "plain"} onClick={() => setChanged(!changed)}>
          Only changed
        </Button>
        <span className="text-ink-3 text-xs">
          {data?.file ? (
            <>
              read from <Code>{data.file}</Code>
            </>
          ) : (
            data && "no configuration file was read"
          )}
        </span>
      </div>
      <Card flush>
        {configuration.error && !data ? (
          <ErrorBox error={configuration.error} />
        ) : (
          <Table
            label="Configuration"
            columns={COLUMNS}
            rows={rows}
            rowKey={(each) => each.key}
            empty={
              <EmptyState
                icon="settings"
                title={changed && !wanted ? "Every setting has its default" : "No such setting"}
              >
                {changed && !wanted && "A file turnout.toml or variables of the environment change them."}
              </EmptyState>
            }
          />
        )}
      </Card>
    </div>
  );
}
