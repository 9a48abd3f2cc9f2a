"""What runs and tasks returned, on the screen."""

from __future__ import annotations

from typing import Any

from turnout.cli.output import say
from turnout.contracts.store import ReadStore
from turnout.errors import InvalidInput, RunNotFinished
from turnout.model.names import is_hook
from turnout.model.printable import json_text
from turnout.model.rows import StoredRun
from turnout.model.states import RunState, TaskState
from turnout.runner.task_detail import find_task, stored_output, stored_result
from turnout.runner.views import failure_of


def read_output(store: ReadStore, stored: StoredRun, task: str | None) -> Any:
    """What the run, or one of its tasks, returned. Raises what tells why there is nothing."""
    run_id, state = stored.new.run_id, stored.row.state
    rows = store.tasks(run_id, outputs=False)
    if task is not None:
        row = find_task(run_id, rows, task)
        if row.state is not TaskState.COMPLETED:
            raise InvalidInput(f"task {task!r} is {row.state}: it has no output", code="no_output", task=task)
        return stored_output(store, stored, rows, row)
    if not state.terminal:
        raise RunNotFinished(f"run {run_id} is {state}: it has no result yet", run_id=run_id)
    if state is not RunState.COMPLETED:
        raise failure_of(stored, [row for row in rows if not is_hook(row.name)])
    return stored_result(store, stored, rows)


def say_result(result: Any) -> None:
    """Text as it is, anything else as JSON."""
    say(result if isinstance(result, str) else json_text(result, indent=2))
