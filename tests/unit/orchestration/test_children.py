"""Child runs: that each attempt gets one, that it does as its parent does, and that its end reaches the parent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest
from kit.loop import ManualLoop
from kit.parts import ME, OTHER, Parts

from turnout import task, workflow
from turnout.errors import InvalidInput, StoreUnreachable
from turnout.model.children import (
    CHILD,
    CHILD_FAILED,
    CHILD_INPUT,
    CHILD_REFUSED,
    CHILD_RESULT,
    CHILD_TOO_DEEP,
    PARENT_CANCELLED,
    PARENT_GONE,
    PARENT_PAUSED,
    child_run_id,
)
from turnout.model.events import ExecutionResult, ExecutionStatus
from turnout.model.graph import Graph
from turnout.model.rows import RunRow
from turnout.model.states import RunState, TaskState
from turnout.model.verdict import Limits
from turnout.orchestration.active_runs import RunCommand
from turnout.orchestration.settings import EngineSettings
from turnout.orchestration.stages.stage import Stage

PARENT = "01890a5d-ac96-774b-bcce-b302099a8057"
KID = child_run_id(PARENT, 0, 1)
AWAY = StoreUnreachable("it is away")
Build = Callable[..., "Family"]


@task
def double(number: int) -> int:
    return 2 * number


@workflow
def inner(number: int) -> int:
    return double(number)


@workflow
def outer(number: int) -> int:
    return double(inner(number))


@workflow
def patient(number: int) -> int:
    return inner.options(retries=2)(number)


class Family(Parts):
    """An orchestrator that knows a workflow with a child run."""

    def __init__(self, *args: object, **more: object) -> None:
        super().__init__(*args, **more)  # type: ignore[arg-type]
        self.registry.add(outer)

    def graph_of(self, name: str) -> Graph:
        return self.registry.workflows[f"public::embedded::{name}"].graph

    def begin(self, *, stages: bool = True, **new: object) -> None:
        """A parent whose child is inserted and running, or without ``stages`` only submitted."""
        graph = self.graph_of("outer")
        request = self.request(graph, run_id=PARENT, **{"input": '{"number": 1}', **new})
        if stages:
            self.submissions.put([request])
            self.drive()
        else:
            self.loop.run(self.submission.process([request]))

    def state(self, run_id: str = KID) -> RunState:
        return self.store.tables[run_id].run.state

    def kids(self) -> list[str]:
        return [new.run_id for new in self.store.new.values() if new.parent_run is not None]


@pytest.fixture
def build(loop: ManualLoop) -> Iterator[Build]:
    yield partial(Family, loop)


# -- how a child begins ------------------------------------------------------------------------------------------------
def test_the_child_is_inserted_after_the_start_of_its_task_is_committed(build: Build) -> None:
    parts = build()
    parts.begin()
    first, second = parts.store.writes
    assert (first.run_id, second.run_id) == (PARENT, KID)
    assert first.tasks[0].holder == CHILD and first.tasks[0].state is TaskState.RUNNING
    new = parts.store.new[KID]
    assert (new.parent_run, new.parent_pos, new.parent_attempt, new.depth) == (PARENT, 0, 1, 1)
    assert new.input == '{"number":1}' and parts.dispatcher.names() == ["double"]


def test_a_child_task_takes_no_slot_of_an_executor(build: Build) -> None:
    parts = build(default=1)
    parts.begin(stages=False)
    assert parts.dispatcher.free == {"default": 1} and parts.journal == ["commit"]


def test_no_child_begins_if_the_start_of_its_task_was_not_applied(build: Build) -> None:
    parts = build()
    parts.store.rejects.add(PARENT)
    parts.submit(parts.graph_of("outer"), run_id=PARENT, input='{"number": 1}')
    assert parts.kids() == []


def test_a_child_gets_the_priority_of_its_parent(build: Build) -> None:
    parts = build()
    parts.begin(priority=7)
    assert parts.store.new[KID].priority == 7


def test_a_child_waits_while_nothing_may_start(build: Build) -> None:
    parts = build()
    parts.idle_run(parts.graph_of("outer"), run_id=PARENT)
    parts.session.keeper.fenced = True
    parts.runs.enqueue(parts.runs[PARENT])
    parts.drive()
    assert parts.kids() == [] and parts.runs[PARENT].machine.tasks[0].state is TaskState.READY


def test_one_child_for_each_parent_is_taken_although_there_is_no_room(build: Build) -> None:
    parts = build(settings=EngineSettings(max_owned_runs=1))
    parts.begin()
    assert set(parts.runs) == {PARENT, KID}
    assert not parts.child_runs.may_exceed(parts.store.new[KID]), "it has one here already"


def test_input_that_the_child_does_not_take_fails_its_task(build: Build) -> None:
    parts = build()
    parts.begin(input='{"number": "many"}')
    row = parts.store.tables[PARENT].tasks[0]
    assert row.state is TaskState.FAILED and row.error is not None and row.error.code == CHILD_INPUT
    assert parts.kids() == [] and parts.state(PARENT) is RunState.FAILED


def test_a_child_below_the_deepest_level_fails_its_task(build: Build) -> None:
    parts = build(settings=EngineSettings(limits=Limits(depth=0)))
    parts.begin()
    error = parts.store.tables[PARENT].tasks[0].error
    assert error is not None and error.code == CHILD_TOO_DEEP


def test_a_child_that_the_database_rejects_fails_its_task(build: Build) -> None:
    parts = build()
    parts.store.rejects.add(KID)
    parts.begin()
    error = parts.store.tables[PARENT].tasks[0].error
    assert error is not None and error.code == CHILD_REFUSED and parts.state(PARENT) is RunState.FAILED


def test_a_child_that_could_not_be_inserted_during_an_outage_is_inserted_by_the_sweep(
    build: Build, loop: ManualLoop
) -> None:
    parts = build()
    parts.begin(stages=False)
    for _ in range(2):  # its start, and the look that follows from the parent's own
        (request,) = parts.queues[Stage.SUBMIT].take(9)
        request.refuse(AWAY)
        loop.settle()
    assert not parts.queues[Stage.SUBMIT] and parts.runs[PARENT].results == []
    loop.start(parts.child_runs.sweep())
    parts.drive()
    assert parts.kids() == [KID] and parts.dispatcher.names() == ["double"]


def test_the_next_owner_of_a_parent_inserts_the_child_that_was_never_inserted(build: Build, loop: ManualLoop) -> None:
    parts = build()
    parts.begin(stages=False)
    parts.queues[Stage.SUBMIT].take(9)  # the orchestrator dies before the insert
    later = build(store=parts.store)
    loop.run(later.claims.claim([PARENT]))
    later.drive()
    assert later.kids() == [KID] and set(later.runs) == {PARENT, KID}


def test_an_existing_child_is_not_inserted_again_when_its_parent_is_claimed(build: Build, loop: ManualLoop) -> None:
    parts = build()
    parts.begin()
    parts.runs.release(parts.runs[KID])
    parts.store.tables[KID].owner = OTHER
    loop.run(parts.claims.reload(parts.runs[PARENT]))
    parts.drive()
    assert parts.kids() == [KID] and KID not in parts.runs
    assert len([write for write in parts.store.writes if write.insert is not None]) == 2


# -- how it ends -------------------------------------------------------------------------------------------------------
def test_the_result_of_a_child_reaches_its_parent_by_the_inbox(build: Build, loop: ManualLoop) -> None:
    parts = build()
    parts.begin()
    parts.answer("double", 2)
    parts.drive()
    assert parts.state() is RunState.COMPLETED and len(parts.store.inbox) == 1
    assert loop.run(parts.wakeups.next()) == {"inbox"}
    loop.run(parts.inbox.take_results())
    parts.drive()
    row = parts.store.tables[PARENT].tasks[0]
    assert (row.state, row.output) == (TaskState.COMPLETED, "2") and parts.store.inbox == {}
    assert parts.event("double").run_id == PARENT


def test_a_child_that_failed_fails_its_task_with_its_error(build: Build, loop: ManualLoop) -> None:
    parts = build()
    parts.begin()
    parts.end("double", ExecutionResult.failed(parts.event("double"), "out of stock", retryable=False))
    parts.drive()
    loop.run(parts.inbox.take_results())
    parts.drive()
    error = parts.store.tables[PARENT].tasks[0].error
    assert error is not None and error.code == CHILD_FAILED and "out of stock" in error.message
    assert parts.state(PARENT) is RunState.FAILED


def test_a_retry_gets_a_child_of_its_own_that_goes_on_from_the_one_that_failed(build: Build, loop: ManualLoop) -> None:
    parts = build()
    parts.registry.add(patient)
    parts.submit(parts.graph_of("patient"), run_id=PARENT, input='{"number": 1}')
    parts.end("double", ExecutionResult.failed(parts.event("double"), "out of stock", retryable=False))
    parts.drive()
    loop.run(parts.inbox.take_results())
    parts.drive()
    loop.advance(600.0)
    parts.drive()
    again = child_run_id(PARENT, 0, 2)
    assert parts.kids() == [KID, again]
    assert (parts.store.new[again].rerun_of, parts.store.new[again].parent_attempt) == (KID, 2)


def test_the_sweep_takes_the_end_of_a_child_up_whose_notification_was_lost(build: Build, loop: ManualLoop) -> None:
    parts = build()
    parts.begin()
    parts.answer("double", 2)
    parts.drive()
    parts.store.inbox.clear()
    loop.run(parts.child_runs.sweep())
    parts.drive()
    assert parts.store.tables[PARENT].tasks[0].output == "2"


def test_the_second_answer_to_an_attempt_changes_nothing(build: Build, loop: ManualLoop) -> None:
    parts = build()
    parts.begin()
    parts.answer("double", 2)
    parts.drive()
    loop.run(parts.child_runs.sweep())
    loop.run(parts.inbox.take_results())
    parts.drive()
    starts = [event for _, event in parts.dispatcher.dispatched if event.run_id == PARENT]
    assert len(starts) == 1
    parts.store.tables[PARENT].check()


def test_a_child_whose_result_cannot_be_read_any_more_fails_its_task(build: Build, loop: ManualLoop) -> None:
    parts = build()
    parts.begin()
    row = parts.runs[PARENT].machine.tasks[0]
    del parts.store.tables[KID], parts.store.new[KID]
    result = ExecutionResult.success(parts.runs[PARENT].machine.event(0, row))
    counted = loop.run(parts.child_requests.with_output(result))
    assert counted.status is ExecutionStatus.FAILED and not counted.retryable
    assert counted.error is not None and counted.error.code == CHILD_RESULT


# -- how it follows ----------------------------------------------------------------------------------------------------
def command(parts: Family, kind: str) -> RunCommand:
    given = RunCommand(kind, "by hand", done=parts.loop.create_future())
    parts.runs.command(parts.runs[PARENT], given)
    return given


def test_a_pause_is_acknowledged_when_the_child_has_paused_too(build: Build) -> None:
    parts = build()
    parts.begin()
    pause = command(parts, "pause")
    batch = parts.queues[Stage.RESULT].take(9)
    parts.loop.run(parts.scheduler.process(batch))
    assert parts.state(PARENT) is RunState.PAUSED and parts.state() is RunState.RUNNING
    assert pause.done is not None and not pause.done.done()
    parts.drive()
    assert parts.state() is RunState.PAUSED and parts.store.tables[KID].run.reason == PARENT_PAUSED
    assert pause.done.done()


def test_a_child_that_its_parent_paused_is_resumed_with_it(build: Build) -> None:
    parts = build()
    parts.begin()
    for kind in ("pause", "resume"):
        command(parts, kind)
        parts.drive()
    assert (parts.state(PARENT), parts.state()) == (RunState.RUNNING, RunState.RUNNING)


def test_a_child_that_was_paused_by_hand_is_not_resumed_with_its_parent(build: Build) -> None:
    parts = build()
    parts.begin()
    parts.runs.command(parts.runs[KID], RunCommand("pause", "by hand"))
    parts.drive()
    for kind in ("pause", "resume"):
        command(parts, kind)
        parts.drive()
    assert (parts.state(PARENT), parts.state()) == (RunState.RUNNING, RunState.PAUSED)


def test_a_cancelled_parent_ends_when_its_child_has(build: Build, loop: ManualLoop) -> None:
    parts = build()
    parts.begin()
    command(parts, "cancel")
    parts.drive()
    assert (parts.state(PARENT), parts.state()) == (RunState.CANCELLING, RunState.CANCELLING)
    assert parts.store.tables[KID].run.reason == f"{PARENT_CANCELLED}: by hand"
    parts.end("double", ExecutionResult.cancelled(parts.event("double")))
    parts.drive()
    loop.run(parts.inbox.take_results())
    parts.drive()
    assert (parts.state(PARENT), parts.state()) == (RunState.CANCELLED, RunState.CANCELLED)


def test_the_child_of_another_owner_is_told_through_the_store(build: Build, loop: ManualLoop) -> None:
    parts = build()
    parts.begin()
    parts.runs.release(parts.runs[KID])
    parts.store.tables[KID].owner = OTHER
    pause = command(parts, "pause")
    parts.drive()
    assert [(each.run_id, each.kind) for each in parts.store.commands.values()] == [(KID, "pause")]
    assert pause.done is not None and not pause.done.done()
    parts.store.closed[1] = None
    parts.store.tables[KID].run = RunRow(state=RunState.PAUSED, reason=PARENT_PAUSED)
    loop.advance(1.0)
    assert pause.done.done()


def test_an_unowned_child_is_claimed_by_the_owner_of_its_parent(build: Build, loop: ManualLoop) -> None:
    parts = build()
    parts.begin()
    parts.runs.release(parts.runs[KID])
    parts.store.tables[KID].owner = None
    loop.run(parts.child_runs.sweep())
    assert KID in parts.runs and parts.store.tables[KID].owner == ME


def test_a_child_of_another_owner_is_not_claimed(build: Build, loop: ManualLoop) -> None:
    parts = build()
    parts.begin()
    parts.runs.release(parts.runs[KID])
    parts.store.tables[KID].owner = OTHER
    loop.run(parts.child_runs.sweep())
    assert parts.store.calls("claim_listed") == [] and parts.store.tables[KID].owner == OTHER


def test_a_fenced_orchestrator_tells_no_child_anything(build: Build, loop: ManualLoop) -> None:
    parts = build()
    parts.begin()
    parts.runs[PARENT].machine.row = RunRow(state=RunState.PAUSED)
    parts.session.keeper.fenced = True
    loop.run(parts.child_runs.sweep())
    assert parts.runs[KID].commands == []


def test_a_child_that_no_attempt_waits_for_any_more_is_cancelled(build: Build, loop: ManualLoop) -> None:
    parts = build()
    parts.begin()
    parts.store.orphaned = [KID, "not driven here"]
    loop.run(parts.child_runs.sweep())
    assert [(each.kind, each.reason) for each in parts.runs[KID].commands] == [("cancel", PARENT_GONE)]


def test_a_request_for_a_child_whose_code_is_gone_is_none(build: Build, loop: ManualLoop) -> None:
    parts = build()
    parts.begin()
    owned = parts.runs[PARENT]
    row = owned.machine.tasks[0]
    assert loop.run(parts.child_requests.request(owned, row, KID)) is not None
    parts.registry.child_of = lambda run, name: None  # type: ignore[method-assign]
    assert loop.run(parts.child_requests.request(owned, row, KID)) is None


def test_a_request_names_what_is_wrong_with_the_childs_input(build: Build, loop: ManualLoop) -> None:
    parts = build()
    owned = parts.idle_run(parts.graph_of("outer"), run_id=PARENT, input='{"number": null}')
    with pytest.raises(InvalidInput) as raised:
        loop.run(parts.child_requests.request(owned, owned.machine.tasks[0], KID))
    assert raised.value.code == CHILD_INPUT and "number" in raised.value.message
