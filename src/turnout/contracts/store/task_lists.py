"""Declares how the tasks of runs are read page by page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from turnout.model.rows import (
    HistoryRow,
    TaskRow,
)
from turnout.model.states import TaskState
from turnout.model.task_lists import (
    MAX_POSITION,
    GraphTask,
    ItemGroup,
    OpenTask,
    OpenTaskFilter,
    TaskFilter,
    WaitingTask,
)


class TaskListStore(Protocol):
    """Reads tasks page by page. What one page costs does not depend on how many items a run has, but for the counts."""

    def tasks_page(self, run_id: str, wanted: TaskFilter, *, after: int = -1, limit: int = 100) -> list[TaskRow]:
        """Returns tasks of a run without outputs, by position; ``after`` is the last position of the previous page."""
        ...

    def tasks_by_state(self, run_id: str, wanted: TaskFilter) -> dict[TaskState, int]:
        """Counts the tasks of a run by state; the states of the filter are ignored."""
        ...

    def item_groups(self, run_id: str) -> dict[int, ItemGroup]:
        """Returns the items of the run's mapped tasks as one, by the position of the mapped task."""
        ...

    def moves_between(self, run_id: str, first: int, last: int) -> list[tuple[float, HistoryRow]]:
        """Returns the moves of the tasks from the first to the last of these positions, in order, as ``history``."""
        ...

    def task_named(self, run_id: str, name: str) -> TaskRow | None:
        """Returns one task of a run, without its output."""
        ...

    def output_sizes(self, run_id: str, positions: Sequence[int]) -> dict[int, int]:
        """Returns the bytes of the outputs of these tasks, of those that have one."""
        ...

    def graph_tasks_of(self, run_ids: Sequence[str], *, most: int = MAX_POSITION) -> dict[str, list[GraphTask]]:
        """Returns the tasks of the graphs of these runs, without items, by one statement.

        ``most`` is the size of the largest graph where it is known: items, which are behind it, are then not read."""
        ...

    def item_counts_of(self, run_ids: Sequence[str]) -> dict[str, dict[int, dict[TaskState, int]]]:
        """Counts the items of these runs by the position of their mapped task and by state."""
        ...

    def first_waiting_tasks(self, run_ids: Sequence[str]) -> dict[str, WaitingTask]:
        """Returns the first task that waits of each of these runs, of those that have one. A bounded number of tasks of
        each run is looked at."""
        ...

    def open_tasks(self, wanted: OpenTaskFilter, limit: int) -> list[OpenTask]:
        """Returns tasks of runs that have not ended, oldest runs first. A bounded number of such runs is looked at."""
        ...
