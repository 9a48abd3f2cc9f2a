"""Writes the log lines of attempts to the store from a thread, so that no attempt waits for it."""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

from turnout.contracts.store import LogStore
from turnout.errors import StoreError, StoreRejected
from turnout.model.bisection import bisect_failing
from turnout.model.events import TaskReadyEvent
from turnout.model.info import TaskInfo
from turnout.model.logs import LogRow, StoredLines
from turnout.model.names import split_task_id, task_id
from turnout.rate_limited_log import RateLimitedLog
from turnout.runtime.log_buffer import LogBuffer, LogSettings
from turnout.runtime.log_lines import Line

log = logging.getLogger("turnout.logs")

LogKey: TypeAlias = tuple[str, int, int]
"""Run id, position and attempt."""
Observer: TypeAlias = Callable[[str, str, int, str, str], object]
"""Called with (run_id, task, attempt, stream, text) of every line of attempts of this process, from the writer's
thread, in order; with all of them before ``close`` returns."""

MAX_BATCH_LINES = 1_000
"""Lines in one write."""
EARLY_FLUSH_BYTES = 262_144
"""Buffered bytes from which on lines are written without delay."""
PARTIAL_LINE_TIMEOUT = 5.0
"""Seconds after which the beginning of a line counts as a line."""
INITIAL_BACKOFF, MAX_BACKOFF = 0.1, 2.0


def _is_error(error: Exception | None) -> bool:
    return error is not None


def _last_segment(_run_id: str, _pos: int, full_name: str) -> str:
    return full_name.rpartition("::")[2]


