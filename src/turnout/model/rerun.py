"""Decides which tasks of an earlier run a rerun keeps, by name and definition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from turnout.errors import InvalidInput
from turnout.model.bindings import params_in
from turnout.model.branches import skipped_by_choice
from turnout.model.graph import Graph
from turnout.model.names import suggest
from turnout.model.rerun_items import ItemCount
from turnout.model.retry import RetryPolicy
from turnout.model.rows import StoredRun, TaskRow
from turnout.model.rules import needs_context
from turnout.model.spec import TaskSpec, WorkflowSpec
from turnout.model.states import TaskState


class RunsAgain(StrEnum):
    """The reasons for which a task of an earlier run runs again in a rerun."""

    ASKED_FOR = "asked_for"
    NOT_FINISHED = "not_finished"
    NEW = "new"
    CHANGED = "changed"
    INPUT_CHANGED = "input_changed"
    FOLLOWS = "follows"
    HOOK = "hook"


class AgainReason(msgspec.Struct, frozen=True):
    """The reason for which a task runs again, and for ``follows`` the task that it depends on."""

    why: RunsAgain
    after: str | None = None


class RerunPlan(msgspec.Struct, frozen=True):
    """The tasks and the input of a rerun that was not made."""

    run: StoredRun
    """The run that is repeated."""
    graph: Graph
    """That of the new run."""
    input: Mapping[str, Any]
    again: dict[int, AgainReason]
    """The tasks that run again, by position; all others are reused."""
    items: Mapping[int, ItemCount] = {}
    """The items of those of them that are mapped, by position, where they are known."""


def kept_tasks(
    old: Graph,
    rows: Mapping[int, TaskRow],
    new: Graph,
    *,
    changed: Iterable[str] = (),
    from_task: str | None = None,
) -> dict[int, int]:
    """Returns the positions in ``new`` that count as finished, each with the position of its row in ``old``.

    A task is kept if it completed (or was skipped by choice), if the new workflow has it unchanged under the same name,
    if it takes none of the ``changed`` parameters, and if it does not depend on a task that runs again. ``rows`` are
    those of the old run, by position; ``from_task`` always runs again, as do hooks.
    """
    again = tasks_again(old, rows, new, changed=changed, from_task=from_task)
    return {pos: old.position[task.name] for pos, task in enumerate(new.tasks) if pos not in again}


def tasks_again(
    old: Graph,
    rows: Mapping[int, TaskRow],
    new: Graph,
    *,
    changed: Iterable[str] = (),
    from_task: str | None = None,
) -> dict[int, AgainReason]:
    """Returns the positions in ``new`` of the tasks that run again, each with the reason: all that are not kept."""
    if from_task is not None and from_task not in new.position:
        raise InvalidInput(
            f"workflow {new.spec.name!r} has no task {from_task!r}{suggest(from_task, list(new.position))}",
            code="unknown_task",
            task=from_task,
        )
    others = frozenset(changed)
    again: dict[int, AgainReason] = {}
    for pos, task in enumerate(new.tasks):
        was = old.position.get(task.name)
        if pos in new.hooks:
            again[pos] = AgainReason(RunsAgain.HOOK)
        elif task.name == from_task:
            again[pos] = AgainReason(RunsAgain.ASKED_FOR)
        elif was is None:
            again[pos] = AgainReason(RunsAgain.NEW)
        elif not _finished(rows[was]):
            again[pos] = AgainReason(RunsAgain.NOT_FINISHED)
        elif not same_work(task, old.tasks[was]):
            again[pos] = AgainReason(RunsAgain.CHANGED)
        elif others and _takes(task, others):
            again[pos] = AgainReason(RunsAgain.INPUT_CHANGED)
    _add_followers(new, again)
    return again


def same_work(task: TaskSpec, other: TaskSpec) -> bool:
    """True if both have the same body, arguments, dependencies and rule; retry policy and placement may differ."""
    return _work(task) == _work(other)


def new_input(spec: WorkflowSpec, old: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the rerun's input, not yet checked: old values of present parameters, overridden by those given."""
    if spec.context_style:
        return {**old, **given}
    names = {param.name for param in spec.params}
    return {**{name: value for name, value in old.items() if name in names}, **given}


def changed_parameters(old: Mapping[str, Any], new: Mapping[str, Any]) -> frozenset[str]:
    """Returns the names whose values differ; 1 and true are different values, as in JSON."""
    return frozenset(name for name in {*old, *new} if _text(old, name) != _text(new, name))


def _work(task: TaskSpec) -> TaskSpec:
    """Returns the task without the options that do not affect its output."""
    return msgspec.structs.replace(
        task,
        full_name="",
        retry=RetryPolicy(),
        timeout=None,
        priority=0,
        worker_selector=None,
        executor=None,
        at_most_once=False,
        resources=None,
    )


def _finished(row: TaskRow) -> bool:
    return row.state is TaskState.COMPLETED or skipped_by_choice(row)


def _takes(task: TaskSpec, changed: frozenset[str]) -> bool:
    if task.uses_context:
        # Only roots take the input itself: they run again, and so do all tasks after them.
        return not task.depends_on or needs_context(task.rule)
    templates = (*task.args, *task.kwargs.values())
    return needs_context(task.rule) or any(name in changed for each in templates for name in params_in(each))


def _add_followers(graph: Graph, again: dict[int, AgainReason]) -> None:
    open_ = list(again)
    while open_:
        pos = open_.pop()
        for dependent in graph.dependents[pos]:
            if dependent not in again:
                again[dependent] = AgainReason(RunsAgain.FOLLOWS, graph.tasks[pos].name)
                open_.append(dependent)


def _text(values: Mapping[str, Any], name: str) -> bytes:
    return msgspec.json.encode([values[name]] if name in values else [], order="deterministic")
