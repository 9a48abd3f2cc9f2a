import type { Schemas } from "./client";

type History = Schemas["OrchestrationHistory"];

/** Seconds that are kept. */
const KEPT = 3_600;

/** Returns what was known with what is new behind it. Another orchestrator begins anew. */
export function extended(known: History | undefined, news: History): History {
  if (known === undefined || known.orchestrator !== news.orchestrator) return news;
  const samples = [...known.samples, ...news.samples];
  const first = (samples.at(-1)?.at ?? 0) - KEPT;
  const later = <T extends { at: number }>(all: readonly T[]) => all.filter((each) => each.at >= first);
  return { ...news, samples: later(samples), events: later([...known.events, ...news.events]) };
}

/** Returns the moment up to which a history is complete: what is asked for next is behind it. */
export function completeUntil(known: History | undefined): number {
  return Math.max(0, known?.samples.at(-1)?.at ?? 0, known?.events.at(-1)?.at ?? 0);
}
