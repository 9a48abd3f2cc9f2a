"""Waiters: every future is resolved by the end of its run, wherever the run is driven."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kit.loop import ManualLoop
from kit.parts import OTHER, Parts
from kit.runs import graph_of, task

from turnout.errors import RunNotFound, TurnoutError
from turnout.model.rows import RunRow
from turnout.model.states import RunState
from turnout.orchestration.messages import FinishedRun
from turnout.orchestration.reply import Reply
from turnout.orchestration.settings import EngineSettings
from turnout.orchestration.stages.stage import Stage

GRAPH = graph_of(task("a"))
Build = Callable[..., Parts]


def test_the_end_of_a_run_resolves_every_future_and_forgets_the_run(build: Build) -> None:
    parts = build(GRAPH)
    request = parts.submit(GRAPH)
    other: Reply[FinishedRun] = Reply()
    parts.waiters.add("run-1", other)
    parts.answer("a", "done")
    parts.drive()
    assert request.final.result(0) is other.result(0)
    assert other.result(0).machine is not None and len(parts.runs) == 0


def test_a_reply_that_was_answered_before_does_not_disturb_the_others(build: Build) -> None:
    parts = build(GRAPH)
    request = parts.submit(GRAPH)
    gone: Reply[FinishedRun] = Reply()
    gone.set_exception(ValueError("answered"))
    parts.waiters.add("run-1", gone)
    parts.answer("a")
    parts.drive()
    assert request.final.done()


def test_a_run_that_ended_elsewhere_is_found_by_the_next_look(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    table = parts.stored(GRAPH, OTHER)
    future: Reply[FinishedRun] = Reply()
    parts.waiters.watch("run-1", future)
    loop.settle()
    assert not future.done()
    table.run = RunRow(state=RunState.FAILED, reason="task_failed")
    loop.run(parts.waiters.check())
    assert future.result(0).run.row.reason == "task_failed" and future.result(0).machine is None


def test_watching_a_run_that_has_ended_already_answers_at_once(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.stored(GRAPH, OTHER).run = RunRow(state=RunState.COMPLETED)
    future: Reply[FinishedRun] = Reply()
    parts.waiters.watch("run-1", future)
    loop.settle()
    assert future.done()


def test_a_run_that_was_deleted_fails_its_waiters(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    future: Reply[FinishedRun] = Reply()
    parts.waiters.watch("run-1", future)
    loop.settle()
    with pytest.raises(RunNotFound):
        future.result(0)


def test_runs_that_are_driven_here_are_not_looked_up(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.submit(GRAPH)
    future: Reply[FinishedRun] = Reply()
    parts.waiters.watch("run-1", future)
    loop.run(parts.waiters.check())
    assert parts.store.calls("runs_by_id") == [] and not future.done()


def test_closing_fails_those_who_still_wait(build: Build) -> None:
    parts = build(GRAPH)
    request = parts.submit(GRAPH)
    parts.waiters.close()
    error = request.final.error
    assert isinstance(error, TurnoutError) and error.code == "runner_closed"


@pytest.mark.parametrize(("more", "asks"), [(True, True), (False, False)])
def test_a_claim_is_requested_when_half_of_the_room_is_free_and_runs_were_left(
    build: Build, more: bool, asks: bool
) -> None:
    parts = build(GRAPH, settings=EngineSettings(max_owned_runs=4))
    for number in range(4):
        parts.submit(GRAPH, run_id=f"run-{number}")
    parts.claims.may_have_more = more
    for number in range(4):
        owned = parts.runs[f"run-{number}"]
        parts.loop.run(parts.waiters.process([owned]))
        assert len(parts.queues[Stage.CLAIM]) == (asks and number >= 1)
