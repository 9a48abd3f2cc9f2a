"""A child's id, what its end says, and how it follows its parent: pure decisions."""

from __future__ import annotations

import uuid

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.runs import TinyRun, new_run, task

from turnout.errors import InvalidInput
from turnout.model.children import (
    CHILD,
    PARENT_PAUSED,
    child_input,
    child_output,
    child_result,
    child_run_id,
    command_for_child,
    parent_answer,
    shorter_timeout,
)
from turnout.model.events import DispatchDecision, ErrorInfo, ExecutionResult
from turnout.model.names import new_run_id
from turnout.model.rows import NewRun, RunRow
from turnout.model.spec import Param, WorkflowSpec
from turnout.model.states import RUN_MOVES, RUN_TERMINAL, RunState, TaskState

PARENT = "01890a5d-ac96-774b-bcce-b302099a8057"


def child(**more: object) -> NewRun:
    return new_run(run_id=new_run_id(), parent_run=PARENT, parent_pos=2, parent_attempt=3, **more)


# -- the id ---------------------------------------------------------------------------------------------------------
positions, attempts = st.integers(0, 2**31), st.integers(1, 2**31)


@given(st.uuids(), positions, attempts)
def test_a_childs_id_is_always_the_same_and_sorts_with_its_parent(parent: uuid.UUID, pos: int, attempt: int) -> None:
    found = child_run_id(str(parent), pos, attempt)
    assert found == child_run_id(str(parent).upper(), pos, attempt)
    assert str(uuid.UUID(found)) == found and uuid.UUID(found).version == 8
    assert found[:13] == str(parent)[:13], "the time is the parent's"


@given(st.sets(st.tuples(st.uuids(), positions, attempts), min_size=2))
def test_no_two_attempts_share_a_child(keys: set[tuple[uuid.UUID, int, int]]) -> None:
    assert len({child_run_id(str(parent), pos, attempt) for parent, pos, attempt in keys}) == len(keys)


# -- its end --------------------------------------------------------------------------------------------------------
def test_a_completed_child_completes_its_task() -> None:
    result = child_result(child(), RunRow(state=RunState.COMPLETED, started_at=1.0, finished_at=2.0))
    assert (result.run_id, result.task_id, result.attempt) == (PARENT, f"{PARENT}.2", 3)
    assert (result.status, result.error, result.started_at, result.finished_at) == ("completed", None, 1.0, 2.0)


def test_a_failed_child_says_why_and_may_be_tried_again() -> None:
    new = child()
    error = ErrorInfo("ValueError", "no", "Traceback …", ("builtins.ValueError",))
    result = child_result(new, RunRow(state=RunState.FAILED, reason="task_failed:charge", error=error))
    assert (result.status, result.retryable) == ("retry", True)
    assert result.error is not None and result.error.code == "child_failed"
    assert (
        result.error.message == f"child run {new.run_id} of {new.workflow} failed: task_failed:charge: ValueError: no"
    )
    assert "builtins.ValueError" in result.error.mro, "retry_on looks there"
    assert result.error.traceback == "Traceback …"


def test_a_cancelled_child_fails_its_task_for_good() -> None:
    result = child_result(child(), RunRow(state=RunState.CANCELLED, reason="not needed"))
    assert (result.status, result.retryable) == ("cancelled", False)
    assert result.error is not None and result.error.code == "child_cancelled"
    assert result.error.message.endswith("was cancelled: not needed")


def test_a_child_that_timed_out_says_so() -> None:
    result = child_result(child(timeout=1.5), RunRow(state=RunState.FAILED, reason="run_timed_out"))
    assert (result.status, result.retryable) == ("timed_out", True)
    assert result.error is not None and result.error.code == "child_timed_out"
    assert result.error.message.endswith("exceeded its timeout of 1.5 s")


def test_only_a_child_has_somebody_to_tell() -> None:
    end = RunRow(state=RunState.COMPLETED)
    assert parent_answer(new_run(), end) is None
    told = parent_answer(child(), end)
    assert told is not None
    assert (told.run_id, told.pos, told.attempt, told.holder) == (PARENT, 2, 3, CHILD)
    assert msgspec.json.decode(told.result, type=ExecutionResult) == child_result(child(), end)


@pytest.mark.parametrize(
    ("attempts", "status", "state", "reason"),
    [
        (1, RunState.FAILED, TaskState.FAILED, "child_failed"),
        (2, RunState.FAILED, TaskState.READY, "retry_at"),
        (2, RunState.CANCELLED, TaskState.FAILED, "child_cancelled"),
    ],
)
def test_the_parents_task_ends_as_the_child_did(attempts: int, status: RunState, state: TaskState, reason: str) -> None:
    run = TinyRun(task("order", attempts=attempts, delay=60.0))
    run.start()
    answer = child_result(child(), RunRow(state=status, reason="for a reason"))
    run.answer(msgspec.structs.replace(answer, run_id=run.new.run_id, task_id=f"{run.new.run_id}.0", attempt=1))
    assert (run.state("order"), run.row("order").reason) == (state, reason)


