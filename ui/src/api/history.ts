import type { Schemas } from "./client";

type History = Schemas["OrchestrationHistory"];
/** By the orchestrator that keeps it: behind one address there may be several servers. */
export type Histories = Readonly<Record<string, History>>;

/** Seconds that are kept. */
const KEPT = 3_600;
/** Seconds after which an orchestrator that answers no more is forgotten. */
const FORGOTTEN = 120;

/** Returns what was known with what is new behind it. */
export function extended(known: Histories, news: History): Histories {
  const all = { ...known, [news.orchestrator]: joined(known[news.orchestrator], news) };
  const newest = Math.max(...Object.values(all).map(completeUntil));
  return Object.fromEntries(Object.entries(all).filter(([, each]) => completeUntil(each) >= newest - FORGOTTEN));
}

function joined(known: History | undefined, news: History): History {
  if (known === undefined) return news;
  const until = completeUntil(known);
  const behind = <T extends { at: number }>(old: readonly T[], later: readonly T[]) => {
    const found = [...old, ...later.filter((each) => each.at > until)];
    return found.filter((each) => each.at >= (news.samples.at(-1)?.at ?? until) - KEPT);
  };
  return { ...news, samples: behind(known.samples, news.samples), events: behind(known.events, news.events) };
}

function completeUntil(known: History): number {
  return Math.max(0, known.samples.at(-1)?.at ?? 0, known.events.at(-1)?.at ?? 0);
}

/** Returns the moment behind which has to be asked: nothing behind it is known of the server that answers. */
export function unknownSince(known: Histories): number {
  const all = Object.values(known);
  return all.length === 0 ? 0 : Math.min(...all.map(completeUntil));
}
