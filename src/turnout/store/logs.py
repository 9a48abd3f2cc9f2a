"""Reads and writes the log lines of attempts."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from turnout.model.logs import LogLine, LogRow
from turnout.store.database import Database, json_list
from turnout.store.row_codec import canonical

BUCKETS = 64
"""Locks of PostgreSQL: writers of different runs rarely share one, and a write takes few of them."""


class Logs:
    """Log lines and progress, by run."""

    _database: Database

    def append_logs(self, rows: Sequence[LogRow]) -> None:
        lines = json_list(rows)
        runs = sorted({row.run_id for row in rows})
        with self._database.transaction() as execute:
            if self._database.dialect == "postgres":
                buckets = sorted({UUID(run_id).int % BUCKETS for run_id in runs})
                execute("lock_log_buckets", buckets=json_list(buckets))
                execute("append_logs", lines=lines, runs=json_list(runs))
            else:
                execute("append_logs", lines=lines)

    def logs(
        self, run_id: str, *, task: str | None = None, attempt: int | None = None, after: int = 0, limit: int = 1_000
    ) -> list[LogLine]:
        known = canonical(run_id)
        if known is None:
            return []
        rows = self._database.read("logs", id=known, task=task or "", attempt=attempt or 0, after=after, limit=limit)
        return [LogLine(*row) for row in rows]

    def last_line(self, run_id: str) -> int:
        known = canonical(run_id)
        return 0 if known is None else int(self._database.read("last_line", id=known)[0][0])

    def progress(self, run_id: str) -> dict[str, str]:
        known = canonical(run_id)
        return {} if known is None else dict(self._database.read("progress", id=known))
