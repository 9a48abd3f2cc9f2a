"""A watched run as it is looked at again and again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from turnout.cli.logs import LineQueue
from turnout.cli.watch import stall_reason
from turnout.cli.watched_run import WatchedRun
from turnout.model.deferral import Memo, write_memo
from turnout.model.driver import NOT_DRIVEN, Driver
from turnout.model.rows import TaskRow
from turnout.model.spec import WorkflowSpec
from turnout.model.states import RunState, TaskState
from turnout.runner.views import RunView


def watched(rows: list[TaskRow]) -> WatchedRun:
    core = SimpleNamespace(reader=SimpleNamespace(look=lambda run_id: rows))
    parts: Any = (core, SimpleNamespace(id="r"), WorkflowSpec("w", ()), LineQueue(), None)
    return WatchedRun(*parts)


def test_what_was_handed_back_is_no_attempt_and_a_deferral_is_one_also_after_the_end() -> None:
    rows = [TaskRow(pos=0, name="a", state=TaskState.RUNNING, attempt=2)]
    run = watched(rows)
    assert run.tasks()[0].begun == 1, "the first one was handed back"
    memo = write_memo(Memo(deferrals=3, unmet=2))
    rows[0] = TaskRow(pos=0, name="a", state=TaskState.RUNNING, attempt=6, failures=1, memo=memo)
    assert run.tasks()[0].begun == 3, "one that failed, one that was put off, and this one"
    rows[0] = TaskRow(pos=0, name="a", state=TaskState.COMPLETED, attempt=6, failures=1)
    assert run.tasks()[0].begun == 3, "the memo goes with the end of the task"


def test_only_running_tasks_say_how_far_they_are_and_only_of_their_newest_attempt() -> None:
    run = watched([])
    for task, attempt in (("a", 1), ("b", 1), ("c", 2)):
        run.queue.put("r", task, attempt, "progress", f'{{"done":{attempt}}}')
    rows = [
        TaskRow(pos=0, name="a", state=TaskState.COMPLETED, attempt=1),
        TaskRow(pos=1, name="b", state=TaskState.RUNNING, attempt=2),
        TaskRow(pos=2, name="c", state=TaskState.RUNNING, attempt=2),
    ]
    assert run.progress(watched(rows).tasks()) == {"c": '{"done":2}'}


def test_a_run_that_does_not_start_says_whether_it_is_driven() -> None:
    left = RunView(id="r", workflow="w", state=RunState.RUNNING, owner="killed")
    assert stall_reason(left, Driver.NOT_DRIVEN) == f"nothing starts yet: the run is {NOT_DRIVEN}"
    assert "driven by orchestrator killed" in stall_reason(left, Driver.DRIVEN)
    paused = RunView(id="r", workflow="w", state=RunState.PAUSED)
    assert "is paused" in stall_reason(paused, Driver.NOT_DRIVEN)
