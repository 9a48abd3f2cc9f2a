import { expect, test } from "vitest";
import type { Schemas } from "./client";
import { extended, unknownSince } from "./history";

type History = Schemas["OrchestrationHistory"];

function history(orchestrator: string, ...times: number[]): History {
  const samples = times.map((at) => ({
    at,
    pools: {},
    saturation: 0,
    backpressure: 1,
  })) as unknown as History["samples"];
  return { orchestrator, interval: 5, samples, events: [] };
}

const times = (found: History | undefined) => found?.samples.map((each) => each.at);

test("new samples come behind those that are known, each once, for an hour", () => {
  const first = extended({}, history("a", 100, 105));
  expect(unknownSince(first)).toBe(105);
  expect(times(extended(first, history("a", 105, 110)).a)).toEqual([100, 105, 110]);
  expect(times(extended(first, history("a", 3_703)).a)).toEqual([105, 3_703]);
});

test("servers that answer in turns have a history each, and neither is cut", () => {
  let known = extended({}, history("a", 100, 105));
  known = extended(known, history("b", 50, 100, 104));
  expect(unknownSince(known)).toBe(104);
  known = extended(known, history("a", 105, 110));
  known = extended(known, history("b", 109));
  expect([times(known.a), times(known.b)]).toEqual([
    [100, 105, 110],
    [50, 100, 104, 109],
  ]);
});

test("a server that answers no more is forgotten, and is read whole if it comes back", () => {
  const known = extended(extended({}, history("a", 100)), history("b", 300));
  expect(Object.keys(known)).toEqual(["b"]);
});

test("events are kept as samples are, for an hour", () => {
  const event = (at: number) => ({ at, kind: "scaled", pool: "task_claimer", detail: "" });
  const known = extended({}, { ...history("a", 0, 5), events: [event(3)] });
  const more = extended(known, { ...history("a", 10), events: [event(7)] });
  expect(more.a?.events.map((each) => each.at)).toEqual([3, 7]);
  expect(extended(more, history("a", 3_608)).a?.events).toEqual([]);
});
