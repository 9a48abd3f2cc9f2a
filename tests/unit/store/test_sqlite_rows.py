"""Which images of a task may be written with the few columns of an ordinary move?"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from turnout.errors import StoreRejected
from turnout.model.events import ErrorInfo
from turnout.model.resources import Resources
from turnout.model.rows import RunWrite, TaskRow
from turnout.model.states import TaskState
from turnout.store.sqlite.ledger import _parts
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
    "resources": Resources(gpu=1),
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
KEPT = {"failures", "crashes", "losses", "executor", "decision", "labels", "resources", "holder", "dispatched_at"}
"""What an attempt that completes has had since its start."""
KEPT_BY_A_START = {"failures", "crashes", "losses", "error", "memo"}
"""What a task that waits has from its earlier attempts."""


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
    begun = field in {"state", "attempt", "reason", "executor", "decision", "holder", "dispatched_at", "seq"}
    made_from = field in {"was", "was_attempt"}  # not stored
    other = msgspec.structs.replace(WAITING, **{field: OTHER[field]})
    assert block_of(other, new=True) == ("insert_begun" if begun or made_from else "insert_tasks")


@pytest.mark.parametrize("field", [field for field in OTHER if field not in KEPT_BY_A_START])
def test_a_narrow_start_writes_each_field_or_leaves_the_row_to_the_whole_update(field: str) -> None:
    assert block_of(STARTED) == "start_tasks"
    written = field in {"was", "executor", "decision", "holder", "dispatched_at", "seq"}
    other = msgspec.structs.replace(STARTED, **{field: OTHER[field]})
    assert block_of(other) == ("start_tasks" if written else "update_tasks")


@pytest.mark.parametrize("field", [field for field in OTHER if field not in KEPT])
def test_a_narrow_completion_writes_each_field_that_it_may_change(field: str) -> None:
    assert block_of(COMPLETED) == "complete_tasks"
    written = field in {"output", "started_at", "finished_at", "seq"}
    other = msgspec.structs.replace(COMPLETED, **{field: OTHER[field]})
    assert block_of(other) == ("complete_tasks" if written else "update_tasks")


def test_rows_with_large_values_go_one_by_one_and_the_others_together() -> None:
    """A statement that is kept for its next use keeps what was bound to it last."""
    small = [("run", 1, pos, 1, "x" * 100, 0.0, 0.0, 1) for pos in range(200)]
    large = [("run", 1, pos, 1, "x" * 900_000, 0.0, 0.0, 1) for pos in range(200, 204)]
    rows = [*small[:100], *large, *small[100:]]
    parts = list(_parts(rows, (4,)))
    assert sorted(row[2] for part in parts for row in part) == list(range(204))
    assert [len(part) for part in parts if any(row in large for row in part)] == [1, 1, 1, 1]
    assert [len(part) for part in parts if not any(row in large for row in part)] == [200]


def test_a_nul_is_refused_among_large_values_too() -> None:
    rows = [("run", 1, 0, 1, "x" * 2_000_000, 0.0, 0.0, 1), ("run", 1, 1, 1, "a\0b", 0.0, 0.0, 1)]
    with pytest.raises(StoreRejected):
        list(_parts(rows, (4,)))
