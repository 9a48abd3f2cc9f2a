"""Holds how long the runs of a workflow are kept, and the counts of what a deletion removed."""

from __future__ import annotations

import msgspec


class KeepRule(msgspec.Struct, frozen=True):
    """Says for how long the ended runs of one workflow are kept, in place of the age that the configuration says."""

    seconds: float | None = None
    """Runs that ended longer ago are deleted; None: those that are older than the configuration says."""
    runs: int | None = None
    """Of the runs that have ended, this many of the newest are kept; None: all."""


class Deleted(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of deleted rows."""

    runs: int = 0
    rows: int = 0
    """Tasks, moves, lines and messages of those runs."""
    workflows: int = 0
    """Versions of workflows that no run has any more."""
    sessions: int = 0
    routings: int = 0
    decisions: int = 0
    """Decisions about due times of schedules."""
    more: bool = False
    """True if some of the runs have rows left."""

    def __add__(self, other: Deleted) -> Deleted:
        return Deleted(
            runs=self.runs + other.runs,
            rows=self.rows + other.rows,
            workflows=self.workflows + other.workflows,
            sessions=self.sessions + other.sessions,
            routings=self.routings + other.routings,
            decisions=self.decisions + other.decisions,
            more=other.more,
        )
