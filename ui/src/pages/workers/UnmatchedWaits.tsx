import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "@/api/client";
import { unmatchedQuery } from "@/api/queries";
import { Badge, Card, Code, ErrorBox, RelativeTime } from "@/components";
import { lastSegment } from "@/lib/names";
import { counted } from "@/lib/numbers";

type Wait = Schemas["UnmatchedWait"];

/** The tasks that wait although no worker could take them, and what the nearest one lacks. */
export function UnmatchedWaits({ address }: { address: string }) {
  const unmatched = useQuery(unmatchedQuery);
  if (unmatched.error && !unmatched.data) return <ErrorBox error={unmatched.error} />;
  const waits = unmatched.data?.waits ?? [];
  if (waits.length === 0) return null;
  return (
    <div className="px-4 pb-6 md:px-6">
      <Card title="Tasks that no worker matches" flush aside={waits.length}>
        <ul>
          {waits.map((wait, index) => (
            <li key={index} className="grid gap-1.5 border-line border-b px-3.5 py-2.5 text-sm last:border-b-0">
              <div className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
                <Link
                  to="/runs/$runId"
                  params={{ runId: wait.run_id }}
                  search={{ task: wait.task }}
                  className="foreign font-medium hover:underline"
                >
                  {lastSegment(wait.workflow)} · {wait.task}
                </Link>
                {wait.tasks > 1 && <span className="text-ink-2 text-xs">{counted(wait.tasks, "task")}</span>}
                <span className="ml-auto text-ink-2 text-xs">
                  waits since <RelativeTime at={wait.since} />
                </span>
              </div>
              <div className="flex flex-wrap items-center gap-1.5 text-ink-2 text-xs">
                needs
                {Object.entries(wait.labels).map(([label, value]) => (
                  <Badge key={label} tone="wait">{`${label}=${value}`}</Badge>
                ))}
                {Object.keys(wait.labels).length === 0 && <span className="foreign">the handler {wait.handler}</span>}
                <span className="foreign">{lacking(wait)}</span>
              </div>
              <p className="text-ink-3 text-xs">
                A worker that would take it: <Code>{command(address, wait)}</Code>
              </p>
            </li>
          ))}
        </ul>
      </Card>
    </div>
  );
}

/** Returns the command that starts a worker with the labels that a task needs. */
function command(address: string, { labels, handler }: Wait): string {
  // A handler in Python is named by its module and function; those of other languages are known to their program.
  const module = /^([\w.]+):\w+$/.exec(handler)?.[1] ?? "MODULE";
  const given = Object.entries(labels).map(([label, value]) => ` --label '${label}=${value.replaceAll("'", "'\\''")}'`);
  return `turnout worker --connect ${address} --import ${module}${given.join("")}`;
}

/** Returns what the nearest worker would have to have, in words. */
function lacking({ nearest, handler }: Wait): string {
  if (nearest === null) return "No worker is connected.";
  const missing = Object.entries(nearest.missing).map(([label, value]) => {
    const own = nearest.has[label];
    return own === undefined ? `the label ${label}=${value}` : `${label}=${value} (it has ${own})`;
  });
  if (nearest.lacks_handler) missing.push(`the handler ${handler}`);
  if (nearest.draining) missing.push("an end of its drain");
  return `The nearest worker, ${nearest.worker}, lacks ${missing.join(" and ")}.`;
}
