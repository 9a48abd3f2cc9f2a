"""Waits until a file is written: the kernel tells it on Linux (inotify), elsewhere the wait is short."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import select
import sys
import threading

IN_MODIFY, IN_DELETE_SELF, IN_MOVE_SELF = 0x2, 0x400, 0x800
LENGTH = 4_096
"""Bytes of notices that are read at once; a notice of a file has 16."""


class FileWatch:
    """Waits for the next write to one file. One thread waits; any thread may end it, once and for all."""

    def __init__(self, path: str | None, *, poll: float, fallback: float) -> None:
        self._path = path
        self._poll = poll
        """Seconds of a wait without notices."""
        self._fallback = fallback
        """Seconds of a wait with notices, in case one is lost."""
        self._ended = threading.Event()
        self._closing = threading.Lock()
        self._notices: int | None = None
        self._end: int | None = None
        self._watched = -1
        if path is not None and hasattr(os, "eventfd"):
            with contextlib.suppress(OSError, AttributeError):
                self._notices = _checked(_libc().inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
                self._end = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def wait(self, *, settled: bool) -> bool:
        """Waits for a write, at most for the poll interval unless all earlier writes are ``settled``. Returns False
        once the watch has ended."""
        if not settled or self._notices is None or self._end is None or not self._is_watched(self._notices):
            return not self._ended.wait(self._poll)
        waiting = select.poll()
        waiting.register(self._notices, select.POLLIN)
        waiting.register(self._end, select.POLLIN)
        waiting.poll(1_000 * self._fallback)
        self._take(self._notices)
        return not self._ended.is_set()

    def end(self) -> None:
        """Ends the wait that is under way."""
        self._ended.set()
        with self._closing:
            if self._end is not None:
                os.eventfd_write(self._end, 1)

    def close(self) -> None:
        """Returns what it has of the system; called by the thread that waited."""
        with self._closing:
            for descriptor in (self._notices, self._end):
                if descriptor is not None:
                    os.close(descriptor)
            self._notices = self._end = None

    def _is_watched(self, notices: int) -> bool:
        """True if writes are noticed. A file that is not there yet, or was replaced, is looked for again."""
        if self._watched < 0:
            mask = IN_MODIFY | IN_DELETE_SELF | IN_MOVE_SELF
            with contextlib.suppress(OSError):
                self._watched = _checked(_libc().inotify_add_watch(notices, os.fsencode(self._path or ""), mask))
            return False  # what was written before is looked at once more
        return True

    def _take(self, notices: int) -> None:
        """Takes the notices that have come."""
        with contextlib.suppress(BlockingIOError):
            text = os.read(notices, LENGTH)
            masks = (int.from_bytes(text[at + 4 : at + 8], sys.byteorder) for at in range(0, len(text), 16))
            if any(mask & ~IN_MODIFY for mask in masks):
                self._watched = -1


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(found: int) -> int:
    if found < 0:
        raise OSError(ctypes.get_errno() or errno.EINVAL, "inotify")
    return found
