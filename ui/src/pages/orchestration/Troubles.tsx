import type { Schemas } from "@/api/client";
import { Icon } from "@/components";

/** What is wrong with an orchestrator, in words. */
export function Troubles({ orchestrator }: { orchestrator: Schemas["OrchestratorView"] }) {
  const { troubles, outage, stopping } = orchestrator;
  const said = troubles.map((each) => ({ bad: each.condition === "unhealthy", text: `${each.where}: ${each.why}` }));
  if (outage && !troubles.some((each) => each.why.includes(outage))) {
    said.unshift({ bad: true, text: `The database does not take commits: ${outage}` });
  }
  if (stopping) said.push({ bad: false, text: "It stops: it hands its runs over, and takes no new ones." });
  if (said.length === 0) return null;
  return (
    <ul aria-label="Troubles" className="grid gap-1.5">
      {said.map(({ bad, text }) => (
        <li
          key={text}
          className={`flex items-center gap-2.5 rounded-md px-3 py-2 text-sm ${bad ? "bg-bad-soft text-bad" : "bg-wait-soft text-wait"}`}
        >
          <Icon name={bad ? "alert" : "info"} />
          <span className="foreign min-w-0 flex-1">{text}</span>
        </li>
      ))}
    </ul>
  );
}
