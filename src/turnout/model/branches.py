"""Decides which dependents a branch's choice skips, and what a skip means for the tasks after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from turnout.model.deferral import read_memo
from turnout.model.events import ErrorInfo, ExecutionResult, ExecutionStatus
from turnout.model.graph import Graph
from turnout.model.moves import Move, RunView, Stop
from turnout.model.names import suggest
from turnout.model.reasons import CONTINUED, NOT_CHOSEN, PRECONDITION, TRIGGER_RULE
from turnout.model.rows import TaskRow
from turnout.model.rules import Accepted
from turnout.model.spec import TaskSpec
from turnout.model.states import TaskState

UNKNOWN_BRANCH = "unknown_branch"


def checked_choice(result: ExecutionResult, graph: Graph, pos: int) -> ExecutionResult:
    """Returns the result of a task that chose among its dependents; a final failure if it chose another task."""
    if pos >= len(graph.tasks):
        return _refused(result, "an item of a mapped task returned a Branch: only the task as a whole could choose")
    names = [graph.tasks[dependent].name for dependent in graph.dependents[pos]]
    unknown = [name for name in result.chosen or () if name not in names]
    if not unknown or result.status is not ExecutionStatus.COMPLETED:
        return result
    listed = ", ".join(repr(name) for name in unknown)
    message = (
        f"task {graph.tasks[pos].name!r} chose {listed}, which {'is' if len(unknown) == 1 else 'are'} not among the "
        f"tasks that depend on it{suggest(unknown[0], names)}"
    )
    return _refused(result, message)


def _refused(result: ExecutionResult, message: str) -> ExecutionResult:
    return msgspec.structs.replace(
        result,
        status=ExecutionStatus.FAILED,
        output=None,
        chosen=None,
        retryable=False,
        error=ErrorInfo("InvalidInput", message, mro=("turnout.errors.InvalidInput",), code=UNKNOWN_BRANCH),
    )


def unchosen(graph: Graph, pos: int, chosen: Iterable[str]) -> Iterator[int]:
    """Yields the dependents that a choice skips: not chosen, and not downstream of a chosen one, as a join is."""
    after = {graph.position[name] for name in chosen if name in graph.position}
    open_ = list(after)
    while open_:
        for dependent in graph.dependents[open_.pop()]:
            if dependent not in after:
                after.add(dependent)
                open_.append(dependent)
    return (dependent for dependent in graph.dependents[pos] if dependent not in after)


def skip_unchosen(view: RunView, pos: int, chosen: Iterable[str]) -> Iterator[Move]:
    """Skips the dependents that a branch did not choose, also those that wait for other tasks."""
    graph = view.machine.graph
    for dependent in unchosen(graph, pos, chosen):
        if view.task(dependent).state is TaskState.PENDING:
            yield Stop(dependent, TaskState.SKIPPED, f"{NOT_CHOSEN}:{graph.tasks[pos].name}")


def restore_choices(view: RunView) -> Iterator[Move]:
    """Applies the choices of branches whose outputs a rerun took over from the earlier run."""
    for row in view.machine.tasks:
        if row.memo is not None and row.state is TaskState.COMPLETED:
            chosen = read_memo(row.memo).chosen
            if chosen is not None:
                yield from skip_unchosen(view, row.pos, chosen)


def skipped_by_choice(row: TaskRow) -> bool:
    """True if a branch or a trigger rule skipped the task, and no failed dependency did."""
    return row.state is TaskState.SKIPPED and (row.reason == TRIGGER_RULE or skipped_by_branch(row))


def accepted_end(row: TaskRow, task: TaskSpec) -> Accepted:
    """Returns how dependents with the default rule accept an end other than success; None if they do not."""
    on = task.continue_on
    if on is not None and (
        (row.state is TaskState.FAILED and (on.failure or row.reason == CONTINUED))
        or (row.state is TaskState.SKIPPED and on.skipped)
    ):
        return "continue"
    return "choice" if skipped_by_choice(row) else None


def skipped_by_branch(row: TaskRow) -> bool:
    return row.state is TaskState.SKIPPED and row.reason is not None and row.reason.startswith(NOT_CHOSEN)


def skipped_by_precondition(row: TaskRow) -> bool:
    """True if an attempt of the task found its preconditions unmet."""
    return row.state is TaskState.SKIPPED and (row.reason or "").startswith(PRECONDITION)


def skip_reason(dependencies: Iterable[tuple[TaskRow, TaskSpec]]) -> str:
    """Returns the reason of a skipped task by its dependencies; a failed one takes precedence over a branch."""
    chosen = TRIGGER_RULE
    for row, task in dependencies:
        if accepted_end(row, task) == "continue":
            continue
        if skipped_by_branch(row) and row.reason is not None:
            chosen = row.reason
        elif not skipped_by_choice(row) and row.state in (TaskState.FAILED, TaskState.SKIPPED, TaskState.CANCELLED):
            return f"dependency_{row.state.value}:{row.name}"
    return chosen
