import { Checkbox, Input, Select, TextArea } from "@/components";
import type { FormField } from "./parameterForm";

interface ParameterFieldProps {
  field: FormField;
  text: string;
  /** What is wrong with it, in the words of the form or of the server. */
  fault?: string;
  onChange: (text: string) => void;
}

/** The control of one parameter. */
export function ParameterField({ field, text, fault, onChange }: ParameterFieldProps) {
  const shared = {
    label: <Label field={field} />,
    hint: field.description || undefined,
    error: fault,
    name: field.name,
    "aria-required": field.required || undefined,
  };
  switch (field.kind) {
    case "boolean":
      return (
        <Checkbox {...shared} checked={text === "true"} onChange={(event) => onChange(String(event.target.checked))} />
      );
    case "choice":
      return (
        <Select {...shared} value={text} onChange={(event) => onChange(event.target.value)}>
          {(field.required || field.nullable) && <option value="">{field.nullable ? "none" : "choose one"}</option>}
          {field.options.map((option) => (
            <option key={String(option)} value={String(option)}>
              {String(option)}
            </option>
          ))}
        </Select>
      );
    case "lines":
      return (
        <TextArea
          {...shared}
          hint={field.description || "one value per line"}
          rows={Math.min(8, Math.max(2, text.split("\n").length))}
          value={text}
          onChange={(event) => onChange(event.target.value)}
        />
      );
    case "json":
      return (
        <TextArea
          {...shared}
          mono
          hint={field.description || "as JSON"}
          placeholder={field.nullable ? "null" : undefined}
          rows={Math.min(10, Math.max(3, text.split("\n").length))}
          value={text}
          onChange={(event) => onChange(event.target.value)}
        />
      );
    default:
      return (
        <Input
          {...shared}
          inputMode={field.kind === "integer" ? "numeric" : field.kind === "number" ? "decimal" : undefined}
          placeholder={field.nullable ? "none" : undefined}
          autoComplete="off"
          value={text}
          onChange={(event) => onChange(event.target.value)}
        />
      );
  }
}

function Label({ field }: { field: FormField }) {
  const bounds = [
    field.minimum !== undefined && `≥ ${field.minimum}`,
    field.maximum !== undefined && `≤ ${field.maximum}`,
  ].filter(Boolean);
  return (
    <>
      <span className="foreign text-ink">{field.name}</span>
      {field.required && <span className="text-bad"> *</span>}{" "}
      <span className="foreign font-mono font-normal text-2xs text-ink-3">{[field.type, ...bounds].join(" ")}</span>
    </>
  );
}
