"""Links parent and child runs: the child's id, the result that its parent gets, and the commands to the child.

A child run belongs to one attempt of one task of its parent. The task is ``running`` until the child has ended, and
no session holds it. The transaction that ends the child adds its result to the parent's inbox.
"""

from __future__ import annotations

import hashlib
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from turnout.errors import InvalidInput
from turnout.model.events import ErrorInfo, ExecutionResult, ExecutionStatus
from turnout.model.names import task_id
from turnout.model.reasons import RUN_TIMED_OUT
from turnout.model.rows import NewRun, ParentAnswer, RunRow, TaskRow
from turnout.model.spec import TaskSpec, WorkflowSpec
from turnout.model.states import RunState

if TYPE_CHECKING:
    from turnout.model.graph import Graph

CHILD = "child"
"""The executor key of tasks whose body is a child run, and the holder of their attempts."""
PARENT_PAUSED, PARENT_CANCELLED, PARENT_GONE = "parent_paused", "parent_cancelled", "parent_gone"
"""Reasons of a child that its parent paused or cancelled; gone: its parent has ended."""
CHILD_FAILED, CHILD_CANCELLED, CHILD_TIMED_OUT = "child_failed", "child_cancelled", "child_timed_out"
CHILD_INPUT, CHILD_REFUSED, CHILD_TOO_DEEP, CHILD_RESULT = (
    "child_input",
    "child_refused",
    "child_too_deep",
    "child_result",
)
CHILD_ENDS = frozenset(
    {CHILD_FAILED, CHILD_CANCELLED, CHILD_TIMED_OUT, CHILD_INPUT, CHILD_REFUSED, CHILD_TOO_DEEP, CHILD_RESULT}
)
"""Codes of the errors with which a child's task fails; each is the failed task's reason too."""

_TIME_BITS, _ALL_BITS = 48, 128


def is_child(graph: Graph, row: TaskRow) -> bool:
    """True if the task, or the mapped task of this item, is a child run."""
    return row.task_pos in graph.children


def child_run_id(parent_run: str, pos: int, attempt: int) -> str:
    """Returns the id of this attempt's child: always the same, so that the next owner of the parent finds it.

    It has the parent's timestamp, so the ids of children are next to their parent's in every index.
    """
    parent = uuid.UUID(parent_run).int
    digest = hashlib.sha256(f"{uuid.UUID(int=parent)}/{pos}/{attempt}".encode()).digest()
    number = int.from_bytes(digest[:16], "big")
    rest = _ALL_BITS - _TIME_BITS
    number = (parent >> rest << rest) | (number & ((1 << rest) - 1))
    number = (number & ~(0xF << 76)) | (0x8 << 76)
    number = (number & ~(0x3 << 62)) | (0x2 << 62)
    return str(uuid.UUID(int=number))


# -- the child's input -----------------------------------------------------------------------------------------------
def child_input(
    spec: WorkflowSpec, args: tuple[Any, ...], kwargs: dict[str, Any], context: dict[str, Any] | None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns the arguments of the child's call. In Context style: the context, or its keys that are parameters."""
    if context is None:
        return args, kwargs
    if spec.context_style:
        return (context,), {}
    return (), {param.name: context[param.name] for param in spec.params if param.name in context}


def child_output(task: TaskSpec, context: dict[str, Any] | None, result: Any) -> Any:
    """Returns the task's output: the child's result; in Context style the context with the result's keys set in it."""
    if context is None:
        return result
    if result is None:
        return context
    if isinstance(result, dict):
        return {**context, **result}
    raise InvalidInput(
        f"the child run {task.name!r} returned a value of type {type(result).__name__}: in Context style return an "
        "object, whose keys are set in the context",
        code="not_an_object",
    )


def shorter_timeout(one: float | None, other: float | None) -> float | None:
    """Returns the timeout of a child whose workflow and whose call may each have one."""
    given = [each for each in (one, other) if each is not None]
    return min(given) if given else None


# -- the child's result ---------------------------------------------------------------------------------------------
def parent_answer(new: NewRun, row: RunRow) -> ParentAnswer | None:
    """Returns the row that the end of this run adds to its parent's inbox; None if it has no parent."""
    if new.parent_run is None or new.parent_pos is None:
        return None
    result = child_result(new, row)
    return ParentAnswer(
        run_id=new.parent_run,
        pos=new.parent_pos,
        attempt=new.parent_attempt,
        holder=CHILD,
        result=msgspec.json.encode(result).decode(),
    )


def child_result(new: NewRun, row: RunRow) -> ExecutionResult:
    """Returns the result of the parent's attempt by the end of its child. The parent reads the output later."""
    assert new.parent_run is not None and new.parent_pos is not None
    status, error = _end(new, row)
    return ExecutionResult(
        run_id=new.parent_run,
        task_id=task_id(new.parent_run, new.parent_pos),
        attempt=new.parent_attempt,
        status=status,
        error=error,
        retryable=status is not ExecutionStatus.CANCELLED,
        started_at=row.started_at,
        finished_at=row.finished_at,
    )


def _end(new: NewRun, row: RunRow) -> tuple[ExecutionStatus, ErrorInfo | None]:
    child = f"child run {new.run_id} of {new.workflow}"
    match row.state:
        case RunState.COMPLETED:
            return ExecutionStatus.COMPLETED, None
        case RunState.CANCELLED:
            message = f"{child} was cancelled: {row.reason}"
            return ExecutionStatus.CANCELLED, ErrorInfo("RunCancelled", message, code=CHILD_CANCELLED)
        case _ if row.reason == RUN_TIMED_OUT:
            message = f"{child} exceeded its timeout of {new.timeout or 0:g} s"
            mro = ("turnout.errors.RunTimedOut", "turnout.errors.RunFailed", "builtins.TimeoutError")
            return ExecutionStatus.TIMED_OUT, ErrorInfo("RunTimedOut", message, mro=mro, code=CHILD_TIMED_OUT)
        case _:
            cause = row.error
            message = f"{child} failed: {row.reason}" + (f": {cause.type}: {cause.message}" if cause else "")
            mro = ("turnout.errors.RunFailed", *(cause.mro if cause else ()))
            error = ErrorInfo("RunFailed", message, cause.traceback if cause else "", mro, CHILD_FAILED)
            return ExecutionStatus.RETRY, error


# -- commands for the child -------------------------------------------------------------------------------------------
class ChildCommand(NamedTuple):
    """A command that a child is to get."""

    kind: str
    reason: str | None = None


def command_for_child(parent: RunRow, child: RunRow, *, overdue: bool = False) -> ChildCommand | None:
    """Returns the command that gives a child the state of its parent; None if none is needed.

    Only a child that was paused with its parent is resumed with it. ``overdue``: the timeout of the child has passed
    and no session owns it.
    """
    if child.state.terminal or child.state is RunState.CANCELLING:
        return None
    match parent.state:
        case RunState.CANCELLING:
            return ChildCommand("cancel", f"{PARENT_CANCELLED}: {parent.reason}")
        case RunState.COMPLETED | RunState.FAILED | RunState.CANCELLED:
            return ChildCommand("cancel", PARENT_GONE)
        case _ if overdue:
            return ChildCommand("cancel", RUN_TIMED_OUT)
        case RunState.PAUSED if child.state is not RunState.PAUSED:
            return ChildCommand("pause", PARENT_PAUSED)
        case RunState.RUNNING if child.state is RunState.PAUSED and child.reason == PARENT_PAUSED:
            return ChildCommand("resume")
        case _:
            return None
