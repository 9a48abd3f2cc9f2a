import { describe, expect, it } from "vitest";
import { type Move, moved, progressOf, refreshed, rowsOf, type Task } from "./tasks";

const task = (name: string, state: Task["state"], more: Partial<Task> = {}): Task => ({ name, state, ...more });
const NONE: ReadonlySet<string> = new Set();

describe("rowsOf", () => {
  const tasks = [task("a", "completed"), task("b", "failed"), task("c", "completed"), task("d", "running")];

  it("groups by state, what failed first, with counts", () => {
    const rows = rowsOf(tasks, "", true, NONE);
    expect(rows.map((row) => (row.kind === "group" ? `${row.state} ${row.count}` : row.task.name))).toEqual([
      "failed 1",
      "b",
      "running 1",
      "d",
      "completed 2",
      "a",
      "c",
    ]);
  });

  it("leaves out the tasks of a closed group, and keeps its head", () => {
    const rows = rowsOf(tasks, "", true, new Set(["completed"]));
    expect(rows.at(-1)).toEqual({ kind: "group", state: "completed", count: 2, closed: true });
    expect(rows).toHaveLength(5);
  });

  it("filters by name, executor and reason", () => {
    const given = [...tasks, task("e", "ready", { reason: "no worker has gpu=a100" })];
    expect(rowsOf(given, " GPU ", false, NONE)).toEqual([{ kind: "task", task: given[4] }]);
  });

  it("groups 10,000 tasks within a frame or two", () => {
    const many = Array.from({ length: 10_000 }, (_, index) =>
      task(`square[${index}]`, index % 3 ? "completed" : "ready"),
    );
    const start = performance.now();
    expect(rowsOf(many, "", true, NONE)).toHaveLength(10_002);
    expect(performance.now() - start).toBeLessThan(100);
  });
});

describe("moved", () => {
  const page = (...tasks: Task[]) => ({ tasks, next: null });
  const move = (name: string, state: string, at: number, attempt = 1) => ({
    run_id: "r",
    seq: at,
    at,
    task: name,
    new: state,
    attempt,
  });

  it("applies the last move of each task, and keeps pages without moves", () => {
    const data = { pages: [page(task("a", "ready")), page(task("b", "ready"))], pageParams: [undefined, "2"] };
    const next = moved(data, [move("a", "running", 5), { ...move("a", "completed", 7), seq: 6 }]);
    expect(next?.pages[0]?.tasks[0]).toMatchObject({ state: "completed", finished_at: 7 });
    expect(next?.pages[1]).toBe(data.pages[1]);
  });

  it("starts the time of a new attempt anew", () => {
    const begun = task("a", "running", { attempt: 1, started_at: 3 });
    const next = moved({ pages: [page(begun)], pageParams: [undefined] }, [move("a", "running", 9, 2)]);
    expect(next?.pages[0]?.tasks[0]).toMatchObject({ attempt: 2, started_at: 9, finished_at: null });
  });

  // As the stream of a run has them.
  const START: Move = {
    run_id: "r",
    seq: 4,
    at: 5,
    task: "a",
    old: "ready",
    new: "running",
    attempt: 1,
    detail: { executor: "workers", reason: "rule 2: a* goes to workers", worker: "gpu-1" },
  };
  const RETRY: Move = {
    ...START,
    seq: 5,
    at: 6,
    old: "running",
    new: "ready",
    detail: { status: "failed", reason: "retry", error: "ValueError: no: card", traceback: "…", retry_in: 0.5 },
  };
  const only = (first: Task, ...moves: Move[]) =>
    moved({ pages: [page(first)], pageParams: [undefined] }, moves)?.pages[0]?.tasks[0];

  it("has the executor and the decision of a start, also of one that has ended since", () => {
    const begun = only(task("a", "ready", { reason: "no_worker_matches{}" }), START);
    expect(begun).toMatchObject({ executor: "workers", decision: "rule 2: a* goes to workers", reason: null });
    const ended = only(task("a", "ready"), START, { ...START, seq: 5, old: "running", new: "completed", detail: null });
    expect(ended).toMatchObject({ state: "completed", executor: "workers", error: null });
  });

  it("has the reason and the error of an end, until the next attempt begins", () => {
    const waits = only(task("a", "ready"), START, RETRY);
    expect(waits).toMatchObject({
      state: "ready",
      reason: "retry",
      error: { type: "ValueError", message: "no: card" },
    });
    const failed = only(task("a", "running", { attempt: 1 }), { ...RETRY, new: "failed" });
    expect(failed).toMatchObject({ error: { type: "ValueError", message: "no: card" } });
    const again = only(task("a", "ready"), START, RETRY, { ...START, seq: 6, attempt: 2 });
    expect(again).toMatchObject({ state: "running", attempt: 2, error: null, reason: null });
  });

  it("changes nothing for moves of the run itself", () => {
    const data = { pages: [page(task("a", "ready"))], pageParams: [undefined] };
    expect(moved(data, [{ run_id: "r", seq: 1, at: 1, new: "running" }])).toBe(data);
  });
});

describe("refreshed", () => {
  it("takes what was read of a task, unless it has moved since", () => {
    const tasks = [
      task("a", "ready", { attempt: 0 }),
      task("b", "completed", { attempt: 1 }),
      task("c", "running"),
      task("d", "running", { started_at: 5 }),
    ];
    const read = [
      task("a", "ready", { attempt: 0, reason: "no worker" }),
      task("b", "running", { attempt: 1, reason: "old" }),
      task("d", "running", { executor: "workers", started_at: null }),
    ];
    expect(refreshed(tasks, read)).toEqual([read[0], tasks[1], tasks[2], { ...read[2], started_at: 5 }]);
    expect(refreshed(tasks, [])).toBe(tasks);
  });
});

describe("progressOf", () => {
  it("reads what a task says, and refuses the rest", () => {
    expect(progressOf('{"done": 3, "total": 10, "message": "rows"}')).toEqual({ done: 3, total: 10, message: "rows" });
    expect(progressOf('{"done": "3"}')).toBeNull();
    expect(progressOf("nonsense")).toBeNull();
    expect(progressOf(undefined)).toBeNull();
  });
});
