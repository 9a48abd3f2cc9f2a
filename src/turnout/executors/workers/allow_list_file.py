"""Reads the allow-list again when its file changes; a broken file changes nothing."""

from __future__ import annotations

import logging
import time
from pathlib import Path

from turnout.errors import InvalidSetting
from turnout.executors.workers.allow_list import AllowList, parse
from turnout.rate_limited_log import DistinctLog

log = logging.getLogger("turnout.hub")

SETTLED = 2.0
"""Seconds after its last change for which a file is read again: its time of change may be that coarse."""


class AllowedWorkers:
    """The list as it was last read without a mistake. It is replaced, never changed, so any thread may read it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._errors = DistinctLog(log, "the list of workers stays as it was: %s", level=logging.ERROR)
        self._seen = self._sign()
        self._changed = False
        """True if the file differs from what was read."""
        self.list: AllowList = self._read()
        """Raises InvalidSetting where the first one cannot be read."""

    def look(self) -> bool:
        """Reads the file again if it has changed; True if there is a new list.

        A change counts when it was seen twice: a writer may have emptied the file before, and an empty list would
        expel every worker for good.
        """
        sign = self._sign()
        if sign != self._seen:
            self._seen, self._changed = sign, True
            return False
        if not self._changed and (sign is None or time.time() - sign[1] / 1e9 > SETTLED):
            return False
        try:
            fresh = self._read()
        except InvalidSetting as error:
            self._changed = False
            self._errors.note(error.message)
            return False
        if self._sign() != sign:
            return False
        self._changed = False
        self._errors.recovered()
        if fresh == self.list:
            return False
        self.list = fresh
        log.info("%s was read again; keys listed: %d", self._file, len(fresh.entries))
        return True

    def _sign(self) -> tuple[int, int, int] | None:
        """Returns what changes with the file; an editor may replace it by a new one."""
        try:
            found = self._file.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _read(self) -> AllowList:
        try:
            text = self._file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no text"
            raise InvalidSetting(f"{self._file} cannot be read: {why}", code="bad_workers_file") from error
        return parse(text, str(self._file))
