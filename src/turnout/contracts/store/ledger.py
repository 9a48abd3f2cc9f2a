"""Declares where the state changes of runs go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from turnout.model.rows import RunWrite, WriteOutcome


class CommitChannel(Protocol):
    """Makes commits without waiting for them, one at a time, for one event loop. After an error it can only be
    closed."""

    def fileno(self) -> int:
        """The socket that becomes readable when an answer comes, or when the connection is lost."""
        ...

    def send(self, writes: Sequence[RunWrite], wake: frozenset[str]) -> None:
        """Begins a commit, as ``LedgerStore.commit`` makes it; ``flush`` sends it. Raises StoreUnreachable if the
        outcome is unknown. Any other exception: nothing was sent, and the channel is as before."""
        ...

    def flush(self) -> bool:
        """Sends what the socket takes. True once everything is sent."""
        ...

    def receive(self) -> list[WriteOutcome] | None:
        """Reads what has come. Returns the outcomes in order; None if they are not complete yet."""
        ...

    def close(self) -> None: ...


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

    def commit_channel(self) -> CommitChannel | None:
        """Opens a channel; None if this store makes commits by ``commit`` only."""
        ...

    def put_workflow(self, version: str, full_name: str, spec: str) -> None:
        """Stores a workflow version; known ones are left alone."""
        ...

    def clock(self) -> float:
        """The time by the database's clock."""
        ...
