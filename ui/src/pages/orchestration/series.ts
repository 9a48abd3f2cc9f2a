import type { Schemas } from "@/api/client";
import type { ChartSeries } from "@/components/TimeChart";
import type { Tone } from "@/lib/states";

type Sample = Schemas["StatusSample"];
type PoolSample = Schemas["PoolSample"];

/** The pools in the order of a run's way through them, with a word for each and its colour. */
export const POOLS: Readonly<Record<string, { label: string; about: string; tone: Tone }>> = {
  task_request_processor: { label: "Submission", about: "stores new runs", tone: "run" },
  task_claimer: { label: "Claims", about: "takes over runs without an owner", tone: "hold" },
  step_enqueuer: { label: "Starts", about: "decides where ready tasks go, and starts them", tone: "wait" },
  step_result_processor: { label: "Results", about: "takes results, and decides what follows", tone: "ok" },
  task_finalizer: { label: "Ends", about: "answers callers of runs that have ended", tone: "idle" },
};

/** Returns the word for a pool; one that this page does not know keeps its name. */
export function poolLabel(name: string): string {
  return POOLS[name]?.label ?? name.replaceAll("_", " ");
}

/** Samples as columns: a moment for each, and null values where samples are missing for longer than their interval. */
export interface Columns {
  at: number[];
  samples: (Sample | null)[];
}

/** Intervals without a sample after which a line is interrupted. */
const GAP = 4;

export function columnsOf(samples: readonly Sample[], interval: number): Columns {
  const at: number[] = [];
  const found: (Sample | null)[] = [];
  for (const sample of samples) {
    const last = at.at(-1);
    if (last !== undefined && sample.at - last > GAP * interval) {
      at.push(last + interval);
      found.push(null);
    }
    at.push(sample.at);
    found.push(sample);
  }
  return { at, samples: found };
}

/** Returns one line for each pool. */
export function poolSeries({ samples }: Columns, value: (pool: PoolSample) => number): ChartSeries[] {
  const names = new Set(samples.flatMap((sample) => Object.keys(sample?.pools ?? {})));
  const known = Object.keys(POOLS).filter((name) => names.has(name));
  const others = [...names].filter((name) => !(name in POOLS));
  return [...known, ...others].map((name) => ({
    label: poolLabel(name),
    tone: POOLS[name]?.tone ?? "bad",
    values: samples.map((sample) => {
      const pool = sample?.pools[name];
      return pool ? value(pool) : null;
    }),
  }));
}

/** Returns one line of what orchestrators have as a whole. */
export function line({ samples }: Columns, label: string, tone: Tone, value: (sample: Sample) => number): ChartSeries {
  return { label, tone, values: samples.map((sample) => (sample ? value(sample) : null)) };
}

/** Returns the least and the most of what a line has, for a sentence about it; null without values. */
export function span(series: ChartSeries): [number, number] | null {
  const values = series.values.filter((each) => each !== null);
  return values.length === 0 ? null : [Math.min(...values), Math.max(...values)];
}
