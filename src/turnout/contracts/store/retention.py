"""Declares how old runs are found and deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from turnout.model.retention import Deleted
from turnout.model.states import RunState


class RetentionStore(Protocol):
    """Deletes runs."""

    def expired_runs(
        self, before: float, states: Sequence[RunState], limit: int, *, other_than: Sequence[str] = ()
    ) -> list[str]:
        """Runs that ended in one of these states before this time, oldest first; none whose parent has not ended, and
        none of the workflows ``other_than``."""
        ...

    def surplus_runs(self, workflow: str, before: float | None, newest: int | None, limit: int) -> list[str]:
        """Runs of a workflow that ended before this time, or that are not among so many of its newest ended runs; none
        whose parent has not ended."""
        ...

    def family(self, run_id: str) -> dict[str, RunState]:
        """The run, its child runs and theirs, with their states. RunNotFound if there is no such run."""
        ...

    def delete_runs(self, run_ids: Sequence[str], limit: int) -> Deleted:
        """Deletes at most ``limit`` rows of each table that these runs have rows in, and the runs themselves once
        nothing else is left of them (``more`` is False then). Runs that have not ended are left alone."""
        ...

    def prune_rest(self, older_than: float) -> Deleted:
        """Deletes what nothing refers to and no live session can refer to: versions of workflows without runs, ended
        sessions, replaced routing rules, settled decisions about due times; each only if it has been so for this many
        seconds."""
        ...

    def take_duty(self, name: str, session_id: str, every: float) -> bool:
        """True if this session takes the duty now, which one of all sessions does every so many seconds."""
        ...
