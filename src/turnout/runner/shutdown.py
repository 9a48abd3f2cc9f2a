"""What becomes of Runners that nobody closed when the program ends? They hand over, while threads may still be used."""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

log = logging.getLogger("turnout.runner")


class Closes(Protocol):
    def close(self) -> None: ...


_open: set[Closes] = set()


def close_at_exit(runner: Closes) -> None:
    """Close it when the program ends, unless that is done before."""
    _open.add(runner)


def closed(runner: Closes) -> None:
    _open.discard(runner)


def _leave() -> None:
    for runner in list(_open):
        try:
            runner.close()
        except Exception:
            log.exception("a Runner could not hand over at the end of the program; its lease will run out instead")


# By the time of ``atexit`` the interpreter's thread pools are shut, and handing over needs them. The hook that the
# pools themselves use runs earlier, last registered first; it is private, so there is a way without it.
import_module("concurrent.futures.thread")
_register: Callable[[Callable[[], None]], Any] = getattr(threading, "_register_atexit", atexit.register)
_register(_leave)
