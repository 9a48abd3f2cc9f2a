"""Hands what bodies of this process print and log to the ``Output`` of their attempt.

While capturing is on, ``sys.stdout`` and ``sys.stderr`` are stand-ins that look up the current task when something is
written, and only then: a body that says nothing costs nothing. What no task says passes through untouched.

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
"""Set while something is passed on that its attempt has already, a record to handlers or text to the real stream: if it
comes by here once more on its way, it is not said once more."""


class CapturingStream:
    """In the place of ``sys.stdout`` or ``sys.stderr``; whatever is not writing is left to the real one."""

    def __init__(self, real: TextIO, stream: Stream, late: bool = False) -> None:
        self._real = real
        self._stream = str(stream.value)
        self._late = late
        """The real one was installed while capturing was on, by code that may read what is written to it."""

    def write(self, text: str) -> int:
        said = _recorded.get()
        info = said or current_task()
        output = None if info is None else info.output
        if info is None or output is None or not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            return self._real.write(text)
        if said is None:
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
    """What an attempt that runs elsewhere has said: kept, and shown here if it is to be, as ``shown`` where that is not
    the same. Not called within a body."""
    if output is None:
        return
    output(event, stream, text)
    if output.echo and stream in (Stream.STDOUT, Stream.STDERR):
        target: TextIO | None = getattr(sys, stream)
        if target is not None:
            target.write(text if shown is None else shown)


# -- putting it in place ---------------------------------------------------------------------------------------------
# The streams and the loggers belong to the whole process, so this does too: the first to capture puts the stand-ins in
# place, the last to end takes them out, unless other code has replaced them.
_lock = threading.Lock()
_captures = 0
_hooked = False
_real_call = logging.Logger.callHandlers


def capture() -> Callable[[], None]:
    """Capture from now on; returns the function that ends it."""
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
    # A formatter leaves its texts on the record, for handlers that may want them otherwise.
    own = copy.copy(record)
    try:
        return (_format_own if own.name.startswith(f"{TASK_LOGGER}.") else _format)(own)
    except Exception as error:
        return f"{own.levelname} {own.name}: a record whose text cannot be had: {type(error).__qualname__} was raised"
