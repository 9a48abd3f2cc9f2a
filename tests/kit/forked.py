"""``subprocess.Popen`` for Python programs that are forked off a fork server instead of started anew."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from tests.kit import fork_server

SOURCES = Path(__file__).parents[2] / "src"
AT_START = ("PYTHON", "_TYPER", "LANG", "LC_", "TERM", "FORCE_COLOR", "GITHUB_ACTIONS")
"""How names of the environment begin that are read once, when a program starts or a module is imported."""

PATIENCE = 120.0
"""Seconds that the imports of the fork server may take on a machine that is very busy."""


class ForkServer:
    """The process that programs are forked off. It ends with this one, which holds the other end of its socket."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.settimeout(PATIENCE)
        self._lock = threading.Lock()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TURNOUT_", "NO_COLOR"))}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, fork_server.__file__, str(theirs.fileno())],
                env={**kept, "PYTHONPATH": str(SOURCES), "PYTHONIOENCODING": "utf-8"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    def fork(self, request: fork_server.Request, files: Sequence[int]) -> int:
        """The id of the new process. ``files``: its standard streams, and where its exit code is written."""
        with self._lock:
            socket.send_fds(self._control, [json.dumps(request).encode()], files)
            answer = self._control.recv(64)
        assert answer, "the fork server has died; what it said is above"
        return int(answer)


_servers: list[ForkServer] = []
_start = threading.Lock()


def _server() -> ForkServer:
    with _start:
        if not _servers:
            _servers.append(ForkServer())
        return _servers[0]


class Forked(subprocess.Popen[str]):
    """One process. Its parent is the fork server, which reports its exit code."""

    def __init__(  # pyright: ignore[reportMissingSuperCall]
        self,
        arguments: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: int | IO[Any] = subprocess.DEVNULL,
        stdout: int | IO[Any] = subprocess.PIPE,
        stderr: int | IO[Any] = subprocess.PIPE,
        start_new_session: bool = False,
    ) -> None:
        """``arguments`` are those behind ``python``: a program's file or ``-m`` with a module, and what these get."""
        self.args = arguments
        self.returncode: int | None = None
        self.stdin = None
        self._lock = threading.Lock()
        environment = dict(os.environ if env is None else env)
        request = fork_server.Request(list(arguments), str(cwd or Path.cwd()), environment, start_new_session)
        with ExitStack() as theirs:
            self.stdout, output = _stream(stdout, theirs)
            self.stderr, errors = (None, output) if stderr == subprocess.STDOUT else _stream(stderr, theirs)
            _, given = _stream(stdin, theirs)
            self._report, report = os.pipe()
            theirs.callback(os.close, report)
            self.pid = _server().fork(request, [given, output, errors, report])

    def poll(self) -> int | None:
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(list(self.args), timeout or 0.0)
        return code

    def _ended(self, timeout: float | None) -> int | None:
        """The exit code, None if the process has not ended within that time."""
        with self._lock:
            if self.returncode is None and select.select([self._report], [], [], timeout)[0]:
                self.returncode = int(os.read(self._report, 64) or -signal.SIGKILL)
                os.close(self._report)
            return self.returncode

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it has ended since
                os.kill(self.pid, sig)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def communicate(self, input: str | None = None, timeout: float | None = None) -> tuple[str, str]:
        """All that it writes until it ends."""
        assert input is None, "its standard input is a file"
        deadline = None if timeout is None else time.monotonic() + timeout
        texts = ["", ""]

        def read(number: int, stream: IO[str] | None) -> None:
            if stream is not None and not stream.closed:
                with stream:
                    texts[number] = stream.read()

        readers = [
            threading.Thread(target=read, args=(number, stream), daemon=True)
            for number, stream in enumerate((self.stdout, self.stderr))
        ]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
            if reader.is_alive():
                raise subprocess.TimeoutExpired(list(self.args), timeout or 0.0)
        self.wait(None if deadline is None else max(0.0, deadline - time.monotonic()))
        return texts[0], texts[1]

    def __del__(self) -> None:
        """It ends with its test or not at all: the fork server waits for it."""


def _stream(kind: int | IO[Any], theirs: ExitStack) -> tuple[IO[str] | None, int]:
    """What is read here, and the file that the process gets; what is theirs alone is closed here."""
    if not isinstance(kind, int):
        return None, kind.fileno()
    if kind == subprocess.PIPE:
        mine, other = os.pipe()
        theirs.callback(os.close, other)
        return os.fdopen(mine, encoding="utf-8"), other
    if kind == subprocess.DEVNULL:
        null = os.open(os.devnull, os.O_RDWR)
        theirs.callback(os.close, null)
        return None, null
    return None, kind


def run_forked(
    arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout: float, stdin: str = ""
) -> tuple[int, str, str]:
    """Runs a program to its end, whatever it leaves behind; returns the exit code and what was written until then."""
    with ExitStack() as stack:
        given, out, err = (stack.enter_context(TemporaryFile("w+", encoding="utf-8")) for _ in range(3))
        given.write(stdin)
        given.seek(0)
        process = Forked(arguments, cwd=cwd, env=env, stdin=given, stdout=out, stderr=err)
        try:
            code = process.wait(timeout)
        finally:
            process.kill()
        out.seek(0)
        err.seek(0)
        return code, out.read(), err.read()
