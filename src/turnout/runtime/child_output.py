"""How does what a body says in a child get to its parent? As messages, in the order in which it was said.

What Python code prints and logs comes this way. What comes by the file descriptors, from C code and from processes that
the body has started, the parent reads itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from turnout.model.events import TaskReadyEvent
from turnout.model.info import TaskInfo
from turnout.model.logs import Stream, storable
from turnout.runtime.messages import Said

PIECE = 65_536
"""Characters of one message, at most."""


class ChildOutput:
    """The ``Output`` of bodies in a child. Printed text is gathered until its line ends."""

    echo = False
    """The parent shows it, if it is to be shown."""

    def __init__(self, send: Callable[[Said], None]) -> None:
        self._send = send
        self._begun = {Stream.STDOUT.value: "", Stream.STDERR.value: ""}
        self._lock = threading.Lock()

    def __call__(self, source: TaskReadyEvent | TaskInfo, stream: str, text: str) -> None:
        stream, text = str(stream), storable(text)
        if stream not in self._begun:
            self._send(Said(stream, text))
            return
        with self._lock:
            whole, end, begun = (self._begun[stream] + text).rpartition("\n")
            if len(begun) > PIECE:
                whole, end, begun = whole + end + begun, "", ""
            self._begun[stream] = begun
        self._pieces(stream, whole + end)

    def flush(self) -> None:
        """Say the lines that were begun."""
        with self._lock:
            begun, self._begun = self._begun, dict.fromkeys(self._begun, "")
        for stream, text in begun.items():
            self._pieces(stream, text)

    def _pieces(self, stream: str, text: str) -> None:
        for start in range(0, len(text), PIECE):
            self._send(Said(stream, text[start : start + PIECE]))
