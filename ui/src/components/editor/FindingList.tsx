import type { Schemas } from "@/api/client";
import { Badge } from "@/components";
import type { Tone } from "@/lib/states";

type Finding = Schemas["Finding"];

const TONES: Record<Finding["severity"], Tone> = { error: "bad", warning: "wait", note: "run" };

/** All findings of a text, with their lines. */
export function FindingList({ findings }: { findings: readonly Finding[] }) {
  if (findings.length === 0) return null;
  return (
    <ul aria-label="Findings" className="border-line border-t">
      {findings.map((each, index) => (
        <li
          key={index}
          className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5 border-line border-b px-3.5 py-2 text-sm last:border-b-0"
        >
          <span className="w-16 shrink-0">
            <Badge tone={TONES[each.severity]}>{each.severity}</Badge>
          </span>
          <span className="w-16 shrink-0 text-ink-3 text-xs">
            {each.source === "base" ? "base " : ""}
            {each.line}:{each.column}
          </span>
          <span className="foreign min-w-0 flex-1">{each.message}</span>
          <span className="font-mono text-2xs text-ink-3">{each.code}</span>
        </li>
      ))}
    </ul>
  );
}
