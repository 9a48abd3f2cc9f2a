import { useQuery } from "@tanstack/react-query";
import type { Schemas } from "@/api/client";
import { workflowGraphsQuery, workflowVersionsQuery } from "@/api/queries";
import {
  Badge,
  Card,
  type Column,
  EmptyState,
  ErrorBox,
  RelativeTime,
  Select,
  SkeletonLines,
  Table,
} from "@/components";
import type { WorkflowPageSearch } from "@/lib/search";
import { GraphComparison } from "./GraphComparison";
import { TextComparison } from "./TextComparison";

type GraphVersion = Schemas["GraphVersion"];

type Compared = Pick<WorkflowPageSearch, "before" | "after" | "text">;

interface VersionsTabProps {
  name: string;
  workflow: Schemas["WorkflowDetail"] | undefined;
  compared: Compared;
  onCompare: (change: Compared) => void;
}

/** The versions of a workflow, and what changed between two of them: in its graph, and for stored texts in the text. */
export function VersionsTab({ name, workflow, compared, onCompare }: VersionsTabProps) {
  const stored = workflow !== undefined && workflow.origin !== "code";
  return (
    <div className="grid gap-4">
      <Graphs name={name} chosen={compared} onChoose={onCompare} />
      {stored && <Texts name={name} shown={compared.text} onShow={(text) => onCompare({ text })} />}
    </div>
  );
}

interface GraphsProps {
  name: string;
  chosen: Compared;
  onChoose: (change: Compared) => void;
}

function Graphs({ name, chosen, onChoose }: GraphsProps) {
  const graphs = useQuery(workflowGraphsQuery(name));
  if (graphs.error && !graphs.data) return <ErrorBox error={graphs.error} onRetry={() => void graphs.refetch()} />;
  const all = graphs.data?.versions;
  if (all === undefined) return <SkeletonLines lines={6} />;
  const [newest, previous] = all;
  if (newest === undefined) {
    return (
      <Card>
        <EmptyState icon="workflows" title="No version has run yet">
          A version is kept when a run uses it first. From the second on they can be compared here.
        </EmptyState>
      </Card>
    );
  }
  const after = all.find((each) => each.version === chosen.after) ?? newest;
  const before = all.find((each) => each.version === chosen.before) ?? previous;
  return (
    <Card
      title="Graphs"
      flush
      aside={
        before && (
          <>
            <Choice
              label="Compare version"
              all={all}
              value={before.version}
              onChange={(version) => onChoose({ before: version })}
            />
            <span>with</span>
            <Choice
              label="with version"
              all={all}
              value={after.version}
              onChange={(version) => onChoose({ after: version })}
            />
          </>
        )
      }
    >
      {before === undefined ? (
        <Table label="Versions" columns={COLUMNS} rows={all} rowKey={(each) => each.version} />
      ) : (
        <GraphComparison name={name} before={before} after={after} />
      )}
    </Card>
  );
}

interface ChoiceProps {
  label: string;
  all: readonly GraphVersion[];
  value: string;
  onChange: (version: string) => void;
}

function Choice({ label, all, value, onChange }: ChoiceProps) {
  return (
    <Select label={label} hidden value={value} onChange={(event) => onChange(event.target.value)} className="w-36">
      {all.map((each) => (
        <option key={each.version} value={each.version}>
          {each.number}
          {each.current ? " (in force)" : ""}
        </option>
      ))}
    </Select>
  );
}

const COLUMNS: Column<GraphVersion>[] = [
  {
    key: "number",
    header: "Version",
    cell: (each) => (
      <span className="flex items-center gap-2">
        {each.number} {each.current && <Badge tone="ok">in force</Badge>}
      </span>
    ),
  },
  { key: "created", header: "Made", cell: (each) => <RelativeTime at={each.created_at} /> },
  { key: "used", header: "Last run", cell: (each) => <RelativeTime at={each.used_at} /> },
  {
    key: "hash",
    header: "Hash",
    phone: false,
    cell: (each) => <span className="font-mono text-ink-2 text-xs">{each.version.slice(0, 12)}</span>,
  },
];

interface TextsProps {
  name: string;
  shown: number | undefined;
  onShow: (version: number | undefined) => void;
}

function Texts({ name, shown, onShow }: TextsProps) {
  const versions = useQuery(workflowVersionsQuery(name));
  const rows = versions.data?.versions;
  const index = rows?.findIndex((each) => each.version === shown) ?? -1;
  const columns: Column<Schemas["VersionSummary"]>[] = [
    {
      key: "version",
      header: "Version",
      width: "9rem",
      cell: (each) => (
        <span className="flex items-center gap-2 font-medium">
          {each.version} {each.current && <Badge tone="ok">in force</Badge>}
        </span>
      ),
    },
    { key: "by", header: "By", cell: (each) => <span className="foreign">{each.actor}</span> },
    { key: "at", header: "When", width: "6rem", cell: (each) => <RelativeTime at={each.created_at} /> },
    {
      key: "digest",
      header: "SHA-256",
      phone: false,
      cell: (each) => <span className="font-mono text-ink-2 text-xs">{each.digest.slice(0, 16)}</span>,
    },
  ];
  return (
    <Card title="Texts" flush aside="a row shows what it changed">
      {versions.error && !versions.data ? (
        <ErrorBox error={versions.error} />
      ) : (
        <Table
          label="Texts"
          columns={columns}
          rows={rows}
          rowKey={(each) => String(each.version)}
          onRowOpen={(each) => onShow(each.version === shown ? undefined : each.version)}
          isSelected={(each) => each.version === shown}
        />
      )}
      {shown !== undefined && index >= 0 && (
        <TextComparison name={name} version={shown} previous={rows?.[index + 1]?.version} />
      )}
    </Card>
  );
}
