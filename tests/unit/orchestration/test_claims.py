"""Claims: which stored runs an orchestrator takes, and what becomes of the attempts that others held."""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec
import pytest
from kit.loop import ManualLoop
from kit.parts import ME, OTHER, Parts
from kit.runs import graph_of, task

from turnout.contracts.clock import boot_time
from turnout.errors import StoreUnreachable
from turnout.model.children import CHILD
from turnout.model.events import ExecutionResult, ExecutionStatus
from turnout.model.reasons import TURN_FAILED
from turnout.model.rows import Holder, Session
from turnout.model.spec import WorkflowSpec
from turnout.model.states import RunState, TaskState
from turnout.orchestration.active_runs import RunCommand
from turnout.orchestration.settings import EngineSettings
from turnout.orchestration.stages.claims import ClaimScope
from turnout.orchestration.stages.stage import Stage
from turnout.orchestration.stages.takeover import MIN_GRACE
from turnout.runtime.process_info import boot_id, pid_namespace

GRAPH = graph_of(task("a"), task("b", "a"))
Build = Callable[..., Parts]


def claim(parts: Parts) -> None:
    parts.loop.run(parts.claims.process([None]))


def holder(kind: str = "worker", *, alive: bool = False, gone: bool = False, lease: float = 30.0) -> Holder:
    """``gone``: its process was on this machine, and is not there any more."""
    here = {"boot_id": boot_id(), "pid_namespace": pid_namespace(), "pid": 0, "process_started": "long ago"}
    return Holder(session=Session(id="x", kind=kind, **(here if gone else {})), alive=alive, lease=lease)


# -- what is claimed -------------------------------------------------------------------------------------------------
def test_a_claim_is_requested_once_until_it_is_taken(build: Build) -> None:
    parts = build(GRAPH)
    for _ in range(3):
        parts.claims.request()
    assert len(parts.queues[Stage.CLAIM]) == 1
    claim(parts)
    parts.claims.request()
    assert len(parts.queues[Stage.CLAIM]) == 2


def test_an_orchestrator_that_stops_requests_no_claim(build: Build) -> None:
    parts = build(GRAPH)
    parts.session.begin_stopping()
    parts.claims.request()
    assert len(parts.queues[Stage.CLAIM]) == 0


def test_unowned_runs_are_claimed_and_driven_on(build: Build) -> None:
    parts = build(GRAPH)
    parts.stored(GRAPH)
    claim(parts)
    table = parts.store.tables["run-1"]
    assert (table.owner, table.epoch) == (ME, 1) and parts.runs["run-1"].machine.epoch == 1
    parts.drive()
    assert parts.states() == {"a": "running", "b": "pending"} and parts.dispatcher.names() == ["a"]
    table.check()


def test_a_run_of_another_owner_and_one_without_code_here_are_left_alone(build: Build) -> None:
    parts = build(GRAPH)
    parts.stored(GRAPH, OTHER, run_id="theirs")
    parts.stored(GRAPH, run_id="unknown", workflow="public::embedded::other")
    claim(parts)
    assert len(parts.runs) == 0 and parts.store.tables["theirs"].owner == OTHER


def test_no_more_runs_are_claimed_than_there_is_room_for(build: Build) -> None:
    parts = build(GRAPH, settings=EngineSettings(max_owned_runs=3, claim_batch=2))
    for number in range(5):
        parts.stored(GRAPH, run_id=f"run-{number}")
    claim(parts)
    assert len(parts.runs) == 2 and parts.claims.may_have_more
    assert len(parts.queues[Stage.CLAIM]) == 1, "there is room for more, and more to claim"
    claim(parts)
    assert len(parts.runs) == 3
    claim(parts)
    assert len(parts.store.calls("claim_runs")) == 2, "the third claim had no room"


def test_a_claim_that_gets_less_than_it_asked_for_is_the_last(build: Build) -> None:
    parts = build(GRAPH)
    parts.stored(GRAPH)
    claim(parts)
    assert not parts.claims.may_have_more and len(parts.queues[Stage.CLAIM]) == 0


@pytest.mark.parametrize("why", ["fenced", "bystander"])
def test_nothing_is_claimed_while_nothing_may_start(build: Build, why: str) -> None:
    parts = build(GRAPH, drives=why != "bystander")
    parts.session.keeper.fenced = why == "fenced"
    parts.stored(GRAPH)
    claim(parts)
    assert parts.store.calls("claim_runs") == []