class LogWriter:
    """The ``Output`` of a Runner's or a Poller's attempts. Its thread starts with the first line.

    Lines of shadow attempts are not written: they have the number of the attempt that they copy.
    """

    def __init__(
        self,
        store: LogStore,
        settings: LogSettings,
        observer: Observer | None = None,
        name_of: Callable[[str, int, str], str] = _last_segment,
    ) -> None:
        self._store = store
        self._settings = settings
        self._observer = observer
        self._name_of = name_of
        self._buffer: LogBuffer[LogKey] = LogBuffer(settings)
        self._on_stored: Callable[[Sequence[StoredLines]], object] | None = None
        self._rate_limited_log = RateLimitedLog(log)
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._requested = 0
        self._flushed = 0
        """The numbers of flushes that were requested and that are done."""
        self._until = math.inf
        """The monotonic time at which it gives up, once it is stopping."""
        self._ended = False

    @property
    def echo(self) -> bool:
        return self._settings.echo

    def __call__(self, source: TaskReadyEvent | TaskInfo, stream: str, text: str) -> None:
        if source.shadow or not text:
            return
        run_id, pos = split_task_id(source.task_id)
        key = (run_id, pos, source.ordinal)
        with self._changed:
            if self._ended:
                return
            task = "" if self._buffer.knows(key) else self._name_of(run_id, pos, source.task_name)
            before = self._buffer.idle, self._buffer.size
            self._buffer.add(key, task, stream, text, time.time())
            self._wake(*before)

    def on_stored(self, callback: Callable[[Sequence[StoredLines]], object]) -> None:
        """Takes the function that is called, from any thread, when numbered lines are stored. Called before the first
        line."""
        self._on_stored = callback

    def add_numbered(self, source: TaskReadyEvent, first: int, lines: Sequence[tuple[str, str]]) -> None:
        """Stores lines (stream, text) that their worker numbers, from ``first`` on. Those that were added before, here
        or by another process, are stored once."""
        run_id, pos = split_task_id(source.task_id)
        key = (run_id, pos, source.ordinal)
        with self._changed:
            if self._ended:
                return
            task = "" if self._buffer.knows(key) else self._name_of(run_id, pos, source.task_name)
            before = self._buffer.idle, self._buffer.size
            self._buffer.add_numbered(key, task, first, lines, time.time())
            self._wake(*before)
            stored = self._buffer.take_stored()
        self._report(stored)

    def _wake(self, was_idle: bool, size: int) -> None:
        """Called after an addition, with what the buffer was before it."""
        if self._thread is None:
            self._start()
        elif was_idle or (size < EARLY_FLUSH_BYTES <= self._buffer.size):
            self._changed.notify_all()

    def hurry(self) -> None:
        """Makes the thread write all lines that came in before now, without delay."""
        with self._changed:
            self._requested += 1
            self._changed.notify_all()

    def _report(self, stored: Sequence[tuple[LogKey, int]]) -> None:
        if stored and self._on_stored is not None:
            self._on_stored(
                [StoredLines(task_id(run_id, pos), attempt, next_) for (run_id, pos, attempt), next_ in stored]
            )

    def _start(self) -> None:
        thread = threading.Thread(target=self._work, name="turnout-logs", daemon=True)
        # At interpreter shutdown no thread can be started: ``stop`` writes the lines then.
        with contextlib.suppress(RuntimeError):
            thread.start()
            self._thread = thread

    def flush(self, timeout: float = 10.0, *, ended: str | None = None) -> bool:
        """Writes all lines that came in before now. Returns False if the store did not take them within the timeout.

        ``ended`` is a run that has ended: its partial lines are written as they are."""
        with self._changed:
            if self._thread is None:
                return True
            if ended is not None:
                self._buffer.settle(math.inf, lambda key: key[0] == ended)
            self._requested += 1
            mine = self._requested
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._flushed >= mine or self._ended, timeout)
            return self._flushed >= mine or (self._ended and not self._buffer.pending)

    def stop(self, timeout: float = 5.0) -> None:
        """Writes what is buffered, until the timeout. Later lines are dropped."""
        with self._changed:
            self._until = time.monotonic() + timeout
            thread = self._thread
            self._buffer.settle(math.inf)
            self._changed.notify_all()
        if thread is not None:
            thread.join(timeout + 1.0)
        elif not self._ended:
            self._drain()
            self._ended = True

    # -- in the writer's thread ---------------------------------------------------------------------------------
    def _work(self) -> None:
        pause = 0.0
        while True:
            asked, stopping = self._next_round(pause)
            written = self._drain()
            with self._changed:
                if written:
                    self._flushed = max(self._flushed, asked)
                if stopping and (written or time.monotonic() >= self._until):
                    self._ended = True
                self._changed.notify_all()
                if self._ended:
                    lost = self._buffer.pending
                    break
            pause = 0.0 if written else min(max(pause * 2, INITIAL_BACKOFF), MAX_BACKOFF)
        if lost:
            log.warning("%d lines of attempts are lost: the store could not be reached", lost)

    def _next_round(self, pause: float) -> tuple[int, bool]:
        """Waits until there are lines to write, or for the backoff after a failure.

        Returns the newest flush that this round completes, and whether it is the last round."""
        with self._changed:
            if pause:
                now = self._requested, self._stopping()
                remaining = max(0.0, self._until - time.monotonic())
                self._changed.wait_for(lambda: (self._requested, self._stopping()) != now, min(pause, remaining))
            else:
                notified = True
                while not (self._buffer.pending or self._urgent()):
                    notified = self._changed.wait(self._settings.log_flush if self._buffer.unfinished else None)
                    self._buffer.settle(time.time() - PARTIAL_LINE_TIMEOUT)
                if notified:
                    self._changed.wait_for(self._urgent, self._settings.log_flush)
            self._buffer.settle(math.inf if self._stopping() else time.time() - PARTIAL_LINE_TIMEOUT)
            return self._requested, self._stopping()

    def _stopping(self) -> bool:
        return self._until < math.inf

    def _urgent(self) -> bool:
        return self._requested > self._flushed or self._stopping() or self._buffer.size >= EARLY_FLUSH_BYTES

    def _drain(self) -> bool:
        """Writes all lines that are buffered now. Returns False if the store could not be reached."""
        with self._changed:
            remaining = self._buffer.pending
        while remaining > 0:
            with self._changed:
                lines = self._buffer.take(MAX_BATCH_LINES)
            if not lines:
                break
            remaining -= len(lines)
            self._notify_observer(lines)
            try:
                self._write(lines)
            except StoreError as error:
                with self._changed:
                    self._buffer.put_back(lines)
                    stored = self._buffer.take_stored()
                self._report(stored)
                self._rate_limited_log.failure("lines of attempts wait for the store: %s", error)
                return False
            with self._changed:
                self._buffer.written(lines)
                stored = self._buffer.take_stored()
            self._report(stored)
            self._rate_limited_log.recovered("lines of attempts are written again")
        return True

    def _write(self, lines: Sequence[Line[LogKey]]) -> None:
        for part, error in bisect_failing(lines, self._append, _is_error):
            if error is not None:
                log.error("the store refuses a line of run %s: %s", part[0].log.key[0], error)

    def _append(self, lines: Sequence[Line[LogKey]]) -> Exception | None:
        """Returns the error with which the store refuses these lines. Raises if it cannot be reached."""
        try:
            self._store.append_logs([_row(line) for line in lines])
        except Exception as error:
            if isinstance(error, StoreError) and not isinstance(error, StoreRejected):
                raise
            return error
        return None

    def _notify_observer(self, lines: Sequence[Line[LogKey]]) -> None:
        if self._observer is None:
            return
        for line in lines:
            if not line.shown:
                line.shown = True
                run_id, _, attempt = line.log.key
                try:
                    self._observer(run_id, line.log.task, attempt, line.stream, line.text)
                except Exception:
                    log.exception("the observer of output failed")


def _row(line: Line[LogKey]) -> LogRow:
    return LogRow(*line.log.key, line.seq, line.stream, line.at, line.text)
