import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Schemas } from "@/api/client";
import { aboutQuery } from "@/api/queries";
import { Badge, Card, type Column, CopyButton, ErrorBox, SkeletonLines, Table } from "@/components";
import { BUILD } from "@/lib/page";
import { duration } from "@/lib/time";

const EXTRAS: Column<Schemas["ExtraPackage"]>[] = [
  { key: "package", header: "Package", cell: (each) => <span className="font-medium">{each.package}</span> },
  {
    key: "version",
    header: "Version",
    width: "8rem",
    cell: (each) => (each.version ? each.version : <Badge>not installed</Badge>),
  },
  { key: "extra", header: "Extra", width: "7rem", phone: false, cell: (each) => each.extra },
  {
    key: "purpose",
    header: "For",
    phone: false,
    width: "minmax(0, 2fr)",
    cell: (each) => <span className="text-ink-2">{each.purpose}</span>,
  },
];

/** The versions of the server, of its database and of its packages. */
export function VersionsTab() {
  const about = useQuery(aboutQuery);
  const { data } = about;
  if (data === undefined) return about.error ? <ErrorBox error={about.error} /> : <SkeletonLines lines={6} />;
  const database = `${data.database.kind === "sqlite" ? "SQLite" : "PostgreSQL"} ${data.database.version}`;
  const facts: [string, ReactNode][] = [
    ["Turnout", data.turnout],
    ["Interface", BUILD || "development server"],
    ["Database", `${database}, schema ${data.database.schema}`],
    ["Python", `${data.implementation} ${data.python}`],
    ["Platform", data.platform],
    ["Orchestrator", `${data.orchestrator}, process ${data.pid}`],
    ["Up for", duration(data.up_seconds)],
  ];
  const report = facts.map(([name, value]) => `${name}: ${value}`).join("\n");
  return (
    <div className="grid gap-4">
      <Card title="Versions" aside={<CopyButton text={report} label="Copy the versions" />}>
        <dl className="grid grid-cols-[7rem_minmax(0,1fr)] gap-y-1.5 text-sm">
          {facts.map(([name, value]) => (
            <div key={name} className="contents">
              <dt className="text-ink-3">{name}</dt>
              <dd className="foreign">{value}</dd>
            </div>
          ))}
        </dl>
      </Card>
      <Card title="Optional packages" flush>
        <Table label="Optional packages" columns={EXTRAS} rows={data.extras} rowKey={(each) => each.package} />
      </Card>
    </div>
  );
}
