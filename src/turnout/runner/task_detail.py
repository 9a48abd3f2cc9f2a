"""Reads one task of a stored run: its state, why it waits, its output and the outcome of each attempt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from turnout.contracts.store import ReadStore, Store
from turnout.model.children import CHILD, child_run_id
from turnout.model.reasons import wait_reason
from turnout.model.rows import StoredRun, TaskRow
from turnout.model.states import TaskState
from turnout.runner.stored_values import find_task, output_size, stored_output
from turnout.runner.views import AttemptView, TaskView, attempts_of, task_view


class WaitView(msgspec.Struct, frozen=True):
    """The meaning of a waiting reason, and what ends or shortens the wait."""

    meaning: str
    remedy: str


def wait_view(reason: str | None) -> WaitView | None:
    """Returns a waiting reason in words; None if it is in an executor's own."""
    known = wait_reason(reason)
    return None if known is None else WaitView(known.meaning.replace("``", "`"), known.remedy.replace("``", "`"))


class TaskDetail(TaskView, frozen=True, kw_only=True, omit_defaults=True):
    """A task at one moment, with its output and the outcome of each attempt."""

    output: Any = None
    """What it returned, as JSON; of a mapped task, the list. None until it has completed."""
    output_bytes: int | None = None
    """The size of the output; of a mapped task, that of the outputs of its items."""
    output_omitted: bool = False
    """True: the output is larger than the request allows, and has a request of its own."""
    wait: WaitView | None = None
    """While it waits: the meaning of its reason, and what ends or shortens the wait."""
    progress: str | None = None
    """While it runs: its latest progress as JSON, ``{"done": 3, "total": 10}``."""
    child_run: str | None = None
    """The newest child run that it has started; the items of a mapped task have one each."""
    attempts: Sequence[AttemptView] = ()


def task_detail(store: Store, run: StoredRun, name: str, max_output_bytes: int | None = None) -> TaskDetail:
    """Returns the task of this name; an item of a mapped task is ``name[0]``. Raises InvalidInput if there is none.

    An output with more bytes than the maximum is left out."""
    run_id = run.new.run_id
    row = find_task(store, run_id, name)
    size = output_size(store, run, row)
    omitted = size is not None and max_output_bytes is not None and size > max_output_bytes
    return TaskDetail(
        **msgspec.structs.asdict(task_view(row)),
        output=None if omitted else stored_output(store, run, row),
        output_bytes=size,
        output_omitted=omitted,
        wait=wait_view(row.reason) if row.state is TaskState.READY else None,
        progress=store.progress(run_id).get(row.name) if row.state is TaskState.RUNNING else None,
        child_run=newest_children(store, run_id, [row]).get(row.pos),
        attempts=attempts_of(store.moves_between(run_id, row.pos, row.pos), [row]),
    )


def newest_children(store: ReadStore, run_id: str, rows: Iterable[TaskRow]) -> dict[int, str]:
    """Returns the newest child run of each of these tasks that has started one, by position. Other children of the run,
    such as those of ten thousand items, are not read."""
    ids = {
        child_run_id(run_id, row.pos, attempt): row.pos
        for row in rows
        if row.executor == CHILD
        # The child of the newest attempt may not be stored yet.
        for attempt in range(max(1, row.attempt - 1), row.attempt + 1)
    }
    stored = {run.new.run_id for run in store.runs_by_id(list(ids))} if ids else set[str]()
    return {pos: child for child, pos in ids.items() if child in stored}
