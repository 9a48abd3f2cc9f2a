"""Declares what is read of runs: single ones, lists, changes and figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from turnout.model.rows import (
    HistoryRow,
    StoredDecision,
    StoredMove,
    StoredRun,
    StoredVersion,
    StoreFacts,
    TaskRow,
    UnownedRun,
)
from turnout.model.run_figures import EndedRuns, EndedTasks, StepCounts
from turnout.model.run_filter import ALL_RUNS, ChangeSpan, RunChange, RunFilter
from turnout.model.states import RunState, TaskState


class ReadStore(Protocol):
    """Reads runs, tasks, outputs and history."""

    def run(self, run_id: str) -> StoredRun | None: ...

    def runs(
        self,
        *,
        workflow: str | None = None,
        states: Sequence[RunState] = (),
        limit: int = 100,
        before: str | None = None,
    ) -> list[StoredRun]:
        """Returns runs, newest first; ``before`` is the last run id of the previous page. ``workflow`` is a full name
        or its last segment."""
        ...

    def find_runs(
        self, wanted: RunFilter = ALL_RUNS, *, limit: int = 100, before: str | None = None
    ) -> list[StoredRun]:
        """Returns the runs that the filter finds, newest first; ``before`` is the last run id of the previous page."""
        ...

    def failed_since(self, since: float, limit: int) -> list[StoredRun]:
        """Returns runs without a parent that failed after this time, the latest first. Its cost depends on these
        only."""
        ...

    def count_failed(self, since: float, limit: int) -> int:
        """Counts these runs, up to a limit."""
        ...

    def undriven_runs(self, before: float, limit: int) -> list[StoredRun]:
        """Returns runs that have no owner and were submitted before this time, the oldest first. Those that wait for
        limits are among them."""
        ...

    def open_runs(self, limit: int) -> list[StoredRun]:
        """Returns runs that have not ended, newest first. Its cost does not depend on how many have ended."""
        ...

    def unowned_runs(self, workflows: Sequence[str], *, after: str | None, limit: int) -> list[UnownedRun]:
        """Returns open runs of these workflows that wait for an owner, or for limits before they get one, by id."""
        ...

    def runs_by_id(self, run_ids: Sequence[str]) -> list[StoredRun]:
        """Returns those of these runs that exist, in any order."""
        ...

    def children(self, run_id: str) -> list[StoredRun]:
        """The child runs of this run, by task and attempt."""
        ...

    def orphans(self, session_id: str) -> list[str]:
        """Returns the child runs that this session owns and that no attempt waits for, except those being cancelled."""
        ...

    def tasks(self, run_id: str, *, outputs: bool = True) -> list[TaskRow]: ...

    def task_counts(self, run_ids: Sequence[str]) -> dict[str, list[tuple[TaskState, int, str | None]]]:
        """Returns for each of these runs how many tasks are in each state, and a reason of one of those."""
        ...

    def tasks_at(self, run_id: str, positions: Sequence[int]) -> list[TaskRow]:
        """Returns these tasks of the run, without outputs."""
        ...

    def items(self, run_id: str) -> dict[int, range]:
        """Returns the positions of the items of the run's mapped tasks, by the position of the mapped task."""
        ...

    def owned_runs(self, session_id: str) -> list[str]:
        """Ids of the non-terminal runs that belong to this session."""
        ...

    def running_tasks(self, session_id: str) -> list[tuple[str, int, int]]:
        """(run_id, pos, attempt) of attempts that the database believes this session holds."""
        ...

    def outputs(self, run_id: str, positions: Sequence[int]) -> dict[int, str]: ...

    def history(self, run_id: str) -> list[tuple[float, HistoryRow]]:
        """(time by the database's clock, move), in order."""
        ...

    def moves(self, run_id: str, *, after: tuple[int, int] = (0, 0), limit: int = 1_000) -> list[StoredMove]:
        """Returns the moves of a run behind this position, which is (seq, part), in order. A run has one writer at a
        time, so a reader that continues after the last position misses none."""
        ...

    def decisions(self, limit: int) -> list[StoredDecision]:
        """Returns the latest decisions about tasks, newest runs first."""
        ...

    def workflow(self, version: str) -> str | None:
        """The spec of this version as JSON text."""
        ...

    def workflow_versions(self, full_name: str, limit: int = 1_000) -> list[StoredVersion]:
        """Returns the versions of a workflow that are stored, newest first."""
        ...

    def waiting(self) -> dict[str, Any]:
        """Returns the number of non-terminal runs by state, by whether they are owned, by owner, and of those that wait
        for limits: for start-up and health."""
        ...

    def about(self) -> StoreFacts:
        """The server's version, its clock and the schema: for health."""
        ...


class ChangeStore(Protocol):
    """Knows which runs have changed their state, whichever process has changed them."""

    def run_changes(self, after: int, limit: int) -> list[RunChange]:
        """Returns changes behind this position, in the order in which they became readable: a reader that continues
        after the last position misses none, however many processes write. All changes of one position are returned
        together. On PostgreSQL changes become readable when every older transaction that writes has ended."""
        ...

    def change_span(self) -> ChangeSpan:
        """Returns the positions from which a reader can continue."""
        ...


class FigureStore(Protocol):
    """Counts what has ended, for metrics. Its cost depends on what ended in the time that is asked for only."""

    def clock(self) -> float:
        """The time by the database's clock."""
        ...

    def ended_runs(self, after: float, until: float) -> list[EndedRuns]:
        """Returns the runs that ended after the first and until the second time, by workflow and state."""
        ...

    def ended_by_step(self, after: float, until: float, step: float, workflow: str = "") -> list[StepCounts]:
        """Counts the runs that ended from the first time on and before the second, and their tasks, by steps of so many
        seconds since 1970; steps without any are left out. ``workflow`` is a full name; empty: all."""
        ...

    def ended_sample(self, after: float, until: float, limit: int, workflow: str = "") -> list[str]:
        """Returns the ids of the runs of that time that ended last."""
        ...

    def ended_tasks(self, after: float, until: float) -> list[EndedTasks]:
        """Returns the tasks of those runs, by workflow, executor and state. Tasks that never had an attempt are left
        out."""
        ...
