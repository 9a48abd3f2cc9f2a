"""One task of a stored run with its output and all of its attempts, and the result of a stored run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from turnout.contracts.store import ReadStore
from turnout.errors import InvalidInput
from turnout.model.rows import StoredRun, TaskRow
from turnout.model.states import RunState, TaskState
from turnout.model.suggestions import close
from turnout.orchestration.loading.graph_cache import GraphCache
from turnout.orchestration.loading.results import run_result, task_output
from turnout.runner.attempts import AttemptView, attempts_of
from turnout.runner.views import TaskView, task_view


class TaskDetail(TaskView, frozen=True, kw_only=True, omit_defaults=True):
    """A task at one moment, with what it returned and what became of each attempt."""

    output: Any = None
    """What it returned, as JSON; of a mapped task, the list. None as long as it has not completed."""
    attempts: Sequence[AttemptView] = ()


def task_detail(store: ReadStore, run: StoredRun, name: str) -> TaskDetail:
    """Read the task of this name; an item of a mapped task is ``name[0]``. Raises InvalidInput if there is none."""
    run_id = run.new.run_id
    rows = store.tasks(run_id, outputs=False)
    row = find_task(run_id, rows, name)
    attempts = [each for each in attempts_of(store.history(run_id), rows) if each.task == name]
    known = msgspec.structs.asdict(task_view(row))
    return TaskDetail(**known, output=stored_output(store, run, rows, row), attempts=attempts)


def find_task(run_id: str, rows: Sequence[TaskRow], name: str) -> TaskRow:
    """The row of the task of this name. Raises InvalidInput if there is none."""
    row = next((row for row in rows if row.name == name), None)
    if row is None:
        names = [each.name for each in rows]
        raise InvalidInput(f"run {run_id} has no task {name!r}{close(name, names)}", code="unknown_task", task=name)
    return row


def stored_output(store: ReadStore, run: StoredRun, rows: Sequence[TaskRow], row: TaskRow) -> Any:
    """What a task has returned, as JSON; None if it has not completed."""
    if row.state is not TaskState.COMPLETED:
        return None
    graph = GraphCache(store).stored(run.new.version)
    return task_output(graph, {each.pos: each for each in rows}, row, partial(store.outputs, run.new.run_id))


def stored_result(store: ReadStore, run: StoredRun, rows: Sequence[TaskRow]) -> Any:
    """What a run has returned, as JSON; None if it has not completed."""
    if run.row.state is not RunState.COMPLETED:
        return None
    graph = GraphCache(store).stored(run.new.version)
    by_position = {row.pos: row for row in rows}
    return run_result(graph, run.new.input, by_position, partial(store.outputs, run.new.run_id), one_by_one=True)
