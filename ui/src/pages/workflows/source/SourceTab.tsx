import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Schemas } from "@/api/client";
import { type SourceText, workflowSourceQuery } from "@/api/queries";
import { Card, Code, CopyButton, ErrorBox, SkeletonLines } from "@/components";
import { CodeEditor } from "@/components/editor/CodeEditor";
import { FindingList } from "@/components/editor/FindingList";
import { YamlEditor } from "./YamlEditor";

type Workflow = Schemas["WorkflowDetail"];

/** The text of a workflow. Uploaded YAML can be changed here; files and Python are read. */
export default function SourceTab({ name, workflow }: { name: string; workflow: Workflow | undefined }) {
  const source = useQuery(workflowSourceQuery(name));
  if (source.error && !source.data) return <ErrorBox error={source.error} onRetry={() => void source.refetch()} />;
  if (!source.data || !workflow) return <SkeletonLines lines={10} />;
  if (workflow.kind === "yaml" && workflow.origin === "api") {
    return (
      <YamlEditor name={workflow.name} source={source.data} onReload={async () => (await source.refetch()).data} />
    );
  }
  return <ReadOnly workflow={workflow} source={source.data} />;
}

function ReadOnly({ workflow, source }: { workflow: Workflow; source: SourceText }) {
  return (
    <Card
      title={<span className="foreign">{workflow.file ?? `${workflow.name}, ${workflow.kind}`}</span>}
      flush
      aside={
        <>
          <span>{why(workflow)}</span>
          <CopyButton text={source.text} label="Copy the text" />
        </>
      }
    >
      <CodeEditor
        label={`Source of ${workflow.name}`}
        language={workflow.kind}
        text={source.text}
        findings={workflow.findings}
      />
      <FindingList findings={workflow.findings ?? []} />
    </Card>
  );
}

/** Says where the text is changed, as it cannot be here. */
function why(workflow: Workflow): ReactNode {
  if (workflow.origin === "file") {
    return (
      <>
        change the file <Code>{workflow.file}</Code>
      </>
    );
  }
  return workflow.kind === "yaml"
    ? "read only: the server was started with this file"
    : "read only: it is part of the server's program";
}
