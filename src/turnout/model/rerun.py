"""Decides which tasks of an earlier run a rerun keeps, by name and definition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from turnout.errors import InvalidInput
from turnout.model.bindings import params_in
from turnout.model.branches import skipped_by_choice
from turnout.model.graph import Graph
from turnout.model.names import suggest
from turnout.model.retry import RetryPolicy
from turnout.model.rows import TaskRow
from turnout.model.rules import needs_context
from turnout.model.spec import TaskSpec, WorkflowSpec
from turnout.model.states import TaskState


def kept_tasks(
    old: Graph,
    rows: Mapping[int, TaskRow],
    new: Graph,
    *,
    changed: Iterable[str] = (),
    from_task: str | None = None,
) -> dict[int, int]:
    """Positions in ``new`` that count as finished, and the positions in ``old`` that their rows are at.

    A task is kept if it completed (or was skipped by choice), if today's workflow has it unchanged under the same name,
    if it takes none of the ``changed`` parameters, and if it does not come after a task that runs again. ``rows`` are
    those of the old run, by position; ``from_task`` runs again whatever it was. Hooks are always called anew.
    """
    if from_task is not None and from_task not in new.position:
        raise InvalidInput(
            f"workflow {new.spec.name!r} has no task {from_task!r}{suggest(from_task, list(new.position))}",
            code="unknown_task",
            task=from_task,
        )
    others = frozenset(changed)
    kept: dict[int, int] = {}
    for pos, task in enumerate(new.tasks):
        was = old.position.get(task.name)
        if (
            was is not None
            and pos not in new.hooks
            and task.name != from_task
            and _finished(rows[was])
            and same_work(task, old.tasks[was])
            and not (others and _takes(task, others))
        ):
            kept[pos] = was
    _drop_followers(new, kept)
    return kept


def same_work(task: TaskSpec, other: TaskSpec) -> bool:
    """Whether both say the same of what is done, with what, and when; how often it is tried, or where, is no matter."""
    return _work(task) == _work(other)


def new_input(spec: WorkflowSpec, old: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The rerun's input, not yet checked: the old one as far as the workflow still takes it, and what is given."""
    if spec.context_style:
        return {**old, **given}
    names = {param.name for param in spec.params}
    return {**{name: value for name, value in old.items() if name in names}, **given}


def changed_parameters(old: Mapping[str, Any], new: Mapping[str, Any]) -> frozenset[str]:
    """The names whose values differ; 1 and true are different values, as in JSON."""
    return frozenset(name for name in {*old, *new} if _text(old, name) != _text(new, name))


def _work(task: TaskSpec) -> TaskSpec:
    """The task without what may change and leave its output the same."""
    return msgspec.structs.replace(
        task,
        full_name="",
        retry=RetryPolicy(),
        timeout=None,
        priority=0,
        worker_selector=None,
        executor=None,
        at_most_once=False,
    )


def _finished(row: TaskRow) -> bool:
    return row.state is TaskState.COMPLETED or skipped_by_choice(row)


def _takes(task: TaskSpec, changed: frozenset[str]) -> bool:
    if task.uses_context:
        # What comes later runs again behind the first tasks, which get the whole input.
        return not task.depends_on or needs_context(task.rule)
    templates = (*task.args, *task.kwargs.values())
    return needs_context(task.rule) or any(name in changed for each in templates for name in params_in(each))


def _drop_followers(graph: Graph, kept: dict[int, int]) -> None:
    open_ = [pos for pos in range(len(graph.tasks)) if pos not in kept]
    while open_:
        for dependent in graph.dependents[open_.pop()]:
            if kept.pop(dependent, None) is not None:
                open_.append(dependent)


def _text(values: Mapping[str, Any], name: str) -> bytes:
    return msgspec.json.encode([values[name]] if name in values else [], order="deterministic")
