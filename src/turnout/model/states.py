"""Holds the legal moves of tasks and runs: one table that code, database, documentation and tests share."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class TaskState(StrEnum):
    """The states of a task."""

    PENDING = "pending"
    READY = "ready"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"

    @property
    def terminal(self) -> bool:
        return self in TASK_TERMINAL


class RunState(StrEnum):
    """The states of a run."""

    PENDING = "pending"
    RUNNING = "running"
    PAUSED = "paused"
    CANCELLING = "cancelling"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def terminal(self) -> bool:
        return self in RUN_TERMINAL


# The members that the hot path uses. On Python 3.11 a lookup on the enum takes ten times as long as a module global,
# and each step of a run needs dozens.
TASK_PENDING, TASK_READY = TaskState.PENDING, TaskState.READY
TASK_RUNNING, TASK_COMPLETED = TaskState.RUNNING, TaskState.COMPLETED
RUN_RUNNING, RUN_PAUSED, RUN_CANCELLING = RunState.RUNNING, RunState.PAUSED, RunState.CANCELLING
RUN_COMPLETED = RunState.COMPLETED

TASK_TERMINAL = frozenset({TaskState.COMPLETED, TaskState.FAILED, TaskState.SKIPPED, TaskState.CANCELLED})
RUN_TERMINAL = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED})

TASK_MOVES: Mapping[TaskState, frozenset[TaskState]] = {
    # A task that becomes ready and starts in one commit makes one move.
    TaskState.PENDING: frozenset({TaskState.READY, TaskState.RUNNING, TaskState.SKIPPED, TaskState.CANCELLED}),
    TaskState.READY: frozenset({TaskState.RUNNING, TaskState.CANCELLED}),
    TaskState.RUNNING: frozenset(
        {TaskState.COMPLETED, TaskState.FAILED, TaskState.SKIPPED, TaskState.READY, TaskState.CANCELLED}
    ),
    TaskState.COMPLETED: frozenset(),
    TaskState.FAILED: frozenset(),
    TaskState.SKIPPED: frozenset(),
    TaskState.CANCELLED: frozenset(),
}

RUN_MOVES: Mapping[RunState, frozenset[RunState]] = {
    RunState.PENDING: frozenset({RunState.RUNNING, RunState.PAUSED, RunState.CANCELLING}),
    RunState.RUNNING: frozenset({RunState.COMPLETED, RunState.FAILED, RunState.PAUSED, RunState.CANCELLING}),
    RunState.PAUSED: frozenset({RunState.RUNNING, RunState.CANCELLING}),
    RunState.CANCELLING: frozenset({RunState.CANCELLED, RunState.FAILED}),
    RunState.COMPLETED: frozenset(),
    RunState.FAILED: frozenset(),
    RunState.CANCELLED: frozenset(),
}

# Several moves of one row in one commit are written as one UPDATE; these are the only such compositions.
TASK_FOLDED: Mapping[tuple[TaskState, TaskState], tuple[TaskState, ...]] = {
    (TaskState.RUNNING, TaskState.RUNNING): (TaskState.RUNNING, TaskState.READY, TaskState.RUNNING),
    # A mapped task without items, or with invalid lists, ends in the commit that makes it ready.
    (TaskState.PENDING, TaskState.COMPLETED): (TaskState.PENDING, TaskState.RUNNING, TaskState.COMPLETED),
    (TaskState.PENDING, TaskState.FAILED): (TaskState.PENDING, TaskState.RUNNING, TaskState.FAILED),
}
RUN_FOLDED: Mapping[tuple[RunState, RunState], tuple[RunState, ...]] = {
    (RunState.PENDING, RunState.CANCELLED): (RunState.PENDING, RunState.CANCELLING, RunState.CANCELLED),
    (RunState.RUNNING, RunState.CANCELLED): (RunState.RUNNING, RunState.CANCELLING, RunState.CANCELLED),
    (RunState.PAUSED, RunState.CANCELLED): (RunState.PAUSED, RunState.CANCELLING, RunState.CANCELLED),
    (RunState.PENDING, RunState.FAILED): (RunState.PENDING, RunState.CANCELLING, RunState.FAILED),
    (RunState.PAUSED, RunState.FAILED): (RunState.PAUSED, RunState.CANCELLING, RunState.FAILED),
    (RunState.PAUSED, RunState.COMPLETED): (RunState.PAUSED, RunState.RUNNING, RunState.COMPLETED),
    (RunState.PENDING, RunState.COMPLETED): (RunState.PENDING, RunState.RUNNING, RunState.COMPLETED),
    (RunState.RUNNING, RunState.RUNNING): (RunState.RUNNING, RunState.PAUSED, RunState.RUNNING),
    (RunState.PAUSED, RunState.PAUSED): (RunState.PAUSED, RunState.RUNNING, RunState.PAUSED),
}


def task_writes() -> frozenset[tuple[TaskState, TaskState]]:
    """Returns every (from, to) that one UPDATE of a task row may make."""
    single = {(old, new) for old, targets in TASK_MOVES.items() for new in targets}
    return frozenset(single | TASK_FOLDED.keys())


def run_writes() -> frozenset[tuple[RunState, RunState]]:
    """Returns every (from, to) that one UPDATE of a run row may make."""
    single = {(old, new) for old, targets in RUN_MOVES.items() for new in targets}
    return frozenset(single | RUN_FOLDED.keys())
