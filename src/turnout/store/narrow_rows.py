"""Holds the moves that nearly every task makes, which stores write with only the columns that such a move changes.

What does not fit one of them is written as a whole image.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any, TypeAlias

from msgspec.structs import astuple

from turnout.model.rows import TaskRow
from turnout.model.states import TASK_COMPLETED, TASK_RUNNING, TaskState

Image: TypeAlias = tuple[Any, ...]
"""The fields of a TaskRow, in their order."""

_FIELDS = TaskRow.__struct_fields__


class Narrow:
    """A move whose statement writes only some fields.

    It fits an image in which every field that is neither written nor kept has its default, or the value given here. So
    a field that TaskRow gets one day makes the images that use it whole ones, until a statement here knows it.
    """

    def __init__(self, written: tuple[str, ...], kept: tuple[str, ...], **fixed: object) -> None:
        defaults = astuple(TaskRow(pos=0, state=TaskState.PENDING))
        rest = [index for index, name in enumerate(_FIELDS) if name not in (*written, *kept)]
        expected = tuple(fixed.get(_FIELDS[index], defaults[index]) for index in rest)
        pick_rest: Callable[[Image], Image] = itemgetter(*rest)
        self.values: Callable[[Image], Image] = itemgetter(*map(_FIELDS.index, written))
        self.fits: Callable[[Image], bool] = lambda image: pick_rest(image) == expected


WAITING = Narrow(("pos", "name", "priority"), kept=())
"""Inserted, and nothing has happened to it yet."""
BEGUN = Narrow(
    (
        *("pos", "name", "priority", "state", "attempt", "reason"),
        *("executor", "decision", "holder", "dispatched_at", "seq"),
    ),
    # A row that is inserted was nothing before: what it was made from is not stored.
    kept=("was", "was_attempt"),
)
"""Inserted in the commit that makes it ready or starts it."""
STARTED = Narrow(
    ("pos", "was", "was_attempt", "executor", "decision", "holder", "dispatched_at", "seq"),
    # A row that waits has no output, start or end; the statement sets reason, retry_at, poll_key, labels and resources
    # to null.
    kept=("name", "priority", "attempt", "failures", "crashes", "losses", "error", "memo", "group", "index"),
    state=TaskState.RUNNING,
)
"""Pending or ready to running: its next attempt."""
COMPLETED = Narrow(
    ("pos", "was_attempt", "output", "started_at", "finished_at", "seq"),
    # An attempt that completes keeps what it was started with; the statement sets what is left to null.
    kept=(
        *("name", "priority", "attempt", "failures", "crashes", "losses"),
        *("executor", "decision", "labels", "resources", "holder", "dispatched_at", "group", "index"),
    ),
    state=TaskState.COMPLETED,
    was=TaskState.RUNNING,
)
"""Running to completed."""


def starts(task: TaskRow) -> bool:
    """True if the row starts the next attempt of a task that waited. A task that is retried at once did not wait."""
    return task.state is TASK_RUNNING and task.was is not TASK_RUNNING and task.attempt == task.was_attempt + 1


def completes(task: TaskRow) -> bool:
    """True if the row completes the attempt that runs."""
    return task.state is TASK_COMPLETED and task.attempt == task.was_attempt and task.output is not None
