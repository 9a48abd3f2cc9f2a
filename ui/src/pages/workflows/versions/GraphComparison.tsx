import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo } from "react";
import type { Schemas } from "@/api/client";
import { workflowGraphQuery } from "@/api/queries";
import { Badge, ErrorBox, RelativeTime, SkeletonLines } from "@/components";
import type { Tone } from "@/lib/states";
import { type Change, changesOf, diffGraph } from "./graphDiff";

const GraphView = lazy(() => import("@/components/graph/GraphView"));

type GraphVersion = Schemas["GraphVersion"];

const TONES: Record<Change["kind"], Tone> = { added: "ok", removed: "bad", changed: "wait" };

interface GraphComparisonProps {
  name: string;
  before: GraphVersion;
  after: GraphVersion;
}

/** Two versions of a graph in one picture, and what changed between them in words. */
export function GraphComparison({ name, before, after }: GraphComparisonProps) {
  const old = useQuery(workflowGraphQuery(name, before.version));
  const now = useQuery(workflowGraphQuery(name, after.version));
  const found = useMemo(
    () =>
      old.data && now.data
        ? { picture: diffGraph(old.data, now.data), changes: changesOf(old.data, now.data) }
        : undefined,
    [old.data, now.data],
  );
  const error = old.error ?? now.error;
  if (error) return <ErrorBox error={error} />;
  if (found === undefined) return <SkeletonLines lines={6} />;
  const rows = Math.max(1, ...found.picture.tasks.map((task) => task.row + 1));
  return (
    <>
      <p className="border-line border-b px-3.5 py-2 text-ink-2 text-xs">
        Version {before.number}, first used <RelativeTime at={before.created_at} />, and version {after.number}, first
        used <RelativeTime at={after.created_at} />.
      </p>
      <div style={{ height: Math.min(420, Math.max(200, rows * 80 + 80)) }}>
        <Suspense fallback={<SkeletonLines lines={4} />}>
          <GraphView label={`Changes from version ${before.number} to ${after.number}`} graph={found.picture} />
        </Suspense>
      </div>
      {found.changes.length === 0 ? (
        <p className="border-line border-t px-3.5 py-3 text-ink-2 text-sm">Their graphs and parameters are the same.</p>
      ) : (
        <ul aria-label="Changes" className="border-line border-t">
          {found.changes.map((change) => (
            <li
              key={`${change.noun} ${change.name}`}
              className="flex flex-wrap items-baseline gap-x-3 gap-y-1 border-line border-b px-3.5 py-2 text-sm last:border-b-0"
            >
              <span className="w-16">
                <Badge tone={TONES[change.kind]}>{change.kind}</Badge>
              </span>
              <span className="w-20 text-ink-3 text-xs">{change.noun}</span>
              <span className="foreign font-medium">{change.name}</span>
              {change.details.map((each) => (
                <span key={each.property} className="foreign font-mono text-ink-2 text-xs">
                  {each.property}: <del className="text-bad">{each.was}</del> →{" "}
                  <ins className="text-ok no-underline">{each.now}</ins>
                </span>
              ))}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
