import { useQuery } from "@tanstack/react-query";
import type { Schemas } from "@/api/client";
import { orchestrationHistoryQuery } from "@/api/queries";
import { Badge, Card, EmptyState, RelativeTime } from "@/components";
import type { Tone } from "@/lib/states";
import { poolLabel } from "./series";

type Event = Schemas["Event"];

const KINDS: Record<string, Tone> = {
  scaled: "run",
  replaced: "bad",
  restarted: "wait",
  backpressure: "wait",
  breaker: "bad",
};

/** What the coordinator of an orchestrator did, with its reasons. */
export function Events({ orchestrator }: { orchestrator: Schemas["OrchestratorView"] }) {
  const known = useQuery(orchestrationHistoryQuery).data?.[orchestrator.id];
  const events = known?.events ?? orchestrator.events;
  return (
    <Card
      title="Scaling and other events"
      flush
      aside={known ? "of the last hour" : "the latest; its own server keeps those of the last hour"}
    >
      {events.length === 0 ? (
        <EmptyState icon="orchestration" title="Nothing was scaled or replaced">
          Pools grow while they are busy and work is queued, and shrink when they are idle. Each step appears here with
          its reason.
        </EmptyState>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard
        <ul aria-label="Events" tabIndex={0} className="max-h-96 overflow-auto">
          {[...events].reverse().map((each, index) => (
            <EventItem key={`${each.at} ${index}`} event={each} />
          ))}
        </ul>
      )}
    </Card>
  );
}

function EventItem({ event }: { event: Event }) {
  return (
    <li className="flex flex-wrap items-baseline gap-x-2.5 gap-y-0.5 border-line border-b px-3.5 py-2 text-sm last:border-b-0">
      <Badge tone={KINDS[event.kind] ?? "idle"}>{event.kind}</Badge>
      {event.pool && <span className="font-medium">{poolLabel(event.pool)}</span>}
      <span className="foreign min-w-0 flex-1 text-ink-2">{event.detail}</span>
      {event.kind === "scaled" && (event.executors ?? 0) > 0 && (
        <span className="text-ink-3 text-xs">now {event.executors}</span>
      )}
      <span className="text-ink-3 text-xs">
        <RelativeTime at={event.at} />
      </span>
    </li>
  );
}
