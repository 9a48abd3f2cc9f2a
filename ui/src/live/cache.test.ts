import { QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LiveCache } from "./cache";

const run = (id: string, state: string) => ({
  id,
  state,
  name: "fulfil",
  workflow: "fulfil",
  version: "1",
  created_at: 1,
});

describe("LiveCache", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("changes a run in the lists and in its page at once", () => {
    const client = new QueryClient();
    const key = ["runs", "list", {}];
    client.setQueryData(key, {
      pages: [{ runs: [run("a", "running"), run("b", "running")], next: null }],
      pageParams: [],
    });
    client.setQueryData(["run", "a", "detail"], { ...run("a", "running"), tasks: { running: 2 } });
    new LiveCache(client).apply({ event: "run", data: JSON.stringify(run("a", "completed")) });
    expect(client.getQueryData(key)).toMatchObject({
      pages: [{ runs: [{ state: "completed" }, { state: "running" }] }],
    });
    expect(client.getQueryData(["run", "a", "detail"])).toMatchObject({ state: "completed", tasks: { running: 2 } });
  });

  it("leaves lists as they are that do not have the run", () => {
    const client = new QueryClient();
    const data = { pages: [{ runs: [run("b", "running")], next: null }], pageParams: [] };
    client.setQueryData(["runs", "list", {}], data);
    new LiveCache(client).apply({ event: "run", data: JSON.stringify(run("a", "completed")) });
    expect(client.getQueryData(["runs", "list", {}])).toBe(data);
  });

  it("reads lists again at most once a second, however many events come", async () => {
    const client = new QueryClient();
    const invalidate = vi.spyOn(client, "invalidateQueries");
    const cache = new LiveCache(client);
    for (let number = 0; number < 500; number++) {
      cache.apply({ event: "run", data: JSON.stringify(run("a", "running")) });
    }
    const ofRuns = () => invalidate.mock.calls.filter(([filter]) => filter?.queryKey?.[0] === "runs").length;
    expect(ofRuns()).toBe(1);
    await vi.advanceTimersByTimeAsync(1_100);
    expect(ofRuns()).toBe(2);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(ofRuns()).toBe(2);
  });
});
