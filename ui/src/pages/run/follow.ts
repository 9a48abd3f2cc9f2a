import { type InfiniteData, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";
import type { Schemas } from "@/api/client";
import { runGraphQuery, runQuery, runTasksQuery } from "@/api/queries";
import { ENDED } from "@/lib/states";
import { useStream } from "@/live/LiveProvider";
import { runTopic } from "@/live/messages";
import { Throttle } from "@/live/throttle";
import { movedGraph, movedRun } from "./moves";
import { type Move, moved } from "./tasks";

/** Milliseconds between two reads of what moves do not say, however many tasks change. */
const INTERVAL = 600;
/** The same for a run of more tasks than that: a read of it costs more, and moves bring states and counts at once. */
const LONG_INTERVAL = 4_000;
const MANY_TASKS = 500;

/** Keeps what is shown of a run up to date: states and counts at once, by the moves that arrive, and the rest by reading it again. */
export function useFollowedRun(run: Schemas["RunDetail"] | undefined): void {
  const client = useQueryClient();
  const throttle = useMemo(() => new Throttle(), []);
  const id = run?.id;
  const ended = run === undefined ? undefined : ENDED.has(run.state);
  const tasks = Object.values(run?.tasks ?? {}).reduce((sum, count) => sum + count, 0);
  const interval = tasks > MANY_TASKS ? LONG_INTERVAL : INTERVAL;
  const refresh = () => throttle.run("run", interval, () => void client.invalidateQueries({ queryKey: ["run", id] }));
  const readAgain = () => {
    refresh();
    void client.invalidateQueries({ queryKey: ["run-tasks", id] });
  };

  useStream(
    id !== undefined && ended === false ? `${runTopic(id)}?batch=true&logs=false` : null,
    {
      onEvent: (event) => {
        if (event.event !== "moves" || id === undefined) return;
        const { moves } = JSON.parse(event.data) as { moves: Move[] };
        client.setQueryData<InfiniteData<Schemas["TaskPage"], string | undefined>>(
          runTasksQuery(id).queryKey,
          (known) => moved(known, moves),
        );
        client.setQueryData(runQuery(id).queryKey, (known) => known && movedRun(known, moves));
        client.setQueryData(runGraphQuery(id).queryKey, (known) => known && movedGraph(known, moves));
        refresh();
      },
      onStale: readAgain,
      onStatus: (status) => status === "open" && readAgain(),
    },
    run?.position,
  );

  // The last moves may come after the end of the run: its tasks are read once more.
  const before = useRef(ended);
  useEffect(() => {
    if (before.current === false && ended) {
      for (const noun of ["run", "run-tasks"]) void client.invalidateQueries({ queryKey: [noun, id] });
    }
    before.current = ended;
  }, [ended, id, client]);
}
