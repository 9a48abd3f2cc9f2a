"""What follows from a commit: memory, dispatch and replies follow what was applied, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

from kit.loop import ManualLoop
from kit.parts import ME, OTHER, Parts
from kit.runs import graph_of, task

from turnout.errors import StoreRejected, StoreUnreachable
from turnout.model.events import DispatchDecision, ExecutionResult
from turnout.model.reasons import STORE_REJECTED
from turnout.model.run_machine import RunMachine
from turnout.model.states import RunState, TaskState
from turnout.model.transition import Transition
from turnout.orchestration.active_runs import ActiveRun, RunCommand
from turnout.orchestration.messages import PendingCommit

GRAPH = graph_of(task("a"), task("b", "a"))
Build = Callable[..., Parts]


def start(parts: Parts, owned: ActiveRun) -> PendingCommit:
    """The turn that starts what is ready."""
    transition = Transition(owned.machine, 100.0)
    move = PendingCommit(owned, transition, transition.write(), [])
    parts.starter.start_ready(owned, transition, move.events)
    move.write = transition.write()
    owned.busy = True
    return move


def test_a_task_is_dispatched_after_its_start_is_committed(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    loop.run(parts.commits.write([start(parts, parts.idle_run(GRAPH))]))
    assert parts.journal == ["reserve", "commit", "dispatch"]
    assert parts.dispatcher.names() == ["a"]


def test_nothing_is_dispatched_and_nothing_is_remembered_until_the_database_has_answered(
    build: Build, loop: ManualLoop
) -> None:
    parts = build(GRAPH)
    owned = parts.idle_run(GRAPH)
    loop.holding = True
    writing = loop.start(parts.commits.write([start(parts, owned)]))
    assert parts.dispatcher.dispatched == [] and not writing.done()
    assert owned.machine.tasks[0].state is TaskState.READY and owned.busy
    loop.let_go()
    assert parts.dispatcher.names() == ["a"] and writing.done()
    assert owned.machine.tasks[0].state is TaskState.RUNNING and not owned.busy


def test_nothing_is_dispatched_for_a_run_that_was_dropped_with_its_session_while_its_start_was_committed(
    build: Build, loop: ManualLoop
) -> None:
    parts = build(GRAPH, default=3)
    owned = parts.idle_run(GRAPH)
    loop.holding = True
    writing = loop.start(parts.commits.write([start(parts, owned)]))
    parts.runs.release(owned)
    loop.let_go()
    assert writing.done() and parts.store.tables["run-1"].tasks[0].state is TaskState.RUNNING
    assert parts.dispatcher.dispatched == [] and parts.dispatcher.free == {"default": 3}


def test_a_turn_that_another_owner_forestalled_dispatches_nothing_and_gives_its_slots_back(
    build: Build, loop: ManualLoop
) -> None:
    parts = build(GRAPH, default=3)
    owned = parts.idle_run(GRAPH)
    parts.store.tables["run-1"].claim(OTHER)
    loop.run(parts.commits.write([start(parts, owned)]))
    assert parts.dispatcher.dispatched == []
    assert parts.dispatcher.free == {"default": 3}
    assert owned.machine.tasks[0].state is TaskState.READY, "memory advances by what was applied only"
    assert "run-1" not in parts.runs and parts.store.tables["run-1"].owner == OTHER


def test_a_turn_that_was_refused_is_made_again_from_the_stored_state_with_what_it_was_made_from(
    build: Build, loop: ManualLoop
) -> None:
    parts = build(GRAPH)
    owned = parts.idle_run(GRAPH)
    move = start(parts, owned)
    parts.runs.deliver(owned, 0, ExecutionResult.success(owned.machine.event(0)))
    move.results, owned.results = owned.results, []
    move.commands = [RunCommand("pause", None)]
    parts.store.tables["run-1"].claim(ME)  # the same session, under an epoch that this turn does not know
    loop.run(parts.commits.write([move]))
    again = parts.runs["run-1"]
    assert again is not owned and again.machine.epoch == parts.store.tables["run-1"].epoch
    assert list(again.results) == list(move.results) and again.commands == list(move.commands)
    assert again.just_claimed and again.queued


def test_one_run_that_is_refused_does_not_touch_the_others_of_its_commit(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    good, bad = (parts.idle_run(GRAPH, run_id=name) for name in ("good", "bad"))
    parts.store.tables["bad"].claim(OTHER)
    loop.run(parts.commits.write([start(parts, bad), start(parts, good)]))
    assert [event.run_id for _, event in parts.dispatcher.dispatched] == ["good"]
    assert parts.dispatcher.free == {"default": 7}


def test_a_run_whose_data_the_database_rejects_fails_and_its_slots_are_free_again(
    build: Build, loop: ManualLoop
) -> None:
    parts = build(GRAPH, default=1)
    owned = parts.idle_run(GRAPH)
    move = start(parts, owned)
    parts.store.errors["commit"] = StoreRejected("a text holds NUL")
    loop.run(parts.commits.write([move]))
    table = parts.store.tables["run-1"]
    assert parts.dispatcher.dispatched == [] and parts.dispatcher.free == {"default": 1}
    assert (table.run.state, table.run.reason) == (RunState.FAILED, STORE_REJECTED)
    assert owned.dropped
    table.check()


def test_a_run_that_cannot_even_be_failed_is_read_anew(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    owned = parts.idle_run(GRAPH)
    parts.store.rejects.add("run-1")
    loop.run(parts.commits.write([start(parts, owned)]))
    assert parts.runs["run-1"] is not owned and parts.store.calls("claim_listed") == [(ME, ("run-1",))]


def test_what_a_closed_ledger_did_not_write_is_left_for_the_next_owner(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH, default=1)
    owned = parts.idle_run(GRAPH)
    move = start(parts, owned)
    result = ExecutionResult.success(owned.machine.event(0))
    parts.runs.deliver(owned, 0, result)
    move.results, owned.results = owned.results, []
    parts.ledger.close()
    loop.run(parts.commits.write([move]))
    assert parts.dispatcher.dispatched == [] and parts.dispatcher.free == {"default": 1}
    assert parts.dispatcher.told_unclaimed == [result] and parts.dispatcher.told_settled == []
    assert "run-1" not in parts.runs and owned.dropped


def test_a_submission_to_a_closed_ledger_is_refused(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    request = parts.request(GRAPH)
    parts.ledger.close()
    loop.run(parts.submission.process([request]))
    assert isinstance(request.accepted.error, StoreUnreachable)
    assert len(parts.runs) == 0 and parts.dispatcher.free == {"default": 8}


def test_results_are_acknowledged_once_they_are_durable(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.submit(GRAPH)
    loop.holding = True
    result = parts.answer("a")
    loop.start(parts.scheduler.process([parts.runs["run-1"]]))
    assert parts.dispatcher.told_settled == []
    loop.let_go()
    assert parts.dispatcher.told_settled == [result]


def test_results_of_a_turn_that_was_refused_are_not_acknowledged(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.submit(GRAPH)
    owned = parts.runs["run-1"]
    result = parts.answer("a")
    parts.store.tables["run-1"].claim(OTHER)
    loop.run(parts.scheduler.process([owned]))
    assert parts.dispatcher.told_settled == [] and parts.dispatcher.told_unclaimed == [result]


def test_an_order_is_acknowledged_with_its_commit(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.submit(GRAPH)
    owned, done = parts.runs["run-1"], loop.create_future()
    parts.runs.command(owned, RunCommand("pause", None, done=done))
    loop.holding = True
    loop.start(parts.scheduler.process([owned]))
    assert not done.done()
    loop.let_go()
    assert done.done() and parts.store.tables["run-1"].run.state is RunState.PAUSED


def test_a_run_that_ended_goes_to_the_last_stage_and_takes_no_further_turn(build: Build, loop: ManualLoop) -> None:
    graph = graph_of(task("only"))
    parts = build(graph)
    request = parts.submit(graph)
    owned = parts.runs["run-1"]
    parts.answer("only", 7)
    loop.run(parts.scheduler.process([owned]))
    assert owned.dropped and not request.final.done()
    parts.drive()
    final = request.final.result()
    assert final.run.row.state is RunState.COMPLETED and final.machine is not None
    assert final.machine.tasks[0].output == "7"


def test_a_shadow_copy_is_dispatched_beside_the_attempt_if_there_is_room(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH, default=2, other=1)
    parts.dispatcher.shadows["a"] = DispatchDecision("other", "compared")
    for name in ("first", "second"):
        parts.idle_run(GRAPH, run_id=name)
    loop.run(parts.commits.write([start(parts, owned) for owned in parts.runs.values()]))
    sent = [(key, event.run_id, event.shadow) for key, event in parts.dispatcher.dispatched]
    assert sorted(sent) == [("default", "first", False), ("default", "second", False), ("other", "first", True)]
    assert parts.shadows.metrics.without_room == 1


def test_what_follows_from_a_commit_fails_for_one_run_only_and_its_slot_is_free_again(
    build: Build, loop: ManualLoop
) -> None:
    parts = build(GRAPH)
    good, bad = (parts.idle_run(GRAPH, run_id=name) for name in ("good", "bad"))
    moves = [start(parts, bad), start(parts, good)]
    bad.machine = Broken(bad.machine)
    loop.run(parts.commits.write(moves))
    assert [event.run_id for _, event in parts.dispatcher.dispatched] == ["good"]
    assert parts.runs["bad"] is not bad, "it was read anew"
    assert parts.dispatcher.free == {"default": 7}
    assert parts.runs["good"] is good


class Broken:
    """A machine that cannot take what was committed."""

    def __init__(self, machine: RunMachine) -> None:
        self._machine = machine

    def __getattr__(self, name: str) -> object:
        return getattr(self._machine, name)

    def apply(self, changes: object) -> None:
        raise RuntimeError("this is a defect")
