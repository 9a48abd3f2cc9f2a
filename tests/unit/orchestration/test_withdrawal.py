"""Withdrawal: a pause or a cancel is carried out when none of the run's attempts can begin any more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kit.loop import ManualLoop
from kit.parts import Parts
from kit.runs import graph_of, mapped, task

from turnout.model.names import task_id
from turnout.orchestration.active_runs import ActiveRun, RunCommand
from turnout.orchestration.settings import EngineSettings

GRAPH = graph_of(task("a"), task("b"))
Build = Callable[..., Parts]


def ordered(parts: Parts, *kinds: str) -> tuple[ActiveRun, list[RunCommand]]:
    parts.submit(GRAPH)
    owned = parts.runs["run-1"]
    owned.commands = [RunCommand(kind, None) for kind in kinds]
    return owned, owned.commands


def unanswered(parts: Parts) -> asyncio.Future[None]:
    waits = parts.loop.create_future()
    parts.dispatcher.withdrawals = [waits]
    return waits


def test_an_order_is_ready_at_once_if_everything_has_begun(build: Build) -> None:
    parts = build(GRAPH)
    owned, orders = ordered(parts, "pause")
    assert parts.withdrawal.ready_commands(owned) == (orders, ())
    assert parts.dispatcher.withdrawn == [([task_id("run-1", 0), task_id("run-1", 1)], "paused")]


def test_an_order_waits_for_the_executors_and_the_run_comes_back_when_they_have_answered(
    build: Build, loop: ManualLoop
) -> None:
    parts = build(GRAPH)
    owned, orders = ordered(parts, "cancel")
    waits = unanswered(parts)
    assert parts.withdrawal.ready_commands(owned) == ([], orders)
    loop.advance(1.0)
    assert not owned.queued
    waits.set_result(None)
    loop.settle()
    assert owned.queued and parts.withdrawal.ready_commands(owned) == (orders, ())
    assert len(parts.dispatcher.withdrawn) == 1, "attempts are taken back once for each order"


def test_orders_before_one_that_waits_are_carried_out_and_those_behind_it_wait_too(build: Build) -> None:
    parts = build(GRAPH)
    owned, orders = ordered(parts, "resume", "pause", "resume")
    unanswered(parts)
    assert parts.withdrawal.ready_commands(owned) == (orders[:1], orders[1:])


def test_an_executor_that_does_not_answer_holds_an_order_up_for_one_lease(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH, settings=EngineSettings(lease=15.0))
    owned, orders = ordered(parts, "pause")
    unanswered(parts)
    assert parts.withdrawal.ready_commands(owned) == ([], orders)
    loop.advance(14.0)
    assert not owned.queued
    loop.advance(1.5)
    assert owned.queued and parts.withdrawal.ready_commands(owned) == (orders, ())


def test_a_resume_takes_nothing_back(build: Build) -> None:
    parts = build(GRAPH)
    owned, orders = ordered(parts, "resume")
    unanswered(parts)
    assert parts.withdrawal.ready_commands(owned) == (orders, ()) and parts.dispatcher.withdrawn == []


def test_only_running_attempts_are_taken_back_and_of_a_mapped_task_its_items(build: Build) -> None:
    graph = graph_of(mapped("each", over=[1, 2, 3]))
    parts = build(graph, default=2)
    parts.submit(graph)
    parts.drive()
    owned = parts.runs["run-1"]
    owned.commands = [RunCommand("pause", None)]
    parts.withdrawal.ready_commands(owned)
    assert parts.dispatcher.withdrawn == [([task_id("run-1", 1), task_id("run-1", 2)], "paused")]


def test_a_run_that_was_let_go_meanwhile_does_not_come_back(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    owned, _ = ordered(parts, "pause")
    waits = unanswered(parts)
    parts.withdrawal.ready_commands(owned)
    parts.runs.release(owned)
    waits.set_result(None)
    loop.settle()
    assert not owned.queued
