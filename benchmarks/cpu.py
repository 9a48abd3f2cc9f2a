"""Measures the CPU time, user and system, of this process and of others, from ``/proc``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import psycopg

TICK = 1 / os.sysconf("SC_CLK_TCK")

Clock = Callable[[], float]
"""Seconds of CPU so far."""


class Spent:
    """The CPU seconds of each part between ``begin`` and ``end``."""

    def __init__(self, parts: Mapping[str, Clock | None]) -> None:
        self._parts = {name: clock for name, clock in parts.items() if clock is not None}
        self._began: dict[str, float] = {}

    def begin(self) -> None:
        self._began = {name: clock() for name, clock in self._parts.items()}

    def end(self) -> dict[str, float]:
        return {name: clock() - self._began[name] for name, clock in self._parts.items()}


def of_processes(pids: Iterable[int]) -> Clock | None:
    """Returns the clock of these processes; None where there is no ``/proc``."""
    chosen = list(pids)
    return (lambda: sum(map(_seconds, chosen))) if Path("/proc/self/stat").exists() else None


def of_postgres(url: str) -> Clock | None:
    """Returns the clock of a server on this machine, ended processes included; None if the server is elsewhere."""
    if not url.startswith("postgres") or not Path("/proc/self/stat").exists():
        return None
    with psycopg.connect(url) as connection:
        row = connection.execute("select pg_backend_pid(), inet_client_addr() = inet_server_addr()").fetchone()
        # Its process ends with the connection.
        if row is None or row[1] is False or not Path(f"/proc/{row[0]}").exists():
            return None
        server = int(_stat(row[0])[1])
    return lambda: _seconds(server, ended=True) + sum(map(_seconds, _children(server)))


def _children(parent: int) -> list[int]:
    pids = [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]
    return [pid for pid in pids if int(_stat(pid)[1]) == parent]


def _seconds(pid: int, ended: bool = False) -> float:
    """Returns the CPU time of a process; with ``ended``, that of its ended children too."""
    return TICK * sum(map(int, _stat(pid)[11 : 15 if ended else 13]))


def _stat(pid: int) -> list[str]:
    """The fields from the state on; of a process that is gone, zeros."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["0"] * 15