def test_a_child_tells_its_parent_with_the_write_that_ends_it_and_with_no_other() -> None:
    run = TinyRun(task("a"), task("b", "a"), run_id=new_run_id(), parent_run=PARENT, parent_pos=0, parent_attempt=1)
    run.start()
    assert run.last.write().answer is None
    run.complete("a")
    assert run.last.write().answer is None
    run.complete("b")
    answer = run.last.write().answer
    assert answer is not None and answer.run_id == PARENT


def test_a_child_with_nothing_left_to_do_tells_its_parent_when_it_is_inserted() -> None:
    done = TinyRun(task("a"))
    done.start()
    done.complete("a")
    reuse = [msgspec.structs.replace(done.row("a"), was=None, was_attempt=0)]
    run = TinyRun(task("a"), reuse=reuse, run_id=new_run_id(), parent_run=PARENT, parent_pos=0, parent_attempt=1)
    transition = run.transition()
    transition.begin()
    transition.finish()
    write = transition.insert("owner")
    assert write.run is not None and write.run.state is RunState.COMPLETED
    assert write.answer is not None and write.owner is None


def test_a_cancelled_run_waits_for_its_child() -> None:
    run = TinyRun(task("a"))
    transition = run.transition()
    transition.begin()
    transition.start(0, DispatchDecision(CHILD, "child run"), CHILD)
    run.table.insert(transition.insert("owner-1"))
    run.machine.apply(transition)
    run.commit(lambda transition: transition.cancel("not needed"))
    assert run.run_state is RunState.CANCELLING
    end = child_result(child(), RunRow(state=RunState.CANCELLED, reason="parent_cancelled: not needed"))
    run.answer(msgspec.structs.replace(end, run_id=run.new.run_id, task_id=f"{run.new.run_id}.0", attempt=1))
    assert (run.run_state, run.state("a")) == (RunState.CANCELLED, TaskState.CANCELLED)


# -- following ------------------------------------------------------------------------------------------------------
states = st.sampled_from(RunState)
rows = st.builds(RunRow, state=states, reason=st.sampled_from([None, "paused", PARENT_PAUSED, "run_timed_out"]))
MOVE = {"cancel": RunState.CANCELLING, "pause": RunState.PAUSED, "resume": RunState.RUNNING}


@given(rows, rows, st.booleans())
def test_what_a_child_is_told_is_a_legal_move_and_once_done_nothing_is_left_to_tell(
    parent: RunRow, kid: RunRow, overdue: bool
) -> None:
    told = command_for_child(parent, kid, overdue=overdue)
    if told is None:
        return
    assert kid.state not in RUN_TERMINAL
    assert MOVE[told.kind] in RUN_MOVES[kid.state]
    after = RunRow(state=MOVE[told.kind], reason=told.reason)
    assert command_for_child(parent, after) is None


@given(rows, rows)
def test_a_child_of_a_run_that_ends_is_cancelled(parent: RunRow, kid: RunRow) -> None:
    told = command_for_child(parent, kid)
    ending = parent.state in RUN_TERMINAL or parent.state is RunState.CANCELLING
    open_ = kid.state not in RUN_TERMINAL and kid.state is not RunState.CANCELLING
    assert (told is not None and told.kind == "cancel") == (ending and open_)
    assert told is None or told.reason != "run_timed_out", "that would end the child as failed"


def test_a_child_that_was_paused_by_hand_stays_paused() -> None:
    running = RunRow(state=RunState.RUNNING)
    assert command_for_child(running, RunRow(state=RunState.PAUSED, reason="paused")) is None
    assert command_for_child(running, RunRow(state=RunState.PAUSED, reason=PARENT_PAUSED)) == ("resume", None)


def test_a_child_without_an_owner_whose_time_is_over_is_stopped_for_that() -> None:
    running = RunRow(state=RunState.RUNNING)
    assert command_for_child(running, RunRow(state=RunState.PENDING), overdue=True) == ("cancel", "run_timed_out")


# -- its input and what it leaves --------------------------------------------------------------------------------------
def test_in_context_style_a_child_gets_the_context_or_what_it_has_names_for() -> None:
    context = {"a": 1, "b": 2}
    style = WorkflowSpec("etl", (task("t"),), context_style=True)
    plain = WorkflowSpec("flow", (task("t"),), params=(Param("a"), Param("c", required=False)))
    assert child_input(style, (), {}, context) == ((context,), {})
    assert child_input(plain, (), {}, context) == ((), {"a": 1})
    assert child_input(plain, (1,), {"c": 2}, None) == ((1,), {"c": 2})


def test_in_context_style_a_child_leaves_the_keys_of_its_result() -> None:
    assert child_output(task("t"), None, [1]) == [1]
    assert child_output(task("t"), {"a": 1}, {"b": 2}) == {"a": 1, "b": 2}
    assert child_output(task("t"), {"a": 1}, None) == {"a": 1}
    with pytest.raises(InvalidInput, match="in Context style") as caught:
        child_output(task("t"), {"a": 1}, [1])
    assert caught.value.code == "not_an_object"


def test_the_shorter_timeout_counts() -> None:
    assert [
        shorter_timeout(None, None),
        shorter_timeout(1.0, None),
        shorter_timeout(None, 2.0),
        shorter_timeout(3.0, 2.0),
    ] == [None, 1.0, 2.0, 2.0]
