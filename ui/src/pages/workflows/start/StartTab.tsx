import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useMemo, useRef, useState } from "react";
import { api, call, type Schemas } from "@/api/client";
import { Button, Card, EmptyState, ErrorBox, Input, SkeletonLines, toast } from "@/components";
import { ParameterField } from "./ParameterField";
import { faultsOf, fieldsOf, inputOf, type Texts } from "./parameterForm";

type Workflow = Schemas["WorkflowDetail"];

/** The form that starts a run, made from the types of the workflow's parameters. */
export function StartTab({ workflow }: { workflow: Workflow | undefined }) {
  if (workflow === undefined) return <SkeletonLines lines={6} />;
  if (workflow.available === false || workflow.removed) {
    const why = workflow.findings?.find((each) => each.severity === "error")?.message;
    return (
      <Card>
        <EmptyState icon="alert" title="This server cannot start runs of it">
          <span className="foreign">{workflow.removed ? "It was removed; its runs stay." : why}</span>
        </EmptyState>
      </Card>
    );
  }
  // Another version has other fields: what was typed for the old ones goes.
  return <StartForm key={workflow.spec_version} workflow={workflow} />;
}

function StartForm({ workflow }: { workflow: Workflow }) {
  const fields = useMemo(() => fieldsOf(workflow.parameters ?? []), [workflow.parameters]);
  const [texts, setTexts] = useState<Texts>({});
  const [own, setOwn] = useState<Texts>({});
  const [priority, setPriority] = useState("0");
  const [timeout, setTimeout] = useState("");
  const form = useRef<HTMLFormElement>(null);
  const navigate = useNavigate();
  const start = useMutation({
    mutationFn: (input: Record<string, unknown>) =>
      call(
        api.POST("/api/v1/runs", {
          body: {
            workflow: workflow.full_name,
            input,
            priority: Number(priority) || 0,
            timeout: timeout === "" ? null : Number(timeout),
          },
        }),
      ),
    onSuccess: ({ run, warnings }) => {
      toast("The run has started", warnings?.join("\n"));
      void navigate({ to: "/runs/$runId", params: { runId: run.id } });
    },
    onError: () => focusFault(),
  });

  const focusFault = () =>
    requestAnimationFrame(() => form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus());
  const said = faultsOf(start.error, fields);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const { input, faults } = inputOf(fields, texts);
    setOwn(faults);
    start.reset();
    if (Object.keys(faults).length > 0) focusFault();
    else start.mutate(input);
  };

  return (
    <form ref={form} onSubmit={submit} noValidate className="grid max-w-3xl gap-4">
      <Card title="Parameters" aside={fields.length > 0 && "unchanged fields have their defaults"}>
        {fields.length === 0 ? (
          <p className="text-ink-2 text-sm">This workflow has no parameters: it can be started as it is.</p>
        ) : (
          <div className="grid gap-4">
            {fields.map((field) => (
              <ParameterField
                key={field.name}
                field={field}
                text={texts[field.name] ?? field.initial}
                fault={own[field.name] ?? said.faults[field.name]}
                onChange={(text) => setTexts({ ...texts, [field.name]: text })}
              />
            ))}
          </div>
        )}
        <details className="mt-4 border-line border-t pt-3">
          <summary className="w-fit cursor-pointer font-medium text-ink-2 text-xs">Priority and timeout</summary>
          <div className="mt-3 grid gap-4 sm:grid-cols-2">
            <Input
              label="Priority"
              type="number"
              value={priority}
              onChange={(event) => setPriority(event.target.value)}
              hint="Tasks of runs with a higher one start first."
            />
            <Input
              label="Timeout in seconds"
              type="number"
              min={0}
              value={timeout}
              onChange={(event) => setTimeout(event.target.value)}
              hint="For the whole run; without it, that of the workflow."
            />
          </div>
        </details>
        {start.error && said.rest ? <ErrorBox error={start.error} /> : null}
      </Card>
      <div className="flex items-center gap-2">
        <Button type="submit" look="primary" icon="runs" busy={start.isPending}>
          Start run
        </Button>
        {Object.keys(texts).length > 0 && (
          <Button
            look="quiet"
            onClick={() => {
              setTexts({});
              setOwn({});
              start.reset();
            }}
          >
            Back to the defaults
          </Button>
        )}
      </div>
    </form>
  );
}
