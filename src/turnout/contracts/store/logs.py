"""Declares where the output of attempts is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from turnout.model.logs import LogLine, LogRow


class LogStore(Protocol):
    """Keeps what attempts write."""

    def append_logs(self, rows: Sequence[LogRow]) -> None:
        """Stores these lines, in this order. A line that is stored already changes nothing, and lines of a run that
        does not exist (any more) are dropped."""
        ...

    def logs(
        self, run_id: str, *, task: str | None = None, attempt: int | None = None, after: int = 0, limit: int = 1_000
    ) -> list[LogLine]:
        """Returns lines of a run in the order in which they became readable; lines of one attempt in the order in which
        they were written. ``after`` is the id of the last line that the reader has: a reader that continues there
        misses no line, however many processes write. ``task`` is a task's name; the name of a mapped task stands for
        all its items."""
        ...

    def last_line(self, run_id: str) -> int:
        """Returns the id of the newest log line of a run; 0 if it has none."""
        ...

    def progress(self, run_id: str) -> dict[str, str]:
        """Returns the last stored progress of the running attempts of a run, by task or item."""
        ...
