import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Schemas } from "@/api/client";
import { Badge, Button, type Column, Icon, RelativeTime, Table } from "@/components";
import { lastSegment } from "@/lib/names";
import { useScheduleActions } from "./actions";
import { BackfillDialog } from "./BackfillDialog";

type Schedule = Schemas["ScheduleView"];

interface ScheduleListProps {
  schedules: readonly Schedule[] | undefined;
  /** Reads the next page; undefined: there is none. */
  onMore?: () => void;
  reading?: boolean;
}

/** Schedules with what can be done with them: pause, resume, fire now, backfill. */
export function ScheduleList({ schedules, onMore, reading = false }: ScheduleListProps) {
  const [backfilled, setBackfilled] = useState<Schedule | null>(null);
  const act = useScheduleActions();
  const columns: Column<Schedule>[] = [
    {
      key: "workflow",
      header: "Workflow",
      cell: (each) => (
        <Link to="/workflows/$name" params={{ name: each.workflow }} className="foreign font-medium hover:underline">
          {lastSegment(each.workflow)}
        </Link>
      ),
    },
    {
      key: "name",
      header: "Schedule",
      phone: false,
      cell: (each) => (
        <span className="flex items-center gap-2">
          <span className="foreign truncate">{each.name}</span>
          {each.action !== "start" && <Badge tone="wait">{each.action}</Badge>}
        </span>
      ),
    },
    {
      key: "times",
      header: "Times",
      cell: (each) => (
        <span className="foreign font-mono text-xs">
          {each.expression} <span className="text-ink-3">{each.timezone}</span>
        </span>
      ),
    },
    {
      key: "rules",
      header: "Overlap, missed",
      width: "10rem",
      phone: false,
      cell: (each) => (
        <span className="text-ink-2 text-xs">
          {each.overlap.replace("_", " ")}, {each.catch_up === "skip" ? "not caught up" : `catches up ${each.catch_up}`}
        </span>
      ),
    },
    {
      key: "next",
      header: "Next",
      width: "6rem",
      cell: (each) =>
        each.paused ? (
          <Badge tone="hold" title={`by ${each.changed_by}`}>
            paused
          </Badge>
        ) : (
          <RelativeTime at={each.next_at} />
        ),
    },
    {
      key: "act",
      header: <span className="sr-only">Actions</span>,
      // Words where there is room for them.
      width: "clamp(8.5rem, 24vw, 15rem)",
      align: "end",
      cell: (each) => (
        <span className="flex justify-end gap-1">
          <Button
            small
            aria-label={`${each.paused ? "Resume" : "Pause"} ${each.name} of ${lastSegment(each.workflow)}`}
            busy={act.isPending && act.variables.schedule.id === each.id}
            onClick={() => act.mutate({ schedule: each, verb: each.paused ? "resume" : "pause" })}
          >
            {each.paused ? "Resume" : "Pause"}
          </Button>
          {each.action !== "stop" && (
            <>
              <Button
                small
                aria-label={`Fire ${each.name} of ${lastSegment(each.workflow)} now`}
                onClick={() => act.mutate({ schedule: each, verb: "fire" })}
              >
                <span className="lg:hidden">
                  <Icon name="runs" size={14} />
                </span>
                <span className="hidden lg:inline">Fire now</span>
              </Button>
              <Button
                small
                aria-label={`Backfill ${each.name} of ${lastSegment(each.workflow)}`}
                onClick={() => setBackfilled(each)}
              >
                <span className="lg:hidden">
                  <Icon name="rerun" size={14} />
                </span>
                <span className="hidden lg:inline">Backfill</span>
              </Button>
            </>
          )}
        </span>
      ),
    },
  ];
  return (
    <>
      <Table
        label="Schedules"
        columns={columns}
        rows={schedules}
        rowKey={(each) => String(each.id)}
        footer={
          onMore && (
            <div className="grid place-items-center border-line border-t p-2">
              <Button small look="quiet" busy={reading} onClick={onMore}>
                Show more schedules
              </Button>
            </div>
          )
        }
      />
      <BackfillDialog key={backfilled?.id} schedule={backfilled} onClose={() => setBackfilled(null)} />
    </>
  );
}
