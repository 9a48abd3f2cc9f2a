"""Submissions: how they become runs, and that every one of them is answered."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable

import pytest
from kit.loop import ManualLoop
from kit.parts import ME, OTHER, Parts
from kit.runs import graph_of, task

from turnout.errors import IdempotencyConflict, StoreRejected, StoreUnreachable, TurnoutError
from turnout.model.children import PARENT_GONE
from turnout.model.states import RunState
from turnout.orchestration.messages import Submission
from turnout.orchestration.settings import EngineSettings
from turnout.orchestration.stages.stage import Stage

GRAPH = graph_of(task("a"), task("b", "a"))
STRANGE = graph_of(task("x"), task("y"))
Build = Callable[..., Parts]


def error_of(request: Submission) -> BaseException:
    error = request.accepted.error
    assert error is not None
    return error


# -- admission -------------------------------------------------------------------------------------------------------
def test_a_new_run_is_stored_as_owned_with_its_roots_running_in_one_commit(build: Build) -> None:
    parts = build(GRAPH)
    request = parts.submit(GRAPH)
    table = parts.store.tables["run-1"]
    assert request.accepted.result(0) == "run-1"
    assert (table.owner, table.run.state) == (ME, RunState.RUNNING)
    assert parts.states() == {"a": "running", "b": "pending"}
    assert parts.journal == ["reserve", "commit", "dispatch"]
    table.check()


def test_a_submission_is_accepted_when_it_is_durable_and_not_before(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    request = parts.request(GRAPH)
    loop.run(parts.versions.store(GRAPH))
    loop.holding = True
    loop.start(parts.submission.process([request]))
    assert not request.accepted.done() and parts.dispatcher.dispatched == []
    loop.let_go()
    assert request.accepted.done() and parts.dispatcher.names() == ["a"]


def test_a_version_is_stored_before_its_first_run_and_once_per_session(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    for number in range(3):
        parts.submit(GRAPH, run_id=f"run-{number}")
    assert parts.store.calls("put_workflow") == [(GRAPH.version,)]
    assert [name for name, _ in parts.store.asked][:2] == ["put_workflow", "commit"]
    parts.versions.forget()
    parts.submit(GRAPH, run_id="run-3")
    assert len(parts.store.calls("put_workflow")) == 2


def test_a_version_that_cannot_be_stored_refuses_its_own_submissions_only(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH, STRANGE)
    bad, good = parts.request(GRAPH, run_id="bad"), parts.request(STRANGE, run_id="good")
    parts.store.errors["put_workflow"] = StoreUnreachable("it is away")
    loop.run(parts.submission.process([bad, good]))
    assert isinstance(error_of(bad), StoreUnreachable) and good.accepted.result(0) == "good"
    assert list(parts.store.tables) == ["good"]


def test_above_the_limit_of_owned_runs_a_submission_is_stored_for_any_claimer(build: Build) -> None:
    parts = build(GRAPH, settings=EngineSettings(max_owned_runs=1))
    parts.submit(GRAPH, run_id="first")
    second = parts.submit(GRAPH, run_id="second")
    table = parts.store.tables["second"]
    assert second.accepted.result(0) == "second"
    assert (table.owner, table.run.state) == (None, RunState.PENDING)
    assert list(parts.runs) == ["first"] and len(parts.dispatcher.dispatched) == 1
    assert len(parts.queues[Stage.CLAIM]) == 1, "a claim is requested"


@pytest.mark.parametrize("why", ["fenced", "stopping", "bystander", "no code"])
def test_an_orchestrator_that_cannot_start_a_run_leaves_it_to_others(build: Build, why: str) -> None:
    parts = build(*(() if why == "no code" else (GRAPH,)), drives=why != "bystander")
    parts.session.keeper.fenced = why == "fenced"
    parts.session.stopping = why == "stopping"
    request = parts.submit(GRAPH)
    assert request.accepted.result(0) == "run-1"
    assert parts.store.tables["run-1"].owner is None and parts.store.tables["run-1"].run.state is RunState.PENDING
    assert len(parts.runs) == 0 and parts.journal == ["commit"]


def test_a_run_that_is_driven_here_already_is_accepted_without_a_second_insert(build: Build) -> None:
    parts = build(GRAPH)
    parts.submit(GRAPH)
    parts.journal.clear()
    assert parts.submit(GRAPH).accepted.result(0) == "run-1"
    assert parts.journal == []


def test_a_submission_that_cannot_be_admitted_is_refused_and_the_others_go_on(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH, STRANGE, default=3)
    parts.dispatcher.faults["y"] = RuntimeError("a rule raised")
    bad, good = parts.request(STRANGE, run_id="bad"), parts.request(GRAPH, run_id="good")
    loop.run(parts.submission.process([bad, good]))
    assert str(error_of(bad)) == "a rule raised" and good.accepted.result(0) == "good"
    assert list(parts.runs) == ["good"] and list(parts.store.tables) == ["good"]
    assert parts.dispatcher.free == {"default": 2}, "the slot of x is free again"


def test_a_batch_that_comes_again_is_not_inserted_twice(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    request = parts.request(GRAPH)
    loop.run(parts.versions.store(GRAPH))
    loop.holding = True
    loop.start(parts.submission.process([request]))
    loop.start(parts.submission.process([request]))  # the stage executor that had it was replaced
    loop.let_go()
    assert len(parts.store.writes) == 1 and request.accepted.result(0) == "run-1"


def test_a_submission_whose_caller_has_gone_away_is_not_started(build: Build) -> None:
    parts = build(GRAPH)
    request = parts.request(GRAPH)
    request.refuse(CancelledError())
    parts.submissions.put([request])
    parts.drive()
    assert parts.store.tables == {}


# -- submissions that are not durable yet ----------------------------------------------------------------------------
def test_while_the_database_is_away_submissions_are_refused_at_once(build: Build) -> None:
    parts = build(GRAPH)
    parts.ledger.outage = StoreUnreachable("it is away")
    requests = [parts.request(GRAPH, run_id=f"run-{number}") for number in range(2)]
    parts.submissions.put(requests)
    errors = [error_of(request) for request in requests]
    assert [str(error) for error in errors] == ["it is away", "it is away"]
    assert errors[0] is not errors[1], "each caller raises an exception of its own"
    assert not any(parts.queues.values())


def test_a_submission_in_the_ledger_is_told_that_its_outcome_is_unknown(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    waiting, inserting = parts.request(GRAPH, run_id="waiting"), parts.request(GRAPH, run_id="inserting")
    loop.run(parts.versions.store(GRAPH))
    loop.holding = True
    loop.start(parts.submission.process([inserting]))
    parts.submissions.put([waiting])
    parts.submissions.refuse_all(StoreUnreachable("it is away"))
    assert str(error_of(waiting)) == "it is away"
    assert "whether the run was stored will show" in str(error_of(inserting))
    loop.let_go()  # it was stored after all, and is driven
    assert "inserting" in parts.runs and "waiting" not in parts.store.tables


def test_closing_refuses_what_no_stage_will_take_any_more(build: Build) -> None:
    parts = build(GRAPH)
    request = parts.request(GRAPH)
    parts.submissions.put([request])
    parts.submissions.close()
    error = error_of(request)
    assert isinstance(error, TurnoutError) and error.code == "runner_closed"


def test_submissions_that_the_ledger_never_answered_are_refused_at_the_end(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    request, done = parts.request(GRAPH, run_id="late"), parts.submit(GRAPH, run_id="done")
    loop.holding = True
    loop.start(parts.submission.process([request]))
    parts.submissions.abandon()
    assert isinstance(error_of(request), StoreUnreachable)
    assert done.accepted.result(0) == "done"


# -- replies ---------------------------------------------------------------------------------------------------------
def test_the_same_key_with_the_same_input_is_the_same_run(build: Build) -> None:
    parts = build(GRAPH)
    parts.submit(GRAPH, run_id="first", key="order-7", input_digest="same")
    again = parts.submit(GRAPH, run_id="second", key="order-7", input_digest="same")
    assert again.accepted.result(0) == "first" and list(parts.runs) == ["first"]
    assert len(parts.dispatcher.dispatched) == 1 and parts.dispatcher.free == {"default": 7}
    for name in ("a", "b"):
        parts.answer(name)
        parts.drive()
    assert again.final.result(0).run.new.run_id == "first"


def test_the_same_key_with_another_input_is_refused(build: Build) -> None:
    parts = build(GRAPH)
    parts.submit(GRAPH, run_id="first", key="order-7", input_digest="one")
    again = parts.submit(GRAPH, run_id="second", key="order-7", input_digest="another")
    error = error_of(again)
    assert isinstance(error, IdempotencyConflict) and error.fields["run_id"] == "first"
    assert list(parts.runs) == ["first"]


def test_a_run_that_the_database_rejects_is_refused_and_leaves_nothing_behind(build: Build) -> None:
    parts = build(GRAPH)
    parts.store.rejects.add("run-1")
    request = parts.submit(GRAPH)
    assert isinstance(error_of(request), StoreRejected)
    assert len(parts.runs) == 0 and parts.dispatcher.free == {"default": 8} and parts.dispatcher.dispatched == []


def test_a_child_whose_parent_does_not_wait_for_it_any_more_is_refused(build: Build) -> None:
    parts = build(GRAPH)
    request = parts.submit(GRAPH, run_id="child", parent_run="gone", parent_pos=0, parent_attempt=1)
    error = error_of(request)
    assert isinstance(error, TurnoutError) and error.code == PARENT_GONE
    assert len(parts.runs) == 0 and parts.dispatcher.free == {"default": 8}


def test_a_child_that_another_has_inserted_already_counts_as_accepted(build: Build) -> None:
    parts = build(GRAPH)
    parts.stored(GRAPH, OTHER, run_id="child")
    request = parts.submit(GRAPH, run_id="child", parent_run="parent", parent_pos=0, parent_attempt=1)
    assert request.accepted.result(0) == "child"
    assert "child" not in parts.runs and parts.store.tables["child"].owner == OTHER


def test_the_timeout_of_a_run_begins_when_it_is_stored(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.submit(GRAPH, timeout=30.0)
    loop.advance(31.0)
    parts.drive()
    assert parts.store.tables["run-1"].run.state is RunState.CANCELLING