def test_an_orchestrator_for_certain_workflows_claims_those_only(build: Build) -> None:
    parts = build(GRAPH, scope=ClaimScope(only=frozenset({"public::embedded::other"})))
    parts.stored(GRAPH)
    claim(parts)
    assert len(parts.runs) == 0


def test_runs_that_need_no_code_are_claimed_by_their_stored_version(build: Build) -> None:
    asked: list[str] = []

    def drives(spec: WorkflowSpec) -> bool:
        asked.append(spec.tasks[0].name)
        return spec.tasks[0].name == "a"

    parts = build(scope=ClaimScope(drives_stored=drives))
    parts.stored(GRAPH, run_id="first")
    parts.stored(graph_of(task("z")), run_id="second", workflow="public::embedded::other")
    claim(parts)
    claim(parts)
    assert list(parts.runs) == ["first"]
    assert sorted(asked) == ["a", "z"], "each version is looked at once"


def test_a_claim_that_fails_is_the_stage_executors_to_repeat(build: Build) -> None:
    parts = build(GRAPH)
    parts.stored(GRAPH)
    parts.store.errors["claim_runs"] = StoreUnreachable("it is away")
    with pytest.raises(StoreUnreachable):
        claim(parts)
    assert parts.claims.claiming == 0
    parts.claims.request()
    assert len(parts.queues[Stage.CLAIM]) == 0, "the wish goes back to the queue by itself"
    claim(parts)
    assert list(parts.runs) == ["run-1"]


def test_a_claim_on_its_way_is_followed_to_its_end_when_its_stage_executor_is_replaced(
    build: Build, loop: ManualLoop
) -> None:
    parts = build(GRAPH)
    parts.stored(GRAPH)
    loop.holding = True
    stage = loop.start(parts.claims.process([None]))
    assert parts.claims.claiming == 1
    stage.cancel()
    loop.settle()
    loop.let_go()
    assert list(parts.runs) == ["run-1"] and parts.claims.claiming == 0


# -- attempts that others held ---------------------------------------------------------------------------------------
def adopted(parts: Parts, held_by: str | None, known: Holder | None = None) -> list[ExecutionResult]:
    """The results with which a run is taken up whose only running attempt was held so."""
    parts.held_by(GRAPH, held_by or "", owner=None)
    if known is not None and held_by is not None:
        parts.store.known_holders[held_by] = known
    claim(parts)
    return [answer.result for answer in parts.runs["run-1"].results]


def test_what_a_dead_orchestrator_held_is_lost(build: Build) -> None:
    parts = build(GRAPH)
    (lost,) = adopted(parts, OTHER, holder("orchestrator"))
    assert (lost.status, lost.attempt) == (ExecutionStatus.LOST, 1)
    assert lost.error is not None and OTHER in lost.error.message
    assert parts.runs["run-1"].has_lost_attempts
    parts.drive()
    assert parts.states() == {"a": "running", "b": "pending"} and parts.event("a").attempt == 2


def test_what_an_unknown_session_held_is_lost(build: Build) -> None:
    parts = build(GRAPH)
    assert [result.status for result in adopted(parts, "long-forgotten")] == [ExecutionStatus.LOST]


def test_what_a_live_session_holds_goes_on(build: Build) -> None:
    parts = build(GRAPH)
    assert adopted(parts, OTHER, holder("orchestrator", alive=True)) == []
    parts.drive()
    assert parts.states()["a"] == "running" and parts.dispatcher.dispatched == []


@pytest.mark.parametrize(("lease", "seconds"), [(30.0, 30.0), (1.0, MIN_GRACE)])
def test_a_worker_whose_lease_is_over_has_a_grace_to_come_back(build: Build, lease: float, seconds: float) -> None:
    parts = build(GRAPH)
    before = boot_time()
    assert adopted(parts, "worker-1", holder("worker", lease=lease)) == []
    until = parts.runs["run-1"].grace[0, 1]
    assert before + seconds <= until <= boot_time() + seconds


def test_a_worker_that_is_seen_to_be_dead_has_no_grace(build: Build) -> None:
    parts = build(GRAPH)
    assert [each.status for each in adopted(parts, "worker-1", holder("worker", gone=True))] == [ExecutionStatus.LOST]
    assert parts.runs["run-1"].grace == {}


def test_an_attempt_of_this_session_that_no_executor_has_is_lost(build: Build) -> None:
    parts = build(GRAPH)
    (lost,) = adopted(parts, ME)
    assert lost.error is not None and lost.error.message == "it never reached its executor"
    assert parts.store.calls("holders") == []


