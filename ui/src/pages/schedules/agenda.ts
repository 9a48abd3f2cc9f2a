import type { Schemas } from "@/api/client";

type NextFire = Schemas["NextFire"];

export interface Day {
  /** Its first moment in the zone of the viewer, in seconds since 1970. */
  at: number;
  fires: NextFire[];
}

/** Returns the names of the schedules of which as many due times were read as the calendar shows of one: they have more. */
export function cutOff(fires: readonly NextFire[], most: number): string[] {
  const counts = new Map<number, number>();
  const found = new Map<number, string>();
  for (const fire of fires) {
    const count = (counts.get(fire.schedule_id) ?? 0) + 1;
    counts.set(fire.schedule_id, count);
    if (count >= most) found.set(fire.schedule_id, fire.name);
  }
  return [...found.values()];
}

/** Returns the days from a moment on, each with its due times; days begin in the zone of the viewer. */
export function agenda(fires: readonly NextFire[], from: number, days: number): Day[] {
  const found: Day[] = [];
  const start = new Date(from * 1_000);
  for (let index = 0; index < days; index++) {
    // A day may have 23 or 25 hours: the calendar of the viewer decides, not a count of seconds.
    const at = new Date(start.getFullYear(), start.getMonth(), start.getDate() + index).getTime() / 1_000;
    const end = new Date(start.getFullYear(), start.getMonth(), start.getDate() + index + 1).getTime() / 1_000;
    found.push({ at, fires: fires.filter((fire) => fire.acts_at >= at && fire.acts_at < end) });
  }
  return found;
}
