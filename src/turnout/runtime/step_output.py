"""Collects the output of running steps as lines, bounded, until the worker sends them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

import msgspec

from turnout.model.events import TaskReadyEvent
from turnout.model.info import Progress, TaskInfo
from turnout.model.logs import Stream
from turnout.runtime.attempt import Key
from turnout.runtime.log_buffer import LogBuffer, LogSettings

AT_ONCE = 1_000
UNFINISHED = 0.4
"""Seconds after which a partial line counts as a line."""

MAX_PROGRESS = 16
"""Progress reports of one attempt that wait; a further one replaces the last."""

Said = Callable[[Key, str, str], None]
"""Takes the key of the attempt, the stream and the line."""


class StepOutput:
    """The ``Output`` of a worker's steps. Called from any thread; emptied by the one that has the sockets."""

    def __init__(self, settings: LogSettings) -> None:
        self._buffer: LogBuffer[Key] = LogBuffer(settings)
        self._progress: dict[Key, list[str]] = {}
        self._lock = threading.Lock()
        self.echo: bool = settings.echo

    def __call__(self, source: TaskReadyEvent | TaskInfo, stream: str, text: str) -> None:
        if not text:
            return
        with self._lock:
            if stream == Stream.PROGRESS:
                reports = self._progress.setdefault((source.task_id, source.ordinal, source.shadow), [])
                del reports[MAX_PROGRESS - 1 :]
                reports.append(text)
            else:
                self._buffer.add((source.task_id, source.ordinal, source.shadow), "", stream, text, time.time())

    @property
    def silent(self) -> bool:
        """True if no output waits."""
        return not (self._buffer.pending or self._buffer.unfinished or self._progress)

    def take(self, say: Said) -> None:
        """Passes on all complete lines, in order, and partial lines that were not continued."""
        with self._lock:
            self._buffer.settle(time.time() - UNFINISHED)
        self._hand_on(say)

    def take_last(self, key: Key, say: Said) -> None:
        """Passes on all output of an attempt that has ended, partial lines included."""
        with self._lock:
            self._buffer.settle(math.inf, lambda other: other[0] == key[0])
        self._hand_on(say)

    def _hand_on(self, say: Said) -> None:
        with self._lock:
            progress, self._progress = self._progress, {}
        for key, texts in progress.items():
            for text in texts:
                say(key, Stream.PROGRESS, text)
        while True:
            with self._lock:
                lines = self._buffer.take(AT_ONCE)
            if not lines:
                return
            for line in lines:
                say(line.log.key, line.stream, line.text)


def progress_in(stream: str, text: str) -> Progress | None:
    """Returns the progress in a line of the stream ``progress``; None for lines of other streams."""
    return _progress(text) if stream == Stream.PROGRESS else None


_progress = msgspec.json.Decoder(Progress).decode
