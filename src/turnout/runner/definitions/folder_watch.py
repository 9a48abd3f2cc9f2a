"""Watches workflow folders: looks at them at an interval, in a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

from turnout.authoring.yaml.findings import Finding
from turnout.errors import TurnoutError
from turnout.rate_limited_log import RateLimitedLog
from turnout.runner.definitions.folder_import import FolderImport

log = logging.getLogger("turnout.definitions")

WATCH_INTERVAL = 1.0
"""Seconds between two looks: a change takes effect after one to two of them."""
RELOAD_INTERVAL = 0.2
"""Seconds between two looks where changed files are loaded at once."""


class FolderWatch:
    """Imports the files of folders at start, and whenever they change."""

    def __init__(self, imports: Sequence[FolderImport], interval: float = WATCH_INTERVAL) -> None:
        self._imports = imports
        self._interval = interval
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._rate_limited_log = RateLimitedLog(log)

    @property
    def problems(self) -> dict[str, tuple[Finding, ...]]:
        """Findings of files that no definition can carry, by file."""
        return {each.label(file): found for each in self._imports for file, found in each.problems.items()}

    def start(self) -> None:
        """Imports everything, then watches."""
        for each in self._imports:
            each.start()
        if self._imports:
            self._thread = threading.Thread(target=self._watch, name="turnout-folders", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(timeout=10)

    def poll(self) -> None:
        """Looks at each folder once."""
        for each in self._imports:
            try:
                each.poll()
                self._rate_limited_log.recovered("workflow folders are imported again")
            except TurnoutError as error:
                self._rate_limited_log.failure("a workflow folder was not imported; the next look will: %s", error)
            except Exception:
                log.exception("workflow folder %s was not imported", each.folder)

    def _watch(self) -> None:
        while not self._stopping.wait(self._interval):
            self.poll()
