import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { calendarQuery, MOST_OF_ONE } from "@/api/queries";
import { Card, ErrorBox, SkeletonLines } from "@/components";
import { cx } from "@/lib/cx";
import { lastSegment } from "@/lib/names";
import { counted } from "@/lib/numbers";
import { exact, hourAndMinute } from "@/lib/time";
import { agenda, cutOff } from "./agenda";

const DAYS = 14;
const SHOWN = 5;
const WEEKDAY = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short" });

/** The due times of the next two weeks, day by day, in the zone of the viewer. */
export function Agenda() {
  const [from] = useState(() => Math.floor(Date.now() / 60_000) * 60);
  const fires = useQuery(calendarQuery(from, from + DAYS * 86_400));
  if (fires.error && !fires.data) return <ErrorBox error={fires.error} onRetry={() => void fires.refetch()} />;
  if (!fires.data) return <SkeletonLines lines={6} />;
  const cut = cutOff(fires.data.fires, MOST_OF_ONE);
  return (
    <Card title="Next two weeks" flush aside="in your time zone">
      <ol className="grid gap-px bg-line sm:grid-cols-2 md:grid-cols-4 xl:grid-cols-7">
        {agenda(fires.data.fires, from, DAYS).map((day, index) => (
          <li key={day.at} className={cx("min-h-28 bg-surface p-2", index === 0 && "bg-accent-soft")}>
            <p className="mb-1 flex justify-between font-medium text-2xs text-ink-2">
              {index === 0 ? "Today" : WEEKDAY.format(day.at * 1_000)}
              {day.fires.length > 0 && <span className="font-normal text-ink-3">{day.fires.length}</span>}
            </p>
            <ul className="grid gap-0.5">
              {day.fires.slice(0, SHOWN).map((fire) => (
                <li key={`${fire.schedule_id} ${fire.due_at}`}>
                  <Link
                    to="/workflows/$name"
                    params={{ name: fire.workflow }}
                    search={{ tab: "schedules" }}
                    title={`${fire.name} · ${exact(fire.acts_at)}`}
                    className="flex min-w-0 gap-1.5 rounded px-1 text-xs hover:bg-hover"
                  >
                    <span className="shrink-0 text-ink-3">{hourAndMinute(fire.acts_at)}</span>
                    <span className="foreign truncate">{lastSegment(fire.workflow)}</span>
                  </Link>
                </li>
              ))}
            </ul>
            {day.fires.length > SHOWN && (
              <p className="px-1 text-2xs text-ink-3">and {counted(day.fires.length - SHOWN, "more", "more")}</p>
            )}
          </li>
        ))}
      </ol>
      {cut.length > 0 && (
        <p className="foreign border-line border-t px-3.5 py-2 text-ink-2 text-xs">
          Of {cut.join(", ")} the next {MOST_OF_ONE} due times are shown.
        </p>
      )}
    </Card>
  );
}
