"""A proxy before a TCP server, in a process of its own, for tests and benchmarks of slow and broken links."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import TracebackType

from psycopg.conninfo import conninfo_to_dict

ROOT = Path(__file__).resolve().parents[2]


class DelayingProxy:
    """Every message from the client arrives ``delay`` seconds later, so every round trip takes that much longer.

    The delay is latency only: connections do not wait for one another, and of messages sent one after the other each
    arrives its own delay after it was sent, in order. In a process of its own, it does not compete for the
    interpreter of the program that is measured.
    """

    def __init__(self, host: str, port: int, *, delay: float = 0.005) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.proxies.relay", host, str(port), str(delay)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.host, self.port = "127.0.0.1", int(self._answer())

    @classmethod
    def before(cls, url: str, *, delay: float = 0.005) -> DelayingProxy:
        """Before the PostgreSQL server of this URL."""
        parts = conninfo_to_dict(url)
        return cls(str(parts.get("host", "127.0.0.1")), int(parts.get("port") or 5432), delay=delay)

    def url(self, url: str) -> str:
        """The same database, through here."""
        parts = conninfo_to_dict(url)
        password = f":{parts['password']}" if parts.get("password") else ""
        return f"postgresql://{parts['user']}{password}@{self.host}:{self.port}/{parts['dbname']}"

    # -- trouble ------------------------------------------------------------------------------------------------
    def pause(self) -> None:
        """Nothing passes, in either direction; connections stay open. As a link that swallows everything."""
        self._tell("pause")

    def resume(self) -> None:
        """What was held back passes, in order."""
        self._tell("resume")

    def cut(self) -> None:
        """Break all connections, with whatever is on its way in them. New ones may be made."""
        self._tell("cut")

    def refuse(self) -> None:
        """Send away at once whoever connects from now on."""
        self._tell("refuse")

    def accept(self) -> None:
        self._tell("accept")

    def close(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait(10)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def __enter__(self) -> DelayingProxy:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def _tell(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the proxy has ended with {self._process.wait(10)}")
        return line
