import { Badge } from "./Badge";

/** Labels with their values. */
export function Labels({
  labels,
  none,
}: {
  labels: Readonly<Record<string, string>> | null | undefined;
  none?: string;
}) {
  const all = Object.entries(labels ?? {});
  if (all.length === 0) return none ? <span className="text-ink-3">{none}</span> : null;
  return (
    <span className="flex min-w-0 flex-wrap gap-1">
      {all.map(([label, value]) => (
        <Badge key={label}>{`${label}=${value}`}</Badge>
      ))}
    </span>
  );
}
