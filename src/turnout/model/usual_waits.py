"""Decides whether a task waits longer than usual, by the waits of earlier runs of its workflow (pure).

A wait lasts from when a task could start until its body began. A wait is longer than usual if it exceeds
``FACTOR`` times the 95th percentile of earlier waits of the same task, and ``LEAST_WAIT``. With fewer than
``FEWEST_WAITS`` earlier waits of the task, those of all tasks of the workflow count; with fewer of these as well,
the wait is compared with ``UNKNOWN_WAIT``. A wait that was asked for (a pause, a deferral, the delay of a retry) is
longer than usual only once it is overdue.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from turnout.model.percentiles import percentile
from turnout.model.reasons import DEFERRED, PAUSED, RETRY_AT

FACTOR = 3.0
LEAST_WAIT = 30.0
"""Seconds that are never too long."""
UNKNOWN_WAIT = 120.0
"""Seconds that are too long where nothing is known."""
FEWEST_WAITS = 5
ASKED_FOR = (DEFERRED, RETRY_AT)
"""Reasons of waits with a time at which they end."""


class EarlierTask(msgspec.Struct, frozen=True):
    """A task of an earlier run, as far as its wait is concerned."""

    name: str
    depends_on: tuple[str, ...]
    attempt: int
    started_at: float | None
    finished_at: float | None


class UsualWaits(msgspec.Struct, frozen=True):
    """The earlier waits of the tasks of one workflow, in seconds."""

    by_task: Mapping[str, Sequence[float]] = {}

    def bound(self, task: str) -> tuple[float | None, float]:
        """Returns the wait of this task that is usual, if it is known, and the one above which a wait is too long."""
        waits = self.by_task.get(task, ())
        if len(waits) < FEWEST_WAITS:
            waits = [each for some in self.by_task.values() for each in some]
        if len(waits) < FEWEST_WAITS:
            return None, UNKNOWN_WAIT
        usual = percentile(sorted(waits), 0.95)
        return usual, max(LEAST_WAIT, FACTOR * usual)


NOTHING_KNOWN = UsualWaits()


def waits_of(runs: Iterable[tuple[float, Sequence[EarlierTask]]]) -> UsualWaits:
    """Returns the waits of earlier runs, each given by when it was submitted and its tasks.

    A task could start when the last of its dependencies had ended, or, without any, when its run was submitted. Tasks
    with several attempts are left out: their times are those of the last one."""
    found: dict[str, list[float]] = {}
    for submitted, tasks in runs:
        ends = {task.name: task.finished_at for task in tasks}
        for task in tasks:
            if task.started_at is None or task.attempt != 1:
                continue
            before = [at for name in task.depends_on if (at := ends.get(name)) is not None]
            found.setdefault(task.name, []).append(max(0.0, task.started_at - max([submitted, *before])))
    return UsualWaits(found)


def is_asked_for(reason: str | None, retry_in: float | None) -> bool:
    """True if the wait has an end that was chosen and has not come, or is a pause."""
    if reason == PAUSED:
        return True
    asked = reason is not None and reason.partition(":")[0] in ASKED_FOR
    return retry_in is not None and retry_in > -LEAST_WAIT and (asked or retry_in > 0)
