"""Declares where the state changes of runs go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from turnout.model.rows import RunWrite, WriteOutcome


class LedgerStore(Protocol):
    """Takes the state changes of runs."""

    lanes: int
    """How many ``commit`` calls may usefully be in flight at once (SQLite: 1)."""

    def commit(self, writes: Sequence[RunWrite], *, wake: frozenset[str] = frozenset()) -> list[WriteOutcome]:
        """Writes all in one transaction, each row by compare-and-swap with its history row made from the rows really
        updated. Returns the outcomes in order. ``wake`` topics are notified with the commit (one NOTIFY per topic).
        Raises StoreUnreachable when the outcome is unknown or nothing was written, StoreRejected when the data was
        refused (the caller splits the batch). A child run is inserted only while its parent's attempt is running;
        otherwise its outcome is stale."""
        ...

    def put_workflow(self, version: str, full_name: str, spec: str) -> None:
        """Stores a workflow version; known ones are left alone."""
        ...

    def clock(self) -> float:
        """The time by the database's clock."""
        ...
