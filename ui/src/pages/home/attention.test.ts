import { describe, expect, it } from "vitest";
import { itemsOf } from "./attention";

const NOTHING = {
  at: 1,
  since: 0,
  breakers: [],
  failed: [],
  failed_total: 0,
  schedules: [],
  troubles: [],
  waiting: [],
  waiting_total: 0,
  workers: [],
};

describe("itemsOf", () => {
  it("has nothing where nothing needs attention", () => {
    expect(itemsOf(NOTHING)).toEqual([]);
  });

  it("says why a task waits, for how long, and what would end it", () => {
    const wait = { meaning: "No worker has the label gpu=a100.", remedy: "Start a worker with it." };
    const long = {
      run_id: "r1",
      workflow: "a::b::training",
      task: "train",
      waited: 250,
      bound: 5,
      since: 1,
      usual: 2,
      wait,
    };
    const [item] = itemsOf({ ...NOTHING, waiting: [long] });
    expect(item?.title).toBe("train of training has waited for 4m 10s, usually at most 2s");
    expect(item?.detail).toBe(wait.meaning);
    expect(item?.remedy).toBe(wait.remedy);
    expect(item?.link).toEqual({ to: "/runs/$runId", params: { runId: "r1" }, search: { task: "train" } });
  });

  it("names the labels and limits of the reason before what it means", () => {
    const wait = { meaning: "It has no free slot.", remedy: "Wait." };
    const long = { run_id: "r1", workflow: "w", waited: 10, bound: 5, since: 1, wait };
    const details = ["limit:oven", "no_capacity"].map(
      (reason) => itemsOf({ ...NOTHING, waiting: [{ ...long, reason }] })[0]?.detail,
    );
    expect(details).toEqual(["limit:oven: It has no free slot.", "It has no free slot."]);
  });

  it("uses the reason itself where it has no words for it", () => {
    const long = { run_id: "r1", workflow: "w", waited: 10, bound: 5, since: 1, reason: "cluster is full" };
    expect(itemsOf({ ...NOTHING, waiting: [long] })[0]?.detail).toBe("cluster is full");
  });

  it("puts failures of one workflow together, which lead to their list", () => {
    const run = (id: string, workflow: string) => ({
      id,
      name: workflow,
      workflow,
      version: "1",
      state: "failed" as const,
      created_at: 1,
      reason: `because of ${id}`,
    });
    const items = itemsOf({ ...NOTHING, failed: [run("a", "v"), run("b", "w"), run("c", "v")] });
    expect(items.map((each) => each.title)).toEqual(["v failed 2 times", "w failed"]);
    expect(items.map((each) => each.detail)).toEqual(["The last time: because of a", "Because of b"]);
    expect(items[0]?.link).toEqual({ to: "/runs", search: { workflow: "v", state: ["failed"] } });
  });

  it("puts what stops everything before single runs", () => {
    const kinds = itemsOf({
      ...NOTHING,
      failed: [{ id: "r", name: "w", workflow: "w", version: "1", state: "failed", created_at: 1 }],
      breakers: [{ kind: "executor", name: "workers", orchestrator: "o", state: "open" }],
      workers: [{ id: "1", name: "gpu", host: "h", labels: {}, lost_at: 1 }],
    }).map((each) => each.kind);
    expect(kinds).toEqual(["breaker", "lost worker", "failed"]);
  });
});
