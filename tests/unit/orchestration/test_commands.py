"""Commands: an order reaches a run wherever it is driven, and is acknowledged when it is committed."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from kit.loop import ManualLoop
from kit.parts import OTHER, Parts
from kit.runs import graph_of, task

from turnout.contracts.executor import BEGIN_WITHIN
from turnout.errors import RunNotFound, StoreUnreachable, TurnoutError
from turnout.model.reasons import TURN_FAILED
from turnout.model.rows import RunRow, Session
from turnout.model.states import RunState

GRAPH = graph_of(task("a"))
Build = Callable[..., Parts]


def test_an_order_to_a_run_of_this_orchestrator_returns_when_it_is_committed(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.submit(GRAPH)
    order = loop.start(parts.commands.carry_out("run-1", "pause"))
    assert not order.done()
    parts.drive()
    assert order.done() and parts.store.tables["run-1"].run.state is RunState.PAUSED
    assert parts.store.commands == {}


def test_an_unowned_run_is_claimed_to_carry_the_order_out(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.stored(GRAPH)
    order = loop.start(parts.commands.carry_out("run-1", "cancel", "not needed"))
    parts.drive()
    stored = parts.store.tables["run-1"].run
    assert order.done() and (stored.state, stored.reason) == (RunState.CANCELLED, "not needed")


def test_the_order_for_a_run_of_another_owner_is_left_in_the_store_once(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.stored(GRAPH, OTHER)
    order = loop.start(parts.commands.carry_out("run-1", "pause", "lunch"))
    loop.advance(1.0)
    assert not order.done() and parts.store.calls("add_command") == [("run-1", "pause", "lunch")]
    assert parts.store.calls("claim_listed") == [] and parts.store.tables["run-1"].owner == OTHER
    parts.store.closed[1] = None
    loop.advance(0.1)
    assert order.done() and order.exception() is None


def test_an_order_that_another_owner_refuses_raises_what_it_said(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.stored(GRAPH, OTHER)
    order = loop.start(parts.commands.carry_out("run-1", "pause"))
    parts.store.closed[1] = "its turn failed"
    loop.advance(0.1)
    error = order.exception()
    assert isinstance(error, TurnoutError) and error.code == TURN_FAILED and "its turn failed" in error.message


def test_an_order_to_a_run_that_has_ended_has_nothing_to_do(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.stored(GRAPH, OTHER).run = RunRow(state=RunState.COMPLETED)
    loop.run(parts.commands.carry_out("run-1", "resume"))
    assert parts.store.commands == {}


def test_an_order_to_a_run_that_does_not_exist_raises(build: Build, loop: ManualLoop) -> None:
    with pytest.raises(RunNotFound):
        loop.run(build(GRAPH).commands.carry_out("run-9", "pause"))


def test_an_order_follows_its_run_to_another_owner(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    owned = parts.idle_run(GRAPH)
    order = loop.start(parts.commands.carry_out("run-1", "pause"))
    assert len(owned.commands) == 1
    parts.store.tables["run-1"].claim(OTHER)
    parts.runs.release(owned)
    loop.settle()
    assert not order.done() and parts.store.calls("add_command") == [("run-1", "pause", None)]


def test_a_pause_waits_for_attempts_that_a_poller_holds_and_may_be_about_to_begin(
    build: Build, loop: ManualLoop
) -> None:
    parts = build(GRAPH)
    owned = parts.idle_run(GRAPH)
    table = parts.store.tables["run-1"]
    table.tasks[0] = msgspec.structs.replace(table.tasks[0], poll_key="far")
    table.claim_ready(0, "poller-1")
    owned.machine.tasks[0], owned.machine.ready = table.tasks[0], {}
    parts.store.sessions["poller-1"] = Session(id="poller-1", kind="poller")
    order = loop.start(parts.commands.carry_out("run-1", "pause"))
    parts.drive()
    assert table.run.state is RunState.PAUSED and not order.done()
    loop.advance(BEGIN_WITHIN)
    assert order.done()


def test_a_resume_waits_for_nobody(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.idle_run(GRAPH, RunState.PAUSED)
    order = loop.start(parts.commands.carry_out("run-1", "resume"))
    parts.drive()
    assert order.done() and parts.store.calls("live_sessions") == []


def test_commands_are_refused_in_the_store_and_an_outage_is_only_logged(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    loop.run(parts.commands.refuse([], "nothing"))
    assert parts.store.calls("refuse_commands") == []
    loop.run(parts.commands.refuse([3, 4], "it cannot"))
    assert parts.store.closed == {3: "it cannot", 4: "it cannot"}
    parts.store.errors["refuse_commands"] = StoreUnreachable("it is away")
    loop.run(parts.commands.refuse([5], "it cannot"))
    assert 5 not in parts.store.closed
