import type { Schemas } from "@/api/client";
import { whole } from "@/lib/numbers";

/** Returns why a run is in its state: its error, its reason, or the task of it that waits. */
export function whyOf(run: Schemas["Run"]): string {
  if (run.error) return run.error.message;
  if (run.driver === "not_driven") return "no orchestrator drives it";
  if (run.reason) return run.reason;
  if (run.state !== "running" || !run.waiting) return "";
  const { task, reason, count = 1 } = run.waiting;
  const others = count > 1 ? `, and ${whole(count - 1)} more` : "";
  return `${task} waits${others}${reason ? `: ${reason}` : ""}`;
}
