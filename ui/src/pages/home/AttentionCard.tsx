import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { attentionQuery } from "@/api/queries";
import { Button, Card, ErrorBox, Icon, RelativeTime, SkeletonLines } from "@/components";
import { cx } from "@/lib/cx";
import { counted } from "@/lib/numbers";
import { SOFT } from "@/lib/states";
import { storedVisits, storeVisits, visited } from "@/lib/visits";
import { type Item, itemsOf } from "./attention";

const VISITS = "home.visits";
const SHOWN = 12;
const WEEK = 7 * 86_400;

/** Returns since when things are new to the viewer, and a function that calls all of them seen. */
function useVisits(): [since: number, see: (until: number) => void] {
  const [since, setSince] = useState(() => Math.floor(visited(storedVisits(VISITS), Date.now() / 1_000).seen));
  useEffect(() => {
    const note = () => {
      if (document.visibilityState === "visible") storeVisits(VISITS, { seen: since, last: Date.now() / 1_000 });
    };
    note();
    const timer = setInterval(note, 60_000);
    return () => clearInterval(timer);
  }, [since]);
  return [Math.max(since, Math.floor(Date.now() / 1_000) - WEEK + 60), (until) => setSince(Math.floor(until))];
}

/** What needs the viewer, each with its reason in words. */
export function AttentionCard() {
  const [since, see] = useVisits();
  const [all, setAll] = useState(false);
  const attention = useQuery(attentionQuery(since));
  const { data } = attention;
  const items = data ? itemsOf(data) : [];
  const more = data ? Math.max(0, data.failed_total - data.failed.length) : 0;
  return (
    <Card
      title="Needs attention"
      flush
      aside={
        <>
          <span className="hidden sm:inline">
            failures since <RelativeTime at={since} />
          </span>
          {data && data.failed.length > 0 && (
            <Button small look="quiet" icon="check" onClick={() => see(data.at)}>
              Mark as seen
            </Button>
          )}
        </>
      }
    >
      {data === undefined ? (
        attention.error ? (
          <ErrorBox error={attention.error} onRetry={() => void attention.refetch()} />
        ) : (
          <SkeletonLines lines={3} />
        )
      ) : items.length === 0 ? (
        <p className="flex items-center gap-2.5 p-3.5 text-ink-2 text-sm">
          <span className={cx("grid size-6 place-items-center rounded-full", SOFT.ok)}>
            <Icon name="check" size={14} />
          </span>
          Nothing needs you: no failures, no long waits, and all workers, breakers and schedules are in order.
        </p>
      ) : (
        <>
          <ul>
            {items.slice(0, all ? undefined : SHOWN).map((item) => (
              <AttentionItem key={item.key} item={item} />
            ))}
          </ul>
          {(items.length > SHOWN || more > 0) && (
            <div className="flex items-center justify-center gap-3 border-line border-t p-2 text-xs">
              {items.length > SHOWN && (
                <Button small look="quiet" onClick={() => setAll(!all)}>
                  {all ? "Show less" : `Show ${items.length - SHOWN} more`}
                </Button>
              )}
              {more > 0 && (
                <Link to="/runs" search={{ state: ["failed"] }} className="text-accent-text hover:underline">
                  {counted(more, "more failed run")}
                </Link>
              )}
            </div>
          )}
        </>
      )}
    </Card>
  );
}

function AttentionItem({ item }: { item: Item }) {
  return (
    <li className="border-line border-b last:border-b-0">
      <Link {...item.link} className="flex items-start gap-3 px-3.5 py-2 hover:bg-hover">
        <span className={cx("mt-0.5 grid size-6 shrink-0 place-items-center rounded-md", SOFT[item.tone])}>
          <Icon name={item.icon} size={14} />
        </span>
        <span className="min-w-0 flex-1">
          <span className="foreign block font-medium text-sm">{item.title}</span>
          <span className="foreign line-clamp-4 text-ink-2 text-xs">
            {item.detail}
            {item.remedy && <span className="text-ink-3"> {item.remedy}</span>}
          </span>
        </span>
        {item.at !== undefined && (
          <span className="shrink-0 text-ink-3 text-xs">
            <RelativeTime at={item.at} />
          </span>
        )}
      </Link>
    </li>
  );
}
