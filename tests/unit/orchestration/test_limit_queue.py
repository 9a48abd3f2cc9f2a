"""Runs and tasks wait for slots of limits, and start when the store has given them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from kit.loop import ManualLoop
from kit.parts import ME, Parts
from kit.runs import RUN, graph_of, task

from turnout.errors import StoreUnreachable
from turnout.model.events import ExecutionResult, ExecutionStatus
from turnout.model.graph import Graph
from turnout.model.limit_deadlocks import Deadlocks
from turnout.model.limits import LimitSize, LimitSpec, resolved
from turnout.model.reasons import LIMIT
from turnout.model.slot_admission import Admitted
from turnout.model.spec import WorkflowSpec
from turnout.model.states import RunState, TaskState
from turnout.orchestration.active_runs import ActiveRun
from turnout.orchestration.stages.limit_queue import DEADLOCK_INTERVAL
from turnout.orchestration.stages.stage import Stage

Build = Callable[..., Parts]
MAIL = LimitSpec("mail", 1)
PLAIN = graph_of(task("a"))
LIMITED_RUN = Graph(WorkflowSpec("flow", (task("a"),), limits=(LimitSpec("db", 2),)))
LIMITED_TASK = graph_of(task("a", limits=(MAIL,)), task("b", "a"))


def submitted(parts: Parts, graph: Graph) -> Any:
    """A submission as the request builder makes it."""
    request = parts.request(graph)
    request.limits = resolved(graph.run_limits, {}, "workflow 'flow'")
    parts.submissions.put([request])
    parts.drive()
    return request


def claims_wanted(parts: Parts) -> int:
    return len(parts.queues[Stage.CLAIM])


def row(parts: Parts, pos: int = 0) -> Any:
    return parts.store.tables[RUN].tasks[pos]


def grant(parts: Parts, attempt: int = 1, age: float = 0.0) -> None:
    parts.store.granted[RUN, 0, attempt] = age
    parts.loop.run(parts.limits.refresh())
    parts.drive()


def finish(parts: Parts, status: ExecutionStatus = ExecutionStatus.COMPLETED) -> None:
    event = parts.dispatcher.dispatched[-1][1]
    parts.runs.deliver(parts.runs[RUN], 0, ExecutionResult.of(event, status))
    parts.drive()


# -- runs -------------------------------------------------------------------------------------------------------------
def test_a_run_with_limits_is_stored_for_its_turn_and_asks_for_its_slots(build: Build) -> None:
    parts = build(LIMITED_RUN)
    submitted(parts, LIMITED_RUN)
    table = parts.store.tables[RUN]
    assert (table.run.state, table.run.reason, table.owner) == (RunState.PENDING, LIMIT, None)
    ((names, scope),) = parts.store.calls("admit_waiting")
    assert names == ["db"] and scope.workflows == ["public::embedded::flow"] and RUN not in parts.runs


def test_a_run_without_limits_asks_nothing(build: Build) -> None:
    parts = build(PLAIN)
    submitted(parts, PLAIN)
    asked = {name for name, _ in parts.store.asked}
    assert not asked & {"admit_waiting", "request_slots", "runs_without_slots", "granted_tasks"}


def test_runs_that_got_their_slots_are_claimed(build: Build) -> None:
    parts = build(LIMITED_RUN)
    parts.store.admits = [Admitted([(RUN, -1)])]
    submitted(parts, LIMITED_RUN)
    assert claims_wanted(parts) == 1


def test_a_session_that_drives_nothing_leaves_it_to_others(build: Build) -> None:
    parts = build(LIMITED_RUN, drives=False)
    submitted(parts, LIMITED_RUN)
    assert parts.store.calls("admit_waiting") == []


def test_the_end_of_a_run_asks_for_the_next_one(build: Build) -> None:
    parts = build(LIMITED_RUN)
    parts.stored(LIMITED_RUN)
    parts.loop.run(parts.claims.claim([RUN]))
    parts.drive()
    assert parts.store.calls("admit_waiting") == []
    finish(parts)
    assert parts.store.tables[RUN].run.state is RunState.COMPLETED
    assert [names for names, _ in parts.store.calls("admit_waiting")] == [["db"]]


def test_a_run_that_is_claimed_before_its_turn_starts_nothing_until_it_has_its_slots(build: Build) -> None:
    parts = build(LIMITED_RUN)
    parts.stored(LIMITED_RUN)
    parts.store.unslotted.add(RUN)
    parts.loop.run(parts.claims.claim([RUN]))
    parts.drive()
    assert parts.dispatcher.dispatched == [] and row(parts).reason == LIMIT
    parts.loop.run(parts.limits.refresh())
    parts.drive()
    assert parts.dispatcher.dispatched == []
    parts.store.unslotted.clear()
    parts.loop.run(parts.limits.refresh())
    parts.drive()
    assert row(parts).state is TaskState.RUNNING and not parts.runs.gated


def test_a_rate_is_looked_at_again_when_it_lets_the_next_one_pass(build: Build, loop: ManualLoop) -> None:
    parts = build(LIMITED_RUN)
    parts.store.admits = [Admitted(next_in=2.0)]
    submitted(parts, LIMITED_RUN)
    loop.advance(1.9)
    assert len(parts.store.calls("admit_waiting")) == 1
    loop.advance(0.2)
    assert len(parts.store.calls("admit_waiting")) == 2


def test_a_deadlock_that_lasts_from_one_look_to_the_next_is_logged_once(
    build: Build, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = build(LIMITED_RUN)
    parts.store.deadlocks = Deadlocks({"a": frozenset({"one"})}, {("two", -1): {"a": frozenset({"one"})}})
    for looks, logged in ((1, 0), (2, 1), (3, 1)):
        parts.loop.run(parts.limits.report_deadlocks())
        parts.loop.run(parts.limits.report_deadlocks())
        assert len(parts.store.calls("limit_deadlocks")) == looks
        assert caplog.text.count("cancel one of one") == logged
        later = time.monotonic() + looks * DEADLOCK_INTERVAL
        monkeypatch.setattr("turnout.orchestration.stages.limit_queue.time.monotonic", lambda later=later: later)


def test_a_call_that_has_left_some_is_made_again(build: Build) -> None:
    parts = build(LIMITED_RUN)
    parts.store.admits = [Admitted([("other", -1)], more=True)]
    submitted(parts, LIMITED_RUN)
    assert [names for names, _ in parts.store.calls("admit_waiting")] == [["db"], ["db"]]


def test_while_the_database_is_away_nothing_is_given_and_the_sweep_asks_again(build: Build, loop: ManualLoop) -> None:
    parts = build(LIMITED_RUN)
    parts.store.errors["admit_waiting"] = StoreUnreachable("it is away")
    submitted(parts, LIMITED_RUN)
    parts.limits.request()
    loop.settle()
    assert [names for names, _ in parts.store.calls("admit_waiting")] == [["db"], None]


# -- tasks ------------------------------------------------------------------------------------------------------------
@pytest.fixture
def waiting(build: Build) -> Parts:
    parts = build(LIMITED_TASK)
    submitted(parts, LIMITED_TASK)
    return parts


def test_a_task_requests_its_slots_once_it_is_stored_as_ready_and_says_for_what_it_waits(waiting: Parts) -> None:
    (request,) = waiting.store.slot_requests
    assert (request.run_id, request.pos, request.attempt) == (RUN, 0, 1) and request.limits[0].name == "mail"
    assert (row(waiting).state, row(waiting).reason) == (TaskState.READY, "limit:mail")
    assert waiting.dispatcher.dispatched == []


def test_a_task_starts_when_it_has_its_slots_and_its_end_asks_for_the_next_one(waiting: Parts) -> None:
    grant(waiting)
    assert row(waiting).state is TaskState.RUNNING
    assert waiting.store.calls("admit_waiting") == []
    finish(waiting)
    assert [names for names, _ in waiting.store.calls("admit_waiting")] == [["mail"]]
    assert row(waiting, 1).state is TaskState.RUNNING


def test_slots_of_another_attempt_start_nothing(waiting: Parts) -> None:
    grant(waiting, attempt=2)
    assert row(waiting).state is TaskState.READY


def test_the_next_attempt_requests_slots_of_its_own(build: Build) -> None:
    graph = graph_of(task("a", limits=(MAIL,), attempts=2))
    parts = build(graph)
    submitted(parts, graph)
    grant(parts)
    finish(parts, ExecutionStatus.FAILED)
    assert [request.attempt for request in parts.store.slot_requests] == [1, 2]
    assert (row(parts).state, row(parts).attempt) == (TaskState.READY, 1)
    grant(parts, attempt=2)
    assert (row(parts).state, row(parts).attempt) == (TaskState.RUNNING, 2)


def test_a_slot_of_a_rate_that_is_too_old_is_requested_anew(build: Build) -> None:
    graph = graph_of(task("a", limits=(LimitSpec("paced", rate=1),)))
    parts = build(graph)
    submitted(parts, graph)
    grant(parts, age=0.3)
    assert row(parts).state is TaskState.READY
    assert [(each.attempt, each.renews) for each in parts.store.slot_requests] == [(1, False), (1, True)]


def test_a_request_that_could_not_be_sent_is_sent_again(build: Build, loop: ManualLoop) -> None:
    parts = build(LIMITED_TASK)
    parts.store.errors["request_slots"] = StoreUnreachable("it is away")
    submitted(parts, LIMITED_TASK)
    assert parts.store.slot_requests == []
    parts.limits.request()
    loop.settle()
    assert [request.run_id for request in parts.store.slot_requests] == [RUN]


def test_an_attempt_may_begin_only_within_the_time_of_its_rate(build: Build) -> None:
    graph = graph_of(task("a", limits=(LimitSpec("paced"),)))
    parts = build(graph, limit_sizes={"paced": LimitSize(None, 5, 1.0)})
    submitted(parts, graph)
    grant(parts)
    owned: ActiveRun = parts.runs[RUN]
    assert owned.slots is not None
    slot = owned.slots.held[0]
    assert owned.slots.begin_by(0, 1) == slot.begin_by < float("inf") == owned.slots.begin_by(0, 2)
    assert parts.session.id == ME
