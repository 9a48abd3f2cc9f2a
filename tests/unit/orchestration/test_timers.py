"""Delays of runs: retries, timeouts, and cancelled attempts that do not answer."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from kit.loop import ManualLoop
from kit.parts import Parts
from kit.runs import graph_of, task

from turnout.model.events import ExecutionStatus
from turnout.model.reasons import RUN_TIMED_OUT
from turnout.model.rows import RunRow
from turnout.model.states import RunState
from turnout.orchestration.active_runs import ActiveRun
from turnout.orchestration.settings import EngineSettings

GRAPH = graph_of(task("a"))
Build = Callable[..., Parts]


def waiting(parts: Parts, seconds: float) -> ActiveRun:
    owned = parts.idle_run(GRAPH)
    owned.machine.tasks[0] = msgspec.structs.replace(owned.machine.tasks[0], retry_in=seconds)
    owned.machine.ready.clear()
    parts.timers.retry(owned, owned.machine.tasks[0])
    return owned


def test_a_task_may_start_when_its_delay_is_over_and_not_before(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    owned = waiting(parts, 30.0)
    loop.advance(29.9)
    assert not owned.queued and list(owned.machine.ready) == []
    loop.advance(0.2)
    assert owned.queued and list(owned.machine.ready) == [0]


def test_a_delay_of_a_run_that_was_let_go_changes_nothing(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    owned = waiting(parts, 1.0)
    parts.runs.release(owned)
    loop.advance(2.0)
    assert not owned.queued and list(owned.machine.ready) == []


def test_a_run_is_cancelled_when_its_timeout_is_over(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    owned = parts.idle_run(GRAPH, timeout=60.0)
    parts.timers.deadline(owned, age=0.0)
    loop.advance(59.0)
    assert owned.commands == []
    loop.advance(1.5)
    assert [(order.kind, order.reason) for order in owned.commands] == [("cancel", RUN_TIMED_OUT)]
    assert owned.queued


def test_the_time_that_a_run_spent_with_earlier_owners_counts(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    young, old = (parts.idle_run(GRAPH, timeout=60.0, run_id=name) for name in ("young", "old"))
    parts.timers.deadline(young, age=50.0)
    parts.timers.deadline(old, age=500.0)
    loop.settle()
    assert not young.commands and len(old.commands) == 1
    loop.advance(10.0)
    assert len(young.commands) == 1


def test_a_run_without_a_timeout_and_one_that_has_ended_get_no_deadline(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    endless = parts.idle_run(GRAPH, run_id="endless")
    ended = parts.idle_run(GRAPH, run_id="ended", timeout=1.0)
    ended.machine.row = RunRow(state=RunState.COMPLETED)
    for owned in (endless, ended):
        parts.timers.deadline(owned, age=0.0)
        assert owned.timer is None and owned.ends_at is None


def test_a_cancelled_attempt_that_does_not_answer_is_given_up_after_its_grace(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH, settings=EngineSettings(cancel_grace=10.0))
    parts.submit(GRAPH)
    owned = parts.runs["run-1"]
    parts.timers.cancel_timeout(owned, parts.event("a"))
    loop.advance(9.0)
    assert owned.results == []
    loop.advance(1.5)
    assert [(each.pos, each.result.status) for each in owned.results] == [(0, ExecutionStatus.CANCELLED)]
    assert owned.results[0].result.attempt == 1


def test_an_attempt_of_a_run_that_was_let_go_is_not_given_up_here(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.submit(GRAPH)
    owned = parts.runs["run-1"]
    parts.timers.cancel_timeout(owned, parts.event("a"))
    parts.runs.release(owned)
    loop.advance(60.0)
    assert owned.results == []
