"""Runs that begin in one batch share rows and moves, and each has its own slots, attempts and fate."""

from __future__ import annotations

from collections.abc import Callable

from kit.parts import Parts
from kit.runs import graph_of, task

from turnout.model.events import DispatchDecision

CHAIN = graph_of(task("a"), task("b", "a"))
PAIR = graph_of(task("a"), task("b"))
Build = Callable[..., Parts]
RUNS = ("run-1", "run-2", "run-3")


def submit(parts: Parts, *runs: str, graph: object = CHAIN) -> None:
    parts.submissions.put([parts.request(graph, run_id=run_id) for run_id in runs])  # type: ignore[arg-type]
    parts.drive()


def begun(parts: Parts) -> list[tuple[str, str]]:
    return [(event.run_id, event.task_id) for _, event in parts.dispatcher.dispatched]


def test_runs_of_one_batch_share_their_rows_and_have_attempts_of_their_own(build: Build) -> None:
    parts = build(CHAIN)
    submit(parts, *RUNS)
    assert begun(parts) == [(run_id, f"{run_id}.0") for run_id in RUNS]
    rows = [parts.store.tables[run_id].tasks[0] for run_id in RUNS]
    assert rows[0] is rows[1] is rows[2]
    assert parts.journal == ["reserve", "reserve", "reserve", "commit", "dispatch"]
    assert [parts.states(run_id) for run_id in RUNS] == [{"a": "running", "b": "pending"}] * 3


def test_each_of_them_goes_on_by_itself(build: Build) -> None:
    parts = build(CHAIN)
    submit(parts, *RUNS)
    parts.answer("a")
    parts.drive()
    assert [parts.states(run_id)["b"] for run_id in RUNS] == ["pending", "pending", "running"]


def test_runs_that_find_no_slot_wait(build: Build) -> None:
    parts = build(CHAIN, default=2)
    submit(parts, *RUNS)
    assert begun(parts) == [("run-1", "run-1.0"), ("run-2", "run-2.0")]
    assert parts.states("run-3") == {"a": "ready", "b": "pending"}


def test_slots_of_a_run_that_begins_only_in_part_are_not_lost(build: Build) -> None:
    parts = build(PAIR, default=3)
    submit(parts, "run-1", "run-2", graph=PAIR)
    assert parts.states("run-2") == {"a": "running", "b": "ready"}
    assert begun(parts) == [("run-1", "run-1.0"), ("run-1", "run-1.1"), ("run-2", "run-2.0")]
    assert parts.dispatcher.free == {"default": 0}


def test_a_run_that_goes_elsewhere_begins_by_itself(build: Build) -> None:
    parts = build(CHAIN, default=8, other=8)
    decide = parts.dispatcher.decide

    def by_run(task: object, workflow: object, run_id: str, input: str = "") -> DispatchDecision:
        return DispatchDecision("other", "a share") if run_id == "run-2" else decide(task, workflow, run_id, input)  # type: ignore[arg-type]

    parts.dispatcher.decide = by_run
    submit(parts, *RUNS)
    assert sorted((event.run_id, key) for key, event in parts.dispatcher.dispatched) == [
        ("run-1", "default"),
        ("run-2", "other"),
        ("run-3", "default"),
    ]
    assert parts.store.tables["run-2"].tasks[0].executor == "other"
    assert parts.store.tables["run-3"].tasks[0].executor == "default"


def test_claimed_runs_begin_together_too(build: Build) -> None:
    parts = build(CHAIN)
    for run_id in RUNS:
        parts.stored(CHAIN, run_id=run_id)
    parts.loop.run(parts.claims.process([None]))
    parts.drive()
    assert sorted(begun(parts)) == [(run_id, f"{run_id}.0") for run_id in RUNS]
    assert [parts.states(run_id) for run_id in RUNS] == [{"a": "running", "b": "pending"}] * 3
