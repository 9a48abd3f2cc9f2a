import { cx } from "@/lib/cx";
import { Badge } from "./Badge";

interface LabelsProps {
  labels: Readonly<Record<string, string>> | null | undefined;
  /** Shown if there are none. */
  none?: string;
  /** True: they take as many lines as they need; otherwise one, which is cut off. */
  wrap?: boolean;
}

/** Labels with their values. */
export function Labels({ labels, none, wrap = false }: LabelsProps) {
  const all = Object.entries(labels ?? {});
  if (all.length === 0) return none ? <span className="text-ink-3">{none}</span> : null;
  return (
    <span className={cx("flex min-w-0 gap-1", wrap ? "flex-wrap" : "overflow-hidden")}>
      {all.map(([label, value]) => (
        <Badge key={label} title={`${label}=${value}`}>{`${label}=${value}`}</Badge>
      ))}
    </span>
  );
}
