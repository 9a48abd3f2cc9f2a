"""Turns: which ready tasks start now, what becomes of results and orders, and what waits for what."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec
import pytest
from kit.dispatcher import FakeAssigner
from kit.loop import ManualLoop
from kit.parts import ME, Parts
from kit.runs import SOON, graph_of, mapped, task

from turnout.errors import TurnoutError
from turnout.model.breaker import BreakerState
from turnout.model.events import DispatchDecision, ExecutionResult, ExecutionStatus
from turnout.model.names import task_id
from turnout.model.reasons import BREAKER_OPEN, NO_CAPACITY, TURN_FAILED
from turnout.model.rows import Holder, Session
from turnout.model.states import RunState, TaskState
from turnout.orchestration.active_runs import ActiveRun, RunCommand
from turnout.orchestration.settings import EngineSettings
from turnout.orchestration.stages.capacity import OVERTAKE_TIMEOUT, SelectorQueue
from turnout.orchestration.stages.stage import Stage

A = graph_of(task("a"))
CHAIN = graph_of(task("a"), task("b", "a"))
PAIR = graph_of(task("a"), task("b"))
LONG = 1_000.0
"""Seconds that no test takes."""
Build = Callable[..., Parts]


def transition(parts: Parts, owned: ActiveRun) -> None:
    owned.queued = True
    parts.loop.run(parts.scheduler.process([owned]))


def row(parts: Parts, pos: int, run_id: str = "run-1") -> object:
    return parts.store.tables[run_id].tasks[pos]


# -- starting --------------------------------------------------------------------------------------------------------
def test_every_slot_is_reserved_before_the_commit_and_used_after_it(build: Build) -> None:
    parts = build(PAIR)
    transition(parts, parts.idle_run(PAIR))
    assert parts.journal == ["reserve", "reserve", "commit", "dispatch"]
    assert parts.dispatcher.names() == ["a", "b"]


def test_the_runs_of_one_batch_are_committed_together(build: Build, loop: ManualLoop) -> None:
    parts = build(A)
    batch = [parts.idle_run(A, run_id=f"run-{number}") for number in range(5)]
    loop.run(parts.scheduler.process(batch))
    assert parts.journal.count("commit") == 1 and len(parts.dispatcher.dispatched) == 5


def test_a_task_without_a_slot_stays_ready_and_its_run_waits_in_line(build: Build) -> None:
    parts = build(PAIR, default=1)
    owned = parts.idle_run(PAIR)
    transition(parts, owned)
    assert parts.states() == {"a": "running", "b": "ready"}
    assert parts.dispatcher.names() == ["a"] and owned.queued_for == {"default"}


def test_a_task_that_becomes_ready_while_nothing_has_room_is_stored_with_its_reason(build: Build) -> None:
    parts = build(CHAIN, default=1)
    parts.submit(CHAIN)
    parts.answer("a")
    parts.dispatcher.free["default"] = 0
    parts.drive()
    stored = parts.store.tables["run-1"].tasks[1]
    assert (stored.state, stored.reason) == (TaskState.READY, NO_CAPACITY)


def test_a_waiting_run_comes_back_when_its_executor_reports_room(build: Build) -> None:
    parts = build(A, default=0)
    owned = parts.idle_run(A)
    transition(parts, owned)
    assert parts.journal == [] and owned.queued_for == {"default"} and not owned.queued
    parts.dispatcher.free["default"] = 1
    parts.starter.on_capacity("default")
    parts.drive()
    assert parts.dispatcher.names() == ["a"] and owned.queued_for == set()


def test_an_executor_without_room_brings_no_run_back(build: Build) -> None:
    parts = build(A, default=0)
    owned = parts.idle_run(A)
    transition(parts, owned)
    parts.starter.on_capacity("default")
    assert not owned.queued and owned.queued_for == {"default"}


def test_the_sweep_brings_runs_back_whose_executor_did_not_report_its_room(build: Build, loop: ManualLoop) -> None:
    parts = build(A, default=0)
    owned = parts.idle_run(A)
    transition(parts, owned)
    loop.run(parts.starter.sweep())
    assert not owned.queued
    parts.dispatcher.free["default"] = 1
    loop.run(parts.starter.sweep())
    assert owned.queued


def test_the_first_slot_goes_to_the_waiting_run_with_the_highest_priority(build: Build) -> None:
    parts = build(A, default=0)
    for run_id, priority in (("low", 1), ("high", 9), ("middle", 5)):
        transition(parts, parts.idle_run(A, run_id=run_id, priority=priority))
    parts.dispatcher.free["default"] = 1
    parts.starter.on_capacity("default")
    parts.drive()
    assert [event.run_id for _, event in parts.dispatcher.dispatched] == ["high"]
    assert parts.dispatcher.dispatched[0][1].priority == 9


def test_tasks_of_one_run_start_by_their_own_priority(build: Build) -> None:
    graph = graph_of(task("low", priority=1), task("high", priority=7), task("middle", priority=3))
    parts = build(graph, default=2)
    transition(parts, parts.idle_run(graph))
    assert parts.dispatcher.names() == ["high", "middle"]


@pytest.mark.parametrize(("waited", "starts"), [(-LONG, True), (OVERTAKE_TIMEOUT * 3, False)])
def test_a_run_goes_straight_on_until_another_has_waited_too_long(build: Build, waited: float, starts: bool) -> None:
    parts = build(A, default=1)
    before, owned = parts.idle_run(A, run_id="before"), parts.idle_run(A, run_id="owned")
    parts.capacity_queue.add(before, "default", time.monotonic() - waited)
    transition(parts, owned)
    assert bool(parts.dispatcher.dispatched) is starts
    assert (owned.queued_for == set()) is starts


def test_a_full_executor_does_not_keep_tasks_of_another_from_starting(build: Build) -> None:
    parts = build(PAIR, default=0, other=1)
    parts.dispatcher.routes["b"] = DispatchDecision("other", "a rule")
    owned = parts.idle_run(PAIR)
    transition(parts, owned)
    assert parts.dispatcher.names() == ["b"] and owned.queued_for == {"default"}


def test_nothing_is_reserved_while_the_session_may_not_start_anything(build: Build, loop: ManualLoop) -> None:
    parts = build(A)
    owned = parts.idle_run(A)
    parts.session.keeper.fenced = True
    transition(parts, owned)
    assert parts.journal == [] and parts.states() == {"a": "ready"}
    parts.session.keeper.fenced = False
    loop.run(parts.starter.sweep())
    parts.drive()
    assert parts.dispatcher.names() == ["a"]


@pytest.mark.parametrize("why", ["stopping", "bystander"])
def test_an_orchestrator_that_stops_or_does_not_drive_starts_nothing(build: Build, why: str) -> None:
    parts = build(A, drives=why != "bystander")
    owned = parts.idle_run(A)
    if why == "stopping":
        parts.session.begin_stopping()
    transition(parts, owned)
    assert parts.journal == [] and parts.states() == {"a": "ready"}


def test_results_are_taken_while_nothing_may_start(build: Build) -> None:
    parts = build(CHAIN)
    parts.submit(CHAIN)
    parts.session.keeper.fenced = True
    parts.answer("a")
    parts.drive()
    assert parts.states() == {"a": "completed", "b": "ready"}


def test_a_later_attempt_reuses_the_stored_decision(build: Build, loop: ManualLoop) -> None:
    graph = graph_of(task("a", attempts=2, delay=SOON))
    parts = build(graph, default=1, other=1)
    parts.submit(graph)
    parts.dispatcher.routes["a"] = DispatchDecision("other", "a newer rule")
    parts.end("a", ExecutionResult.failed(parts.event("a"), "broken"))
    parts.drive()
    assert parts.states() == {"a": "ready"}
    loop.advance(2 * SOON)
    parts.drive()
    assert [(key, event.attempt) for key, event in parts.dispatcher.dispatched] == [("default", 1), ("default", 2)]
    assert parts.dispatcher.decided == ["a"]


# -- pollers and workers ---------------------------------------------------------------------------------------------
def test_tasks_that_pollers_serve_are_offered_and_never_dispatched(build: Build) -> None:
    parts = build(PAIR, polled=frozenset({"far"}))
    parts.dispatcher.routes["b"] = DispatchDecision("far", "a rule")
    transition(parts, parts.idle_run(PAIR))
    assert parts.dispatcher.names() == ["a"]
    assert (row(parts, 1).state, row(parts, 1).poll_key) == (TaskState.READY, "far")


def test_without_a_dispatcher_everything_is_offered(build: Build) -> None:
    parts = build(PAIR, polled=None)
    transition(parts, parts.idle_run(PAIR))
    assert parts.journal == ["commit"]
    assert [row(parts, pos).poll_key for pos in (0, 1)] == ["default", "default"]


def test_the_result_of_an_attempt_that_a_poller_claimed_completes_the_task(build: Build) -> None:
    parts = build(A, polled=None)
    owned = parts.idle_run(A)
    transition(parts, owned)
    assert parts.store.tables["run-1"].claim_ready(0, "poller-1") == 1
    result = ExecutionResult(
        run_id="run-1", task_id=task_id("run-1", 0), attempt=1, status=ExecutionStatus.COMPLETED, output="5"
    )
    parts.runs.deliver(owned, 0, result, inbox=None, holder="poller-1")
    parts.drive()
    assert parts.states() == {"a": "completed"}
    parts.store.tables["run-1"].check()


def test_an_executor_that_assigns_names_the_holder_of_the_attempt(build: Build) -> None:
    parts = build(PAIR, hub=5)
    parts.dispatcher.assigners["hub"] = assigner = FakeAssigner(one=1)
    owned = parts.idle_run(PAIR)
    transition(parts, owned)
    assert row(parts, 0).holder == "one" and parts.dispatcher.dispatched[0][1].holder == "one"
    assert (row(parts, 1).state, row(parts, 1).reason) == (TaskState.READY, "no_worker")
    assert assigner.free == {"one": 0} and owned.queued_for == {SelectorQueue("hub", "any")}


def test_a_holder_is_not_kept_when_its_executor_has_no_slot(build: Build) -> None:
    parts = build(A, hub=0)
    parts.dispatcher.assigners["hub"] = assigner = FakeAssigner(one=1)
    transition(parts, parts.idle_run(A))
    assert assigner.free == {"one": 1} and parts.dispatcher.dispatched == []


def test_the_sweep_stores_another_reason_for_which_tasks_wait(build: Build, loop: ManualLoop) -> None:
    parts = build(A, hub=5)
    parts.dispatcher.assigners["hub"] = assigner = FakeAssigner()
    transition(parts, parts.idle_run(A))
    assert row(parts, 0).reason == "no_worker"
    assigner.reason = "workers_busy"
    loop.run(parts.starter.sweep())
    parts.drive()
    assert row(parts, 0).reason == "workers_busy"


def test_a_task_of_an_executor_whose_breaker_is_open_says_so(build: Build) -> None:
    parts = build(A)
    parts.dispatcher.breakers["default"] = BreakerState.OPEN
    transition(parts, parts.idle_run(A))
    assert (row(parts, 0).state, row(parts, 0).reason) == (TaskState.READY, BREAKER_OPEN)


def test_runs_that_wait_say_so_when_the_breaker_opens(build: Build) -> None:
    parts = build(A, default=0)
    owned = parts.idle_run(A)
    transition(parts, owned)
    parts.dispatcher.breakers["default"] = BreakerState.OPEN
    parts.starter.on_capacity("default")
    assert owned.queued
    parts.drive()
    assert row(parts, 0).reason == BREAKER_OPEN and owned.queued_for == {"default"}


# -- results ---------------------------------------------------------------------------------------------------------
def test_a_result_starts_what_waited_for_it_in_the_same_commit(build: Build) -> None:
    parts = build(CHAIN)
    parts.submit(CHAIN)
    parts.journal.clear()
    parts.answer("a")
    parts.drive()
    assert parts.journal == ["reserve", "commit", "dispatch"]
    assert parts.states() == {"a": "completed", "b": "running"}


@pytest.mark.parametrize("attempt", [1, 3])
def test_a_result_for_another_attempt_is_not_counted(build: Build, attempt: int) -> None:
    graph = graph_of(task("a", attempts=3))
    parts = build(graph)
    parts.submit(graph)
    parts.end("a", ExecutionResult.failed(parts.event("a"), "broken"))
    parts.drive()
    assert parts.event("a").attempt == 2
    parts.journal.clear()
    stray = ExecutionResult(
        run_id="run-1", task_id=task_id("run-1", 0), attempt=attempt, status=ExecutionStatus.COMPLETED, output="1"
    )
    parts.intake.deliver([stray])
    parts.drive()
    assert parts.states() == {"a": "running"} and parts.journal == []
    assert row(parts, 0).attempt == 2
    assert parts.dispatcher.told_settled[-1] == stray, "its sender need not keep it"


def test_the_second_result_of_an_attempt_changes_nothing(build: Build) -> None:
    parts = build(CHAIN)
    parts.submit(CHAIN)
    first = parts.answer("a", 1)
    parts.drive()
    second = ExecutionResult.success(parts.event("a"), 2)
    parts.intake.deliver([second])
    parts.drive()
    assert row(parts, 0).output == "1" and parts.dispatcher.told_settled == [first, second]


def test_a_result_for_a_run_that_is_driven_elsewhere_goes_back(build: Build) -> None:
    parts = build(A)
    parts.submit(A)
    event = parts.event("a")
    parts.runs.release(parts.runs["run-1"])
    result = ExecutionResult.success(event)
    parts.intake.deliver([result])
    assert parts.dispatcher.told_unclaimed == [result] and parts.intake.late_results == 1


def test_results_that_arrive_during_a_commit_are_taken_with_the_next(build: Build, loop: ManualLoop) -> None:
    parts = build(PAIR)
    parts.submit(PAIR)
    owned = parts.runs["run-1"]
    parts.answer("a")
    loop.holding = True
    loop.start(parts.scheduler.process(parts.queues[Stage.RESULT].take(10)))
    parts.answer("b")
    assert owned.busy and not owned.queued and len(owned.results) == 1
    loop.let_go()
    assert owned.queued
    parts.drive()
    assert parts.store.tables["run-1"].run.state is RunState.COMPLETED


def test_the_items_of_a_mapped_task_start_as_far_as_there_is_room(build: Build) -> None:
    graph = graph_of(mapped("each", over=[1, 2, 3]))
    parts = build(graph, default=2)
    transition(parts, parts.idle_run(graph))
    parts.drive()
    assert len(parts.dispatcher.dispatched) == 2
    states = [each.state.value for each in parts.store.tables["run-1"].tasks.values()]
    assert states == ["running", "running", "running", "ready"]


# -- failures ----------------------------------------------------------------------------------------------------------
def test_a_turn_that_fails_once_is_taken_again_and_nothing_is_lost(build: Build, loop: ManualLoop) -> None:
    parts = build(PAIR, default=2)
    owned = parts.idle_run(PAIR)
    parts.dispatcher.faults["b"] = RuntimeError("a rule raised")
    transition(parts, owned)
    assert parts.journal == ["reserve"] and parts.dispatcher.free == {"default": 2}, "the slot of a is free again"
    del parts.dispatcher.faults["b"]
    loop.advance(0.9)
    assert not owned.queued
    loop.advance(0.2)
    parts.drive()
    assert parts.dispatcher.names() == ["a", "b"] and owned.last_failure == ""


def test_a_turn_that_fails_twice_in_the_same_way_fails_its_run(build: Build, loop: ManualLoop) -> None:
    parts = build(A)
    parts.dispatcher.faults["a"] = RuntimeError("a rule raised")
    owned = parts.idle_run(A)
    transition(parts, owned)
    loop.advance(1.5)
    parts.drive()
    stored = parts.store.tables["run-1"].run
    assert (stored.state, stored.reason) == (RunState.FAILED, TURN_FAILED)
    assert stored.error is not None and "a rule raised" in stored.error.message
    assert parts.states() == {"a": "cancelled"}
    parts.store.tables["run-1"].check()


def test_the_trouble_of_one_run_does_not_touch_the_others_of_its_batch(build: Build, loop: ManualLoop) -> None:
    bad = graph_of(task("bad"))
    parts = build(A)
    parts.dispatcher.faults["bad"] = RuntimeError("a rule raised")
    batch = [parts.idle_run(bad, run_id="bad"), parts.idle_run(A, run_id="good")]
    loop.run(parts.scheduler.process(batch))
    assert [event.run_id for _, event in parts.dispatcher.dispatched] == ["good"]


def test_an_order_whose_turn_fails_twice_is_refused_and_the_run_goes_on(build: Build, loop: ManualLoop) -> None:
    parts = build(CHAIN)
    parts.submit(CHAIN)
    owned = parts.runs["run-1"]
    parts.dispatcher.faults["withdraw"] = RuntimeError("an executor raised")
    done = loop.create_future()
    parts.store.add_command("run-1", "pause")
    parts.runs.command(owned, RunCommand("pause", None, row=1, done=done))
    parts.drive()
    loop.advance(1.5)
    parts.drive()
    error = done.exception()
    assert isinstance(error, TurnoutError) and error.code == TURN_FAILED
    loop.settle()
    assert parts.store.closed == {1: "RuntimeError: an executor raised"}
    parts.answer("a")
    parts.drive()
    assert parts.states() == {"a": "completed", "b": "running"}


# -- orders ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("kind", "state"), [("pause", RunState.PAUSED), ("cancel", RunState.CANCELLING)])
def test_a_pause_and_a_cancel_wait_until_the_executors_have_said_what_has_begun(
    build: Build, loop: ManualLoop, kind: str, state: RunState
) -> None:
    parts = build(PAIR, default=1)
    parts.submit(PAIR)
    owned, waits = parts.runs["run-1"], loop.create_future()
    parts.dispatcher.withdrawals = [waits]
    parts.dispatcher.free["default"] = 1
    parts.runs.command(owned, RunCommand(kind, None, done=loop.create_future()))
    parts.drive()
    assert parts.store.tables["run-1"].run.state is RunState.RUNNING
    assert parts.dispatcher.withdrawn == [([task_id("run-1", 0)], "cancelled" if kind == "cancel" else "paused")]
    assert parts.dispatcher.names() == ["a"], "the run gets no new attempts meanwhile"
    waits.set_result(None)
    parts.drive()
    assert parts.store.tables["run-1"].run.state is state
    assert owned.commands == []


def test_an_attempt_that_was_withdrawn_costs_nothing_and_starts_after_the_pause(build: Build, loop: ManualLoop) -> None:
    parts = build(A)
    parts.submit(A)
    owned, waits = parts.runs["run-1"], loop.create_future()
    parts.dispatcher.withdrawals = [waits]
    parts.runs.command(owned, RunCommand("pause", None))
    parts.drive()
    parts.end("a", ExecutionResult.returned(parts.event("a"), "paused"))
    waits.set_result(None)
    parts.drive()
    assert (owned.machine.row.state, parts.states()) == (RunState.PAUSED, {"a": "ready"})
    assert row(parts, 0).failures == 0
    parts.runs.command(owned, RunCommand("resume", None))
    parts.drive()
    loop.advance(5.0)
    parts.drive()
    assert parts.states() == {"a": "running"} and parts.event("a").attempt == 2


def test_a_paused_run_starts_nothing_until_it_is_resumed(build: Build) -> None:
    parts = build(CHAIN)
    parts.submit(CHAIN)
    parts.runs.command(parts.runs["run-1"], RunCommand("pause", None))
    parts.drive()
    parts.answer("a")
    parts.drive()
    assert parts.states() == {"a": "completed", "b": "ready"}
    parts.runs.command(parts.runs["run-1"], RunCommand("resume", None))
    parts.drive()
    assert parts.states() == {"a": "completed", "b": "running"}


def test_a_cancelled_run_asks_its_executor_to_stop_and_gives_up_after_the_grace(build: Build, loop: ManualLoop) -> None:
    parts = build(CHAIN, settings=EngineSettings(cancel_grace=10.0))
    parts.submit(CHAIN)
    parts.runs.command(parts.runs["run-1"], RunCommand("cancel", "not needed"))
    parts.drive()
    assert [event.task_id for event in parts.dispatcher.cancelled] == [task_id("run-1", 0)]
    assert parts.states() == {"a": "running", "b": "cancelled"}
    loop.advance(11.0)
    parts.drive()
    stored = parts.store.tables["run-1"]
    assert (stored.run.state, stored.run.reason) == (RunState.CANCELLED, "not needed")
    stored.check()


def test_attempts_that_others_hold_end_with_the_cancellation(build: Build) -> None:
    parts = build(A, hub=1)
    parts.dispatcher.assigners["hub"] = FakeAssigner(one=1)
    owned = parts.idle_run(A)
    transition(parts, owned)
    assert row(parts, 0).holder == "one"
    parts.dispatcher.flying.clear()  # the orchestrator that sent it is gone
    parts.runs.command(owned, RunCommand("cancel", None))
    parts.drive()
    assert parts.dispatcher.cancelled == [] and parts.store.tables["run-1"].run.state is RunState.CANCELLED


def test_an_attempt_that_was_reattached_is_stopped_by_its_executor_here(build: Build) -> None:
    parts = build(A)
    parts.submit(A)
    owned = parts.runs["run-1"]
    owned.machine.tasks[0] = msgspec.structs.replace(owned.machine.tasks[0], holder="a session that has died")
    parts.runs.command(owned, RunCommand("cancel", None))
    parts.drive()
    assert [event.task_id for event in parts.dispatcher.cancelled] == [task_id("run-1", 0)]
    assert parts.states() == {"a": "running"}, "its executor says how it ends"


def test_an_order_that_changes_nothing_is_acknowledged_without_a_commit(build: Build, loop: ManualLoop) -> None:
    parts = build(A)
    parts.submit(A)
    parts.journal.clear()
    done = loop.create_future()
    parts.runs.command(parts.runs["run-1"], RunCommand("resume", None, done=done))
    parts.drive()
    assert done.done() and parts.journal == []


def test_the_command_of_another_process_is_closed_in_the_commit_that_carries_it_out(build: Build) -> None:
    parts = build(A)
    parts.submit(A)
    number = parts.store.add_command("run-1", "pause")
    parts.runs.command(parts.runs["run-1"], RunCommand("pause", None, row=number))
    parts.drive()
    assert list(parts.store.writes[-1].commands_done) == [number] and parts.store.closed == {number: None}


def test_a_run_that_was_claimed_goes_on_cancelling(build: Build) -> None:
    parts = build(CHAIN)
    owned = parts.idle_run(CHAIN, RunState.CANCELLING)
    owned.just_claimed = True
    transition(parts, owned)
    assert parts.states() == {"a": "cancelled", "b": "cancelled"}
    assert parts.store.tables["run-1"].run.state is RunState.CANCELLED
    assert parts.store.tables["run-1"].owner is None and ME not in parts.runs


def test_a_cancel_that_a_poller_forestalled_is_made_again_with_the_attempt_that_it_claimed(build: Build) -> None:
    parts = build(A, polled=None)
    owned = parts.idle_run(A)
    transition(parts, owned)
    table = parts.store.tables["run-1"]
    parts.store.known_holders["poller-1"] = Holder(session=Session(id="poller-1", kind="poller"), alive=True, lease=9.0)
    assert table.claim_ready(0, "poller-1") == 1, "memory does not know of it"
    parts.runs.command(owned, RunCommand("cancel", None))
    parts.drive()
    assert (table.run.state, table.tasks[0].state, table.tasks[0].attempt) == (
        RunState.CANCELLED,
        TaskState.CANCELLED,
        1,
    )
    assert len(parts.store.calls("claim_listed")) == 1, "the run was read anew"
    assert parts.journal == ["commit"] * 3, "the offer, the cancel that did not apply, and the one that did"
    table.check()
