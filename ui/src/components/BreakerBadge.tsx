import type { Tone } from "@/lib/states";
import { Badge } from "./Badge";

const TONES: Record<string, Tone> = { closed: "ok", half_open: "wait", open: "bad" };
const MEANINGS: Record<string, string> = {
  closed: "It takes work",
  half_open: "After failures it is tried with little work",
  open: "After failures it gets no work for a while",
};

/** The state of a breaker. */
export function BreakerBadge({ state }: { state: string }) {
  return (
    <Badge tone={TONES[state] ?? "idle"} title={MEANINGS[state]}>
      {state.replace("_", " ")}
    </Badge>
  );
}
