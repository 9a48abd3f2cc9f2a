"""Suspects: a task that was lost twice gets a process of its own, or has its executor for itself."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from kit.dispatcher import FakeAssigner
from kit.parts import Parts
from kit.runs import graph_of, task

from turnout.errors import NotImportable
from turnout.model.breaker import BreakerState
from turnout.model.events import ErrorInfo, ExecutionResult, ExecutionStatus
from turnout.model.reasons import BREAKER_OPEN, WAITING_TO_RUN_ALONE
from turnout.model.states import TaskState
from turnout.orchestration.active_runs import ActiveRun, PendingResult
from turnout.orchestration.stages.capacity import SelectorQueue
from turnout.orchestration.stages.exclusive_tasks import ISOLATED

GRAPH = graph_of(task("a", attempts=5), task("b"))
ONE = graph_of(task("a", attempts=5))
Build = Callable[..., Parts]


def lost_twice(parts: Parts) -> ActiveRun:
    """A run whose task ``a`` was lost twice in the default executor, with ``b`` as innocent as ever."""
    owned = parts.idle_run(GRAPH)
    table, row = parts.store.tables["run-1"], owned.machine.tasks[0]
    suspect = msgspec.structs.replace(row, attempt=2, losses=2, executor="default", decision="the default executor")
    owned.machine.tasks[0] = table.tasks[0] = suspect
    owned.has_lost_attempts = True
    return owned


def transition(parts: Parts, owned: ActiveRun) -> None:
    owned.queued = True
    parts.loop.run(parts.scheduler.process([owned]))


def test_a_suspect_goes_to_an_executor_that_gives_it_a_process_of_its_own(build: Build) -> None:
    parts = build(GRAPH, default=2, process=2)
    parts.dispatcher.isolating = {"default": "process", "process": "process"}
    transition(parts, lost_twice(parts))
    assert [(key, event.attempt) for key, event in parts.dispatcher.dispatched] == [("process", 3), ("default", 1)]
    assert parts.store.tables["run-1"].tasks[0].decision == ISOLATED


def test_a_suspect_that_cannot_be_isolated_has_its_executor_for_itself(build: Build) -> None:
    parts = build(GRAPH, default=2)
    transition(parts, lost_twice(parts))
    assert parts.dispatcher.reserved_alone == ["default"] and parts.dispatcher.names()[0] == "a"


def test_a_suspect_waits_while_its_executor_has_something_to_do_and_says_why(build: Build) -> None:
    parts = build(GRAPH, default=4)
    parts.submit(GRAPH)
    parts.runs["run-1"].has_lost_attempts = True
    for _ in range(2):
        parts.end("a", ExecutionResult.lost(parts.event("a"), "its worker died"))
        parts.drive()
    row = parts.store.tables["run-1"].tasks[0]
    assert (row.state, row.losses, row.reason) == (TaskState.READY, 2, WAITING_TO_RUN_ALONE)
    parts.answer("b")
    parts.drive()
    parts.starter.on_capacity("default")
    parts.drive()
    assert parts.event("a").attempt == 3 and parts.dispatcher.reserved_alone == ["default"]


def test_other_tasks_do_not_wait_for_a_suspect(build: Build) -> None:
    parts = build(GRAPH, default=4)
    parts.submit(ONE, run_id="another")
    transition(parts, lost_twice(parts))
    assert parts.dispatcher.names() == ["a", "b"], "a of the other run, b of this one"


def test_a_suspect_of_an_executor_whose_breaker_is_open_says_so(build: Build) -> None:
    parts = build(GRAPH)
    parts.dispatcher.breakers["default"] = BreakerState.OPEN
    transition(parts, lost_twice(parts))
    assert parts.store.tables["run-1"].tasks[0].reason == BREAKER_OPEN


def test_a_suspect_of_workers_waits_in_a_queue_of_its_own(build: Build) -> None:
    parts = build(GRAPH, default=4)
    parts.dispatcher.assigners["default"] = FakeAssigner()
    owned = lost_twice(parts)
    transition(parts, owned)
    assert (
        owned.queued_for == {SelectorQueue("default", "alone"), SelectorQueue("default", "any")}
        and parts.dispatcher.reserved_alone == []
    )


def test_a_task_that_was_lost_once_is_no_suspect(build: Build) -> None:
    parts = build(GRAPH, default=4, process=4)
    parts.dispatcher.isolating = {"default": "process"}
    owned = lost_twice(parts)
    owned.machine.tasks[0] = msgspec.structs.replace(owned.machine.tasks[0], losses=1)
    transition(parts, owned)
    assert {key for key, _ in parts.dispatcher.dispatched} == {"default"}


def isolated_result(parts: Parts, owned: ActiveRun, error: str, status: ExecutionStatus) -> ExecutionResult:
    result = ExecutionResult(
        run_id="run-1",
        task_id=owned.machine.event(0).task_id,
        attempt=3,
        status=status,
        error=ErrorInfo(error, "no module named shop"),
    )
    return parts.exclusive_tasks.accepted(owned, PendingResult(0, result))


def test_a_body_that_another_process_does_not_find_goes_back_to_where_the_rules_sent_it(build: Build) -> None:
    parts = build(GRAPH, default=1, process=1)
    parts.dispatcher.isolating = {"default": "process", "process": "process"}
    owned = lost_twice(parts)
    transition(parts, owned)
    counted = isolated_result(parts, owned, NotImportable.__name__, ExecutionStatus.FAILED)
    assert counted.status is ExecutionStatus.RETURNED, "it costs no attempt"
    decision = parts.exclusive_tasks.decide(owned.machine, owned.machine.tasks[0])
    assert decision.executor_key == "default" and decision.reason != ISOLATED


@pytest.mark.parametrize(
    ("error", "status"),
    [("ValueError", ExecutionStatus.FAILED), (NotImportable.__name__, ExecutionStatus.RETRY)],
)
def test_any_other_result_of_a_suspect_counts_as_it_is(build: Build, error: str, status: ExecutionStatus) -> None:
    parts = build(GRAPH, default=1, process=1)
    parts.dispatcher.isolating = {"default": "process", "process": "process"}
    owned = lost_twice(parts)
    transition(parts, owned)
    assert isolated_result(parts, owned, error, status).status is status
