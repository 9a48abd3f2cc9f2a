"""The runs that an orchestrator owns: in one queue at a time, and answered when they are let go."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kit.loop import ManualLoop
from kit.parts import Parts
from kit.runs import graph_of, task

from turnout.errors import StoreUnreachable
from turnout.model.events import ExecutionResult
from turnout.model.rows import RunRow
from turnout.model.states import RunState
from turnout.orchestration.active_runs import ActiveRun, RunCommand
from turnout.orchestration.stages.stage import Stage

GRAPH = graph_of(task("a"))
Build = Callable[..., Parts]


def queued(parts: Parts, stage: Stage) -> list[ActiveRun]:
    return parts.queues[stage].take(100)


def test_a_run_with_tasks_to_start_and_a_run_with_news_wait_for_different_stages(build: Build) -> None:
    parts = build(GRAPH)
    to_start, with_result, with_order = (parts.idle_run(GRAPH, run_id=name) for name in ("a", "b", "c"))
    parts.runs.enqueue(to_start)
    parts.runs.deliver(with_result, 0, ExecutionResult.success(with_result.machine.event(0)))
    parts.runs.command(with_order, RunCommand("pause", None))
    assert queued(parts, Stage.START) == [to_start]
    assert queued(parts, Stage.RESULT) == [with_result, with_order]


def test_a_run_is_in_one_queue_at_a_time(build: Build) -> None:
    parts = build(GRAPH)
    owned = parts.idle_run(GRAPH)
    for _ in range(3):
        parts.runs.enqueue(owned)
    assert queued(parts, Stage.START) == [owned]


def test_a_run_whose_turn_is_in_the_ledger_is_not_queued(build: Build) -> None:
    parts = build(GRAPH)
    owned = parts.idle_run(GRAPH)
    owned.busy = True
    parts.runs.deliver(owned, 0, ExecutionResult.success(owned.machine.event(0)))
    assert not any(parts.queues.values())
    assert len(owned.results) == 1  # it waits for the next turn


def test_a_run_that_was_let_go_is_not_queued(build: Build) -> None:
    parts = build(GRAPH)
    owned = parts.idle_run(GRAPH)
    parts.runs.release(owned)
    parts.runs.enqueue(owned)
    assert not any(parts.queues.values())
    assert owned.run_id not in parts.runs and len(parts.runs) == 0


def test_a_run_that_has_ended_goes_to_the_last_stage_only(build: Build) -> None:
    parts = build(GRAPH)
    owned = parts.idle_run(GRAPH)
    parts.runs.finish(owned)
    parts.runs.enqueue(owned)
    assert queued(parts, Stage.FINISH) == [owned]
    assert not any(parts.queues.values())


def test_the_results_of_a_run_that_is_let_go_are_left_for_its_next_owner(build: Build) -> None:
    parts = build(GRAPH)
    owned = parts.idle_run(GRAPH)
    result = ExecutionResult.success(owned.machine.event(0))
    parts.runs.deliver(owned, 0, result)
    parts.runs.release(owned)
    assert parts.dispatcher.told_unclaimed == [result]


@pytest.mark.parametrize("ended", [True, False])
def test_an_order_to_a_run_that_is_let_go_succeeds_only_if_the_run_has_ended(
    build: Build, loop: ManualLoop, ended: bool
) -> None:
    parts = build(GRAPH)
    owned = parts.idle_run(GRAPH)
    order = RunCommand("cancel", None, done=loop.create_future())
    parts.runs.command(owned, order)
    if ended:
        owned.machine.row = RunRow(state=RunState.COMPLETED)
    parts.runs.release(owned)
    assert order.done is not None
    if ended:
        assert order.done.result() is None
    else:
        assert isinstance(order.done.exception(), StoreUnreachable)


def test_letting_an_earlier_state_of_a_run_go_keeps_the_newer_one(build: Build) -> None:
    parts = build(GRAPH)
    before = parts.idle_run(GRAPH)
    now = ActiveRun(before.machine)
    parts.runs.add(now)
    parts.runs.release(before)
    assert parts.runs[now.run_id] is now and before.dropped and not now.dropped


def test_a_run_that_is_let_go_no_longer_times_out(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    owned = parts.idle_run(GRAPH, timeout=5.0)
    parts.timers.deadline(owned, age=0.0)
    parts.runs.release(owned)
    loop.advance(10.0)
    assert owned.commands == []
