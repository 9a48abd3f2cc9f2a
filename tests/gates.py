"""Signals between a test and the processes that it has started: who is there, who may go on, who is gone."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

PATIENCE = 60.0
"""Seconds after which a test gives up on a process; never a time that a passing test takes."""


class Gate:
    """Listens on the loopback interface. A process that comes says who it is, and holds its line for as long as it
    lives: the line's end tells that it is gone, however it died."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.settimeout(PATIENCE)
        self.port: int = self._server.getsockname()[1]
        self.lines: dict[str, socket.socket] = {}

    def arrived(self, count: int = 1) -> list[str]:
        """Wait for so many more processes; their names."""
        names: list[str] = []
        for _ in range(count):
            line, _ = self._server.accept()
            line.settimeout(PATIENCE)
            name = b""
            while not name.endswith(b"\n"):
                name += line.recv(64)
            names.append(name.decode().strip())
            self.lines[names[-1]] = line
        return names

    def open(self) -> None:
        """Let all that have arrived go on."""
        for line in self.lines.values():
            line.sendall(b"!")

    def gone(self, *names: str) -> None:
        """Wait until these processes have ended."""
        for name in names:
            assert self.lines[name].recv(1) == b"", f"{name} said something instead of ending"

    def __enter__(self) -> Gate:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for line in self.lines.values():
            line.close()
        self._server.close()


@contextmanager
def at_gate(port: int, name: str) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(f"{name}\n".encode())
        yield line


def pass_gate(port: int, name: str = "") -> str:
    """Come to the gate and wait until it is opened, or closed for good."""
    with at_gate(port, name or str(os.getpid())) as line:
        line.recv(1)
    return name
