"""Which images of a task may be written with the few columns of an ordinary move?"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from turnout.model.events import ErrorInfo
from turnout.model.rows import RunWrite, TaskRow
from turnout.model.states import TaskState
from turnout.store.sqlite.rows import changed_tasks, new_tasks

WAITING = TaskRow(pos=2, name="third", priority=5, state=TaskState.PENDING)
STARTED = TaskRow(
    pos=2,
    name="third",
    state=TaskState.RUNNING,
    was=TaskState.PENDING,
    attempt=1,
    executor="default",
    decision="default",
    holder="me",
    dispatched_at=1.0,
    seq=4,
)
COMPLETED = msgspec.structs.replace(
    STARTED,
    state=TaskState.COMPLETED,
    was=TaskState.RUNNING,
    was_attempt=1,
    failures=1,
    labels={"gpu": "true"},
    output="1",
    started_at=2.0,
    finished_at=3.0,
)
OTHER: dict[str, Any] = {
    "state": TaskState.READY,
    "was": TaskState.READY,
    "was_attempt": 7,
    "attempt": 7,
    "failures": 1,
    "crashes": 1,
    "losses": 1,
    "reason": "because",
    "retry_in": 1.0,
    "executor": "gpu",
    "decision": "rule",
    "labels": {"a": "b"},
    "poll_key": "polling",
    "holder": "you",
    "output": '"other"',
    "error": ErrorInfo("ValueError", "no"),
    "dispatched_at": 9.0,
    "started_at": 9.0,
    "finished_at": 9.0,
    "seq": 9,
    "memo": "{}",
}
KEPT = {"failures", "crashes", "losses", "executor", "decision", "labels", "holder", "dispatched_at"}
"""What an attempt that completes has had since its start."""


def block_of(row: TaskRow, *, new: bool = False) -> str:
    sort = new_tasks if new else changed_tasks
    [block] = [block for block, rows in sort([RunWrite(run_id="r", epoch=1, tasks=[row])], 0.0).items() if rows]
    return block


def test_every_field_that_an_update_writes_is_looked_at_here() -> None:
    only_inserted = {"name", "priority", "group", "index"}
    assert {*OTHER, "pos", *only_inserted} == set(TaskRow.__struct_fields__)


@pytest.mark.parametrize("field", ["group", "index"])
def test_an_item_keeps_whose_it_is_when_it_is_inserted_and_moves_like_any_task(field: str) -> None:
    item = {field: 0}
    assert block_of(msgspec.structs.replace(WAITING, **item), new=True) == "insert_tasks"
    assert block_of(msgspec.structs.replace(STARTED, **item)) == "start_tasks"
    assert block_of(msgspec.structs.replace(COMPLETED, **item)) == "complete_tasks"


@pytest.mark.parametrize("field", OTHER)
def test_a_narrow_insert_drops_no_field(field: str) -> None:
    assert block_of(WAITING, new=True) == "insert_waiting"
    assert block_of(msgspec.structs.replace(WAITING, **{field: OTHER[field]}), new=True) == "insert_tasks"


@pytest.mark.parametrize("field", OTHER)
def test_a_narrow_start_writes_each_field_or_leaves_the_row_to_the_whole_update(field: str) -> None:
    assert block_of(STARTED) == "start_tasks"
    written = field in {"executor", "decision", "holder", "dispatched_at", "seq"}
    other = msgspec.structs.replace(STARTED, **{field: OTHER[field]})
    assert block_of(other) == ("start_tasks" if written else "update_tasks")


@pytest.mark.parametrize("field", [field for field in OTHER if field not in KEPT])
def test_a_narrow_completion_writes_each_field_that_it_may_change(field: str) -> None:
    assert block_of(COMPLETED) == "complete_tasks"
    written = field in {"output", "started_at", "finished_at", "seq"}
    other = msgspec.structs.replace(COMPLETED, **{field: OTHER[field]})
    assert block_of(other) == ("complete_tasks" if written else "update_tasks")