def test_a_child_run_is_not_lost_with_its_parents_owner(build: Build) -> None:
    parts = build(GRAPH)
    assert adopted(parts, CHILD) == []


def test_a_task_that_waits_for_its_retry_waits_on(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    table = parts.stored(GRAPH, OTHER)
    table.tasks[0] = msgspec.structs.replace(table.tasks[0], retry_in=20.0, attempt=1)
    table.history.clear()
    table.owner = None
    claim(parts)
    parts.drive()
    assert parts.dispatcher.dispatched == []
    loop.advance(21.0)
    table.waited(0)
    parts.drive()
    assert parts.event("a").attempt == 2


def test_the_timeout_of_a_claimed_run_counts_from_its_submission(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.stored(GRAPH, timeout=60.0)
    parts.store.ages["run-1"] = 50.0
    claim(parts)
    parts.drive()
    loop.advance(11.0)
    parts.drive()
    assert parts.store.tables["run-1"].run.state is RunState.CANCELLING


def test_a_run_that_was_lost_before_is_watched_for_suspects(build: Build) -> None:
    parts = build(GRAPH)
    table = parts.stored(GRAPH, OTHER)
    table.tasks[0] = msgspec.structs.replace(table.tasks[0], losses=1)
    table.owner = None
    claim(parts)
    assert parts.runs["run-1"].has_lost_attempts


# -- runs that cannot be read ----------------------------------------------------------------------------------------
def test_a_run_that_cannot_be_read_is_tried_twice_and_then_fails(
    build: Build, loop: ManualLoop, caplog: pytest.LogCaptureFixture
) -> None:
    parts = build(GRAPH)
    bad = parts.stored(GRAPH, run_id="bad", version="v0")
    parts.stored(GRAPH, run_id="good")
    parts.store.specs["v0"] = "{no json"
    with caplog.at_level(logging.ERROR):
        claim(parts)
    assert list(parts.runs) == ["good"], "the others of the claim are driven"
    assert bad.run.state is RunState.RUNNING and "cannot be taken over" in caplog.text
    assert loop.run(parts.claims.claim(["bad"])) == 1
    assert (bad.run.state, bad.run.reason) == (RunState.FAILED, TURN_FAILED)
    assert {row.state for row in bad.tasks.values()} == {TaskState.CANCELLED}
    bad.check()


# -- reloads ---------------------------------------------------------------------------------------------------------
def test_a_reload_reads_the_run_under_a_new_epoch_and_keeps_what_has_come_in(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.submit(GRAPH)
    before, epoch = parts.runs["run-1"], parts.runs["run-1"].machine.epoch
    before.busy = True
    result, order = ExecutionResult.success(parts.event("a")), RunCommand("pause", None)
    parts.runs.deliver(before, 0, result)
    parts.runs.command(before, order)
    loop.run(parts.claims.reload(before))
    now = parts.runs["run-1"]
    assert now is not before and before.dropped and now.machine.epoch == epoch + 1
    assert [answer.result for answer in now.results] == [result] and now.commands == [order]
    assert now.just_claimed and now.queued


def test_a_reload_keeps_attempts_that_an_executor_here_has(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.submit(GRAPH)
    loop.run(parts.claims.reload(parts.runs["run-1"]))
    assert parts.runs["run-1"].results == []
    parts.answer("a")
    parts.drive()
    assert parts.states() == {"a": "completed", "b": "running"}


def test_a_reload_lets_a_run_go_that_has_another_owner(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    owned = parts.idle_run(GRAPH)
    parts.store.tables["run-1"].claim(OTHER)
    loop.run(parts.claims.reload(owned))
    assert "run-1" not in parts.runs and owned.dropped
    assert parts.store.tables["run-1"].owner == OTHER


def test_a_reload_is_repeated_with_growing_delays_while_the_database_is_away(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    owned = parts.idle_run(GRAPH)
    parts.store.errors["claim_listed"] = StoreUnreachable("it is away")
    loop.run(parts.claims.reload(owned))
    assert parts.runs["run-1"] is owned
    parts.store.errors["claim_listed"] = StoreUnreachable("it is away")
    loop.advance(0.6)
    assert parts.runs["run-1"] is owned and len(parts.store.calls("claim_listed")) == 2
    loop.advance(0.6)
    assert len(parts.store.calls("claim_listed")) == 2
    loop.advance(0.5)
    assert parts.runs["run-1"] is not owned
