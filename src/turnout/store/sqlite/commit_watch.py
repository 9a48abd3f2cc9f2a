"""Notices that another connection or process has committed to a SQLite file."""

from __future__ import annotations

import os
from pathlib import Path

from turnout.store.sqlite.connection import SqliteDatabase, translated

SETTLED = 2
"""Looks in a row at an unchanged file after which the database is not asked. The time of a file has steps of some
milliseconds: a commit right after the look that saw a change may leave it as it is, so the next look asks once more."""


def log_of(database: SqliteDatabase) -> str | None:
    """Returns the path of the write-ahead log; None in memory."""
    return None if database.in_memory else f"{Path(database.path).absolute()}-wal"


class CommitWatch:
    """Compares what it sees with the last look. To be used by one thread."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self._log = log_of(database)
        self._stamp: tuple[int, int] | None = None
        self._looks = 0
        """Looks in a row that have found the same stamp."""
        self._version: int | None = None

    @property
    def settled(self) -> bool:
        """True if nothing can be found before the write-ahead log is written again."""
        return self._looks >= SETTLED

    def look(self) -> bool:
        """True if there may have been a commit since the last look; the first is always True."""
        if self._is_settled():
            return False
        before, self._version = self._version, self._read_version()
        return self._version != before

    def _is_settled(self) -> bool:
        """True if the write-ahead log is as it was. That costs a quarter of a statement."""
        try:
            found = None if self._log is None else os.stat(self._log)
        except OSError:
            found = None
        stamp = None if found is None else (found.st_mtime_ns, found.st_size)
        self._looks = self._looks + 1 if stamp is not None and stamp == self._stamp else 0
        self._stamp = stamp
        return self.settled

    def _read_version(self) -> int:
        """Returns a number that changes when another connection has committed (in memory: when any has)."""
        with translated(self._database.path):
            connection = self._database.connection()
            if self._database.in_memory:
                return connection.total_changes
            return int(connection.execute("pragma data_version").fetchone()[0])
