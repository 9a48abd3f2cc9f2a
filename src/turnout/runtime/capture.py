"""Hands what bodies of this process print and log to the ``Output`` of their attempt.

While capturing is on, ``sys.stdout`` and ``sys.stderr`` are replaced by streams that look up the current task when
something is written, and only then: a body that writes nothing costs nothing. Text of no task passes through unchanged.

Records of ``logging`` are taken where loggers hand them to their handlers. A handler on the root logger would not do:
``logging.basicConfig()`` does nothing once there is one, and warnings no longer appear by themselves.
"""

from __future__ import annotations

import copy
import logging
import sys
import threading
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any, TextIO, cast

from turnout.model.events import TaskReadyEvent
from turnout.model.info import TASK_LOGGER, TASK_OF_RECORD, Output, TaskInfo, current_task
from turnout.model.logs import Stream

_format = logging.Formatter("%(levelname)s %(name)s: %(message)s").format
_format_own = logging.Formatter("%(levelname)s: %(message)s").format
_recorded: ContextVar[TaskInfo | None] = ContextVar("turnout_recorded", default=None)
"""Set while output that its attempt already has is passed on, a record to handlers or text to the real stream: if it
passes here again on its way, it is not captured twice."""


class _LastWritten(threading.local):
    """The stream that this thread wrote to last.

    One ``print`` writes several times and, in CPython 3.11, holds no reference to ``sys.stdout`` meanwhile. A stream
    that another thread replaces between two of the writes must outlive the call, or the interpreter crashes."""

    stream: CapturingStream | None = None


_last_written = _LastWritten()


class CapturingStream:
    """Replaces ``sys.stdout`` or ``sys.stderr``; everything but writing is left to the real stream."""

    def __init__(self, real: TextIO, stream: Stream, late: bool = False) -> None:
        self._real = real
        self._stream = str(stream.value)
        self._late = late
        """True if the real stream was installed while capturing was on, by code that may read what is written to it."""

    def write(self, text: str) -> int:
        try:
            return self._write(text)
        finally:
            _last_written.stream = self

    def _write(self, text: str) -> int:
        recorded = _recorded.get()
        info = recorded or current_task()
        output = None if info is None else info.output
        if info is None or output is None or not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            return self._real.write(text)
        if recorded is None:
            output(info, self._stream, text)
        if not (output.echo or self._late):
            return len(text)
        token = _recorded.set(info)
        try:
            return self._real.write(text)
        finally:
            _recorded.reset(token)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        if name == "_real":  # a copy that has none yet
            raise AttributeError(name)
        return getattr(self._real, name)


def relay(output: Output | None, event: TaskReadyEvent, stream: str, text: str, shown: str | None = None) -> None:
    """Stores the output of an attempt that runs in another process, and shows it here if ``output.echo``; as ``shown``
    if that is given. Not called within a body."""
    if output is None:
        return
    output(event, stream, text)
    if output.echo and stream in (Stream.STDOUT, Stream.STDERR):
        target: TextIO | None = getattr(sys, stream)
        if target is not None:
            target.write(text if shown is None else shown)


# -- installation ----------------------------------------------------------------------------------------------------
# Streams and loggers belong to the process, so capturing does too: the first capture replaces them, and the end of the
# last one restores them, unless other code has replaced them.
_lock = threading.Lock()
_captures = 0
_hooked = False
_real_call = logging.Logger.callHandlers


def capture() -> Callable[[], None]:
    """Starts capturing; returns the function that ends it."""
    global _captures  # noqa: PLW0603
    with _lock:
        _captures += 1
        _put_in_place()
    ended = threading.Event()

    def end() -> None:
        global _captures  # noqa: PLW0603
        with _lock:
            if not ended.is_set():
                ended.set()
                _captures -= 1
                if _captures == 0:
                    _take_out()

    return end


def stay_in_place() -> None:
    """Called before a body: other code may have replaced the streams, as pytest does from fixture to test."""
    if (type(sys.stdout) is not CapturingStream or type(sys.stderr) is not CapturingStream) and _captures:
        with _lock:
            if _captures:
                _stand_in(late=True)


def _stand_in(late: bool = False) -> None:
    for stream in (Stream.STDOUT, Stream.STDERR):
        real: TextIO | None = getattr(sys, stream)
        if real is not None and not isinstance(real, CapturingStream):  # None: a program without a console
            setattr(sys, stream, cast("TextIO", CapturingStream(real, stream, late)))


def _put_in_place() -> None:
    global _hooked, _real_call
    _stand_in()
    if not _hooked and logging.Logger.callHandlers is not _call_handlers:
        _hooked, _real_call = True, logging.Logger.callHandlers
        logging.Logger.callHandlers = _call_handlers
    own = logging.getLogger(TASK_LOGGER)
    if own.level == logging.NOTSET:
        own.setLevel(logging.INFO)


def _take_out() -> None:
    global _hooked
    for stream in (Stream.STDOUT, Stream.STDERR):
        found = getattr(sys, stream)
        if isinstance(found, CapturingStream):
            setattr(sys, stream, found.__dict__["_real"])
    if logging.Logger.callHandlers is _call_handlers:
        _hooked, logging.Logger.callHandlers = False, _real_call


def _call_handlers(self: logging.Logger, record: logging.LogRecord) -> None:
    info: TaskInfo | None = getattr(record, TASK_OF_RECORD, None) or current_task()
    if info is None or info.output is None or _recorded.get() is not None:
        return _real_call(self, record)
    info.output(info, Stream.LOG, _text(record))
    token = _recorded.set(info)
    try:
        _real_call(self, record)
    finally:
        _recorded.reset(token)


def _text(record: logging.LogRecord) -> str:
    # A formatter stores its texts on the record, and other handlers may format it otherwise.
    own = copy.copy(record)
    try:
        return (_format_own if own.name.startswith(f"{TASK_LOGGER}.") else _format)(own)
    except Exception as error:
        return f"{own.levelname} {own.name}: a record whose text cannot be had: {type(error).__qualname__} was raised"
