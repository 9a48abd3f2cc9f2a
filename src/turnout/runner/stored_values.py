"""Reads the inputs and outputs of tasks and the results of runs from the store, as values or as JSON text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from turnout.contracts.store import Store
from turnout.errors import InvalidInput, RunNotFinished
from turnout.model.graph import Graph
from turnout.model.names import is_hook, suggest
from turnout.model.rows import StoredRun, TaskRow
from turnout.model.states import RunState, TaskState
from turnout.orchestration.loaders.stored_calls import stored_arguments
from turnout.orchestration.loaders.stored_runs import GraphCache, run_result, task_output
from turnout.runner.result_size import plain_result
from turnout.runner.views import failure_of


class TaskInput(msgspec.Struct, frozen=True, omit_defaults=True):
    """The arguments of one call of a task. Secrets are read where the task runs, and are no part of it."""

    args: tuple[Any, ...] = ()
    """The positional arguments."""
    kwargs: dict[str, Any] = {}
    """The arguments by name."""
    context: dict[str, Any] | None = None
    """In Context style: the object that the task takes in place of arguments."""
    previous: dict[str, Any] | None = None
    """Of a handler: the outputs of its dependencies, by name."""


def find_task(store: Store, run_id: str, name: str) -> TaskRow:
    """Returns the row of the task of this name, without its output. Raises InvalidInput if there is none."""
    row = store.task_named(run_id, name)
    if row is None:
        names = [each.name for each in store.tasks(run_id, outputs=False)]
        raise InvalidInput(f"run {run_id} has no task {name!r}{suggest(name, names)}", code="unknown_task", task=name)
    return row


def output_size(store: Store, run: StoredRun, row: TaskRow) -> int | None:
    """Returns the bytes of the output of a task; of a mapped one, those of its items together. None if it has none."""
    if row.state is not TaskState.COMPLETED:
        return None
    run_id = run.new.run_id
    if _is_mapped(store, run, row):
        return sum(store.output_sizes(run_id, list(store.items(run_id).get(row.pos, ()))).values())
    return store.output_sizes(run_id, [row.pos]).get(row.pos, 0)


def output_text(store: Store, run: StoredRun, task: str) -> bytes:
    """Returns the output of a task as JSON text. Raises InvalidInput if it has none."""
    row = find_task(store, run.new.run_id, task)
    if row.state is not TaskState.COMPLETED:
        raise InvalidInput(f"task {task!r} is {row.state}: it has no output", code="no_output", task=task)
    if _is_mapped(store, run, row):
        return msgspec.json.encode(stored_output(store, run, row))
    return store.outputs(run.new.run_id, [row.pos]).get(row.pos, "null").encode()


def input_text(store: Store, run: StoredRun, task: str) -> bytes:
    """Returns the input of a task as JSON text; of a mapped task, with its lists whole; of one of its items, with the
    values of that item. Raises InvalidInput if the task was never given one."""
    row = find_task(store, run.new.run_id, task)
    state = row.state
    if state in (TaskState.PENDING, TaskState.SKIPPED) or (state is TaskState.CANCELLED and row.attempt == 0):
        raise InvalidInput(f"task {task!r} is {state}: it was given no input", code="no_input", task=task)
    given = stored_arguments(store, run, _graph(store, run), row.pos)
    return msgspec.json.encode(TaskInput(given.args, given.kwargs, given.context, given.previous))


def stored_output(store: Store, run: StoredRun, row: TaskRow) -> Any:
    """Returns the output of a task, as JSON; None if it has not completed."""
    if row.state is not TaskState.COMPLETED:
        return None
    graph, run_id = _graph(store, run), run.new.run_id
    rows = store.tasks(run_id, outputs=False) if row.pos in graph.mapped else [row]
    return task_output(graph, {each.pos: each for each in rows}, row, partial(store.outputs, run_id))


def stored_result(store: Store, run: StoredRun, rows: Sequence[TaskRow]) -> Any:
    """Returns the result of a run, as JSON; None if it has not completed."""
    if run.row.state is not RunState.COMPLETED:
        return None
    by_position = {row.pos: row for row in rows}
    fetch = partial(store.outputs, run.new.run_id)
    return run_result(_graph(store, run), run.new.input, by_position, fetch, one_by_one=True)


def result_text(store: Store, run: StoredRun, graph: Graph) -> bytes:
    """Returns the result of a completed run as JSON text; as it is stored, if it is the output of a task. Raises an
    error if there is none."""
    pos = plain_result(graph) if run.row.state is RunState.COMPLETED else None
    text = None if pos is None else store.outputs(run.new.run_id, [pos]).get(pos)
    return msgspec.json.encode(read_output(store, run)) if text is None else text.encode()


def read_output(store: Store, run: StoredRun, task: str | None = None) -> Any:
    """Returns the result of the run, or the output of one of its tasks. Raises an error if there is none."""
    run_id, state = run.new.run_id, run.row.state
    if task is not None:
        return msgspec.json.decode(output_text(store, run, task))
    if not state.terminal:
        raise RunNotFinished(f"run {run_id} is {state}: it has no result yet", run_id=run_id)
    rows = store.tasks(run_id, outputs=False)
    if state is not RunState.COMPLETED:
        raise failure_of(run, [row for row in rows if not is_hook(row.name)])
    return stored_result(store, run, rows)


def _is_mapped(store: Store, run: StoredRun, row: TaskRow) -> bool:
    return row.group is None and row.pos in _graph(store, run).mapped


def _graph(store: Store, run: StoredRun) -> Graph:
    return GraphCache(store).stored(run.new.version)
