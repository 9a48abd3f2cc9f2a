"""Writes the lines of attempts to the store, without any attempt waiting for it."""

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
from turnout.model.events import TaskReadyEvent
from turnout.model.info import TaskInfo
from turnout.model.logs import LogRow
from turnout.model.names import split_task_id
from turnout.rate_limited_log import RateLimitedLog
from turnout.runtime.log_buffer import LogBuffer, LogSettings
from turnout.runtime.log_lines import Line

log = logging.getLogger("turnout.logs")

LogKey: TypeAlias = tuple[str, int, int]
"""Run id, position and attempt."""
Observer: TypeAlias = Callable[[str, str, int, str, str], object]
"""Gets (run_id, task, attempt, stream, text) of every line that attempts of this process say, from the writer's thread,
in order; all of them before ``close`` returns."""

BATCH = 1_000
"""Lines in one write."""
EARLY = 262_144
"""With so many bytes waiting, nothing waits for company any more."""
UNFINISHED = 5.0
"""Seconds after which the beginning of a line counts as a line."""
INITIAL_BACKOFF, MAX_BACKOFF = 0.1, 2.0


def _last_segment(_run_id: str, _pos: int, full_name: str) -> str:
    return full_name.rpartition("::")[2]


class LogWriter:
    """The ``Output`` of a Runner's or a Poller's attempts. Its thread starts with the first line.

    Shadows are heard, not written down: they have the number of the attempt that they copy.
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
        self._rate_limited_log = RateLimitedLog(log)
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._asked = 0
        self._answered = 0
        """Flushes that were asked for, and how many of them are done."""
        self._until = math.inf
        """When to give up, once it is to stop."""
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
            buffer = self._buffer
            quiet, small = not buffer.pending and not buffer.unfinished, buffer.size < EARLY
            task = "" if buffer.knows(key) else self._name_of(run_id, pos, source.task_name)
            buffer.add(key, task, stream, text, time.time())
            if self._thread is None:
                self._start()
            elif quiet or (small and buffer.size >= EARLY):
                self._changed.notify_all()

    def _start(self) -> None:
        thread = threading.Thread(target=self._work, name="turnout-logs", daemon=True)
        # At the very end of a program no thread can be started any more: ``stop`` writes the lines then.
        with contextlib.suppress(RuntimeError):
            thread.start()
            self._thread = thread

    def flush(self, timeout: float = 10.0, *, ended: str | None = None) -> bool:
        """Write all lines that were said before now; False if the store could not take them in this time.

        ``ended`` is a run that will say no more: a line that it has begun counts as it is. Others go on with theirs."""
        with self._changed:
            if self._thread is None:
                return True
            if ended is not None:
                self._buffer.settle(math.inf, lambda key: key[0] == ended)
            self._asked += 1
            mine = self._asked
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._answered >= mine or self._ended, timeout)
            return self._answered >= mine or (self._ended and not self._buffer.pending)

    def stop(self, timeout: float = 5.0) -> None:
        """Write what there is, for at most so long. What is said later is not kept."""
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
                    self._answered = max(self._answered, asked)
                if stopping and (written or time.monotonic() >= self._until):
                    self._ended = True
                self._changed.notify_all()
                if self._ended:
                    left = self._buffer.pending
                    break
            pause = 0.0 if written else min(max(pause * 2, INITIAL_BACKOFF), MAX_BACKOFF)
        if left:
            log.warning("%d lines of attempts are lost: the store could not be reached", left)

    def _next_round(self, pause: float) -> tuple[int, bool]:
        """Wait until there is something to write, or for the pause after a failure.

        Returns the newest flush that this round will answer, and whether it is the last."""
        with self._changed:
            if pause:
                now = self._asked, self._stopping()
                left = max(0.0, self._until - time.monotonic())
                self._changed.wait_for(lambda: (self._asked, self._stopping()) != now, min(pause, left))
            else:
                told = True
                while not (self._buffer.pending or self._urgent()):
                    told = self._changed.wait(self._settings.log_flush if self._buffer.unfinished else None)
                    self._buffer.settle(time.time() - UNFINISHED)
                if told:
                    self._changed.wait_for(self._urgent, self._settings.log_flush)
            self._buffer.settle(math.inf if self._stopping() else time.time() - UNFINISHED)
            return self._asked, self._stopping()

    def _stopping(self) -> bool:
        return self._until < math.inf

    def _urgent(self) -> bool:
        return self._asked > self._answered or self._stopping() or self._buffer.size >= EARLY

    def _drain(self) -> bool:
        """Write all that waits now; what is said meanwhile waits for the next round."""
        with self._changed:
            left = self._buffer.pending
        while left > 0:
            with self._changed:
                lines = self._buffer.take(BATCH)
            if not lines:
                break
            left -= len(lines)
            self._show(lines)
            try:
                self._write(lines)
            except StoreError as error:
                with self._changed:
                    self._buffer.put_back(lines)
                self._rate_limited_log.failure("lines of attempts wait for the store: %s", error)
                return False
            self._rate_limited_log.recovered("lines of attempts are written again")
        return True

    def _write(self, lines: Sequence[Line[LogKey]]) -> None:
        try:
            self._store.append_logs([_row(line) for line in lines])
        except Exception as error:
            if isinstance(error, StoreError) and not isinstance(error, StoreRejected):
                raise
            if len(lines) == 1:
                log.error("the store refuses a line of run %s: %s", lines[0].log.key[0], error)
                return
            half = len(lines) // 2
            self._write(lines[:half])
            self._write(lines[half:])

    def _show(self, lines: Sequence[Line[LogKey]]) -> None:
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
