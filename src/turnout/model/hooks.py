"""Decides which hooks the end of a task or run starts, and makes their arguments. Hooks are tasks.

A task's hooks are called when that task reaches its end. The workflow's are called when everything else has ended:
first those for success, failure or cancellation, then those for the exit. Those that are not called are skipped.
A hook on ``stuck`` is called by a timer, while the run is open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypedDict

from turnout.model.events import ErrorInfo
from turnout.model.graph import Graph
from turnout.model.moves import MakeReady, Move, RunView, Stop
from turnout.model.notifications import OpenTask, RunEvent, run_event, stuck_event
from turnout.model.rows import RunRow, TaskRow
from turnout.model.run_outcome import RowOf, end_of, failed_tasks
from turnout.model.spec import HookedOn
from turnout.model.states import TASK_TERMINAL, RunState, TaskState

NOT_CALLED = "not_called"
"""The reason of a skipped hook: the end that calls it did not occur."""

_CALLED_BY: dict[RunState | TaskState, tuple[HookedOn, ...]] = {
    RunState.COMPLETED: ("success", "exit"),
    RunState.FAILED: ("failure", "exit"),
    RunState.CANCELLED: ("cancel", "exit"),
    TaskState.COMPLETED: ("success", "exit"),
    TaskState.FAILED: ("failure", "exit"),
    TaskState.CANCELLED: ("cancel", "exit"),
}


class Failure(TypedDict):
    """One failed task."""

    task: str
    type: str
    message: str
    attempts: int


class RunOutcome(TypedDict):
    """The argument of a hook of a workflow."""

    run_id: str
    workflow: str
    status: str
    """``completed``, ``failed`` or ``cancelled``."""
    reason: str | None
    failed: list[Failure]


class TaskOutcome(TypedDict):
    """The argument of a hook of a task."""

    run_id: str
    workflow: str
    task: str
    state: str
    """``completed``, ``failed`` or ``cancelled``."""
    reason: str | None
    attempts: int
    error: Failure | None
    output: Any


# -- calling ----------------------------------------------------------------------------------------------------
def call_hooks(view: RunView) -> Iterator[Move]:
    """Makes ready, or skips, the hooks that waited for an end that has come."""
    if view.awaits_claim_check or view.run_row.state not in (RunState.RUNNING, RunState.CANCELLING):
        return
    graph = view.machine.graph
    for pos, hooks in graph.task_hooks.items():
        row = view.task(pos)
        if row.state in TASK_TERMINAL:
            # Hooks are not called for a task that did not run in this run, such as one whose output was taken over.
            yield from _settle(view, hooks, _CALLED_BY.get(row.state, ()) if row.attempt else ())
    waiting = [pos for pos in graph.run_hooks if view.task(pos).state is TaskState.PENDING]
    if waiting and view.open_after <= len(waiting):
        end = end_of(graph, view.run_row, view.task)
        # A run whose preconditions do not hold did nothing that could have succeeded.
        called = ("exit",) if end.state is RunState.COMPLETED and end.reason else _CALLED_BY[end.state]
        last = [pos for pos in waiting if _on(graph, pos) == "exit"]
        yield from _settle(view, [pos for pos in waiting if pos not in last], called)
        if view.open_after == len(last):
            yield from _settle(view, last, called)


def call_stuck(view: RunView, pos: int) -> Iterator[Move]:
    """Makes ready a hook of a run that should have ended by now: once, and not if only hooks are left to end."""
    open_run = view.run_row.state in (RunState.RUNNING, RunState.PAUSED)
    if open_run and view.task(pos).state is TaskState.PENDING and not only_hooks_open(view):
        yield MakeReady(pos)


def open_hooks(view: RunView) -> list[int]:
    """Returns the hooks that have not ended."""
    return [pos for pos in view.machine.graph.hooks if view.task(pos).state not in TASK_TERMINAL]


def only_hooks_open(view: RunView) -> bool:
    return view.open_after == len(open_hooks(view))


def _settle(view: RunView, hooks: Iterable[int], called: tuple[HookedOn, ...]) -> Iterator[Move]:
    for pos in hooks:
        if view.task(pos).state is TaskState.PENDING:
            if _on(view.machine.graph, pos) in called:
                yield MakeReady(pos)
            else:
                yield Stop(pos, TaskState.SKIPPED, NOT_CALLED)


def _on(graph: Graph, pos: int) -> HookedOn:
    hook = graph.tasks[pos].hook
    assert hook is not None
    return hook.on


# -- arguments --------------------------------------------------------------------------------------------------
def hook_arguments(
    graph: Graph, pos: int, run_id: str, run: RunRow, row_of: RowOf, output_of: Callable[[str], Any]
) -> tuple[RunOutcome | TaskOutcome | RunEvent, ...]:
    """Returns the arguments of a hook's call: the same in every attempt, as the outcome no longer changes. Those of a
    hook on ``stuck`` have what is open now."""
    hook = graph.tasks[pos].hook
    assert hook is not None
    if not hook.takes_outcome:
        return ()
    if hook.on == "stuck":
        return (_stuck_event(graph, run_id, run, row_of, hook.after),)
    if graph.tasks[pos].body.detached:
        return (run_event(**_run_outcome(graph, run_id, run, row_of)),)
    if not hook.of:
        return (_run_outcome(graph, run_id, run, row_of),)
    return (_task_outcome(graph, run_id, row_of(graph.position[hook.of]), output_of),)


def _run_outcome(graph: Graph, run_id: str, run: RunRow, row_of: RowOf) -> RunOutcome:
    end = end_of(graph, run, row_of)
    return RunOutcome(
        run_id=run_id,
        workflow=graph.spec.full_name,
        status=end.state.value,
        reason=end.reason,
        failed=[_failure(row, row.error) for row in failed_tasks(graph, row_of)],
    )


def _stuck_event(graph: Graph, run_id: str, run: RunRow, row_of: RowOf, after: float) -> RunEvent:
    rows = [row_of(pos) for pos in range(len(graph.tasks)) if pos not in graph.hooks]
    return stuck_event(
        run_id=run_id,
        workflow=graph.spec.full_name,
        status=run.state.value,
        reason=run.reason,
        after=after,
        failed=[_failure(row, row.error) for row in failed_tasks(graph, row_of)],
        waiting=[
            OpenTask(task=row.name, state=row.state.value, reason=row.reason, attempt=row.attempt)
            for row in rows
            if row.state in (TaskState.READY, TaskState.RUNNING)
        ],
    )


def _task_outcome(graph: Graph, run_id: str, row: TaskRow, output_of: Callable[[str], Any]) -> TaskOutcome:
    return TaskOutcome(
        run_id=run_id,
        workflow=graph.spec.full_name,
        task=row.name,
        state=row.state.value,
        reason=row.reason,
        attempts=row.attempt,
        error=None if row.error is None or row.state is TaskState.COMPLETED else _failure(row, row.error),
        output=output_of(row.name) if row.state is TaskState.COMPLETED else None,
    )


def _failure(row: TaskRow, error: ErrorInfo | None) -> Failure:
    kind, message = ("", row.reason or "") if error is None else (error.type, error.message)
    return Failure(task=row.name, type=kind, message=message, attempts=row.attempt)
