"""Starts, watches and ends a process with all that it starts, through its supervisor."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, TypeVar

from turnout.model.shell import signal_name
from turnout.runtime import supervisor

Output: TypeAlias = Callable[[str, bytes], None]
"""Takes the name of the stream, ``stdout`` or ``stderr``, and what was written to it."""

T = TypeVar("T")

PIPE = 65_536
# The compiled file, if there is one: the interpreter compiles a program that it is given as source each time.
_PROGRAM = supervisor.__cached__ if os.path.exists(supervisor.__cached__ or "") else supervisor.__file__
HTTP_REQUEST = str(Path(supervisor.__file__).with_name("http_request.py"))
MAIL_MESSAGE = str(Path(supervisor.__file__).with_name("mail_message.py"))
"""The program that sends a request, run by its path like the supervisor."""
MAX_DRAINED = 16
"""Reads of one stream in a row: together they take more than a pipe holds, so all that was written before."""


class SupervisedProcess:
    """A child under its supervisor, used on one event loop, whose thread must live as long as the child: on Linux
    the supervisor ends when the thread that started it does.

    ``started`` brings the child's process id, ``ended`` its exit status (``failure`` says that there is no such
    command), ``gone`` is done when the child and all that it started are no more, and their output was read.
    """

    def __init__(
        self,
        child: Sequence[str],
        *,
        output: Output,
        grace: float,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        pass_fds: Sequence[int] = (),
        flags: Sequence[str] = (),
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.started: asyncio.Future[int] = self._loop.create_future()
        self.ended: asyncio.Future[int] = self._loop.create_future()
        self.gone: asyncio.Future[None] = self._loop.create_future()
        self.failure: OSError | None = None
        self.late = False
        """True if the command has not begun because its time to begin was over."""
        self._output = output
        self._received = b""
        self._streams: dict[str, int] = {}
        self._control, theirs = socket.socketpair()
        ends: list[int] = []
        try:
            for stream in ("stdout", "stderr"):
                self._streams[stream], end = os.pipe()
                ends.append(end)
            self._process = subprocess.Popen(
                [sys.executable, *flags, _PROGRAM, str(theirs.fileno()), str(grace), *child],
                stdin=subprocess.DEVNULL,
                stdout=ends[0],
                stderr=ends[1],
                env=env,
                cwd=cwd,
                pass_fds=(theirs.fileno(), *pass_fds),
                start_new_session=True,
            )
        except BaseException:
            self._control.close()
            for reader in self._streams.values():
                os.close(reader)
            raise
        finally:
            theirs.close()
            for end in ends:
                os.close(end)
        self._control.setblocking(False)
        self._loop.add_reader(self._control.fileno(), self._listen)
        for stream, reader in self._streams.items():
            os.set_blocking(reader, False)
            self._loop.add_reader(reader, self._read, stream)

    def stop(self, grace: float, number: int = signal.SIGTERM) -> None:
        """Sends the signal to the child and all below it, and SIGKILL to what is left after ``grace`` seconds."""
        with contextlib.suppress(OSError):
            self._control.send(f"stop {max(grace, 0.0)} {int(number)}\n".encode())

    def drain(self) -> None:
        """Hands on all output that was written until now."""
        for stream in tuple(self._streams):
            for _ in range(MAX_DRAINED):
                if not self._read(stream):
                    break

    def _read(self, stream: str) -> bool:
        reader = self._streams.get(stream)
        if reader is None:
            return False
        try:
            data = os.read(reader, PIPE)
        except BlockingIOError:
            return False
        if data:
            self._output(stream, data)
        else:
            self._close(stream)
        return bool(data)

    def _close(self, stream: str) -> None:
        reader = self._streams.pop(stream)
        self._loop.remove_reader(reader)
        os.close(reader)

    def _listen(self) -> None:
        try:
            more = self._control.recv(4096)
        except BlockingIOError:
            return
        except ConnectionError:
            more = b""
        *lines, self._received = (self._received + more).split(b"\n")
        for line in lines:
            word, *value = line.decode().split()
            match word:
                case "started":
                    _set(self.started, int(value[0]))
                case "failed":
                    self.failure = OSError(int(value[0]), os.strerror(int(value[0])))
                case "late":
                    self.late = True
                case "ended":
                    _set(self.ended, int(value[0]))
                case _:
                    pass
        if not more:
            self._on_exit()

    def _on_exit(self) -> None:
        """Called when the supervisor is gone. If it was killed, its child was too, with an unknown status."""
        self._loop.remove_reader(self._control.fileno())
        self._control.close()
        self.drain()
        for stream in tuple(self._streams):
            self._close(stream)
        self._process.wait()
        _set(self.started, 0)
        _set(self.ended, signal.SIGKILL)
        _set(self.gone, None)


MAX_LINE_LENGTH = 16_384
"""Characters; a longer line is handed on in pieces."""


class LineSplitter:
    """Calls ``emit(line)``, without its end, for each line that is complete, and in ``flush`` for what was begun."""

    def __init__(self, emit: Callable[[str], None]) -> None:
        self._emit = emit
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._begun = ""

    def feed(self, data: bytes) -> None:
        *complete, self._begun = (self._begun + self._decoder.decode(data)).split("\n")
        for line in complete:
            self._pieces(line.removesuffix("\r"))
        while len(self._begun) > MAX_LINE_LENGTH:
            self._emit(self._begun[:MAX_LINE_LENGTH])
            self._begun = self._begun[MAX_LINE_LENGTH:]

    def flush(self) -> None:
        rest = self._begun + self._decoder.decode(b"", final=True)
        self._decoder.reset()
        self._begun = ""
        if rest:
            self._pieces(rest)

    def _pieces(self, line: str) -> None:
        for start in range(0, max(len(line), 1), MAX_LINE_LENGTH):
            self._emit(line[start : start + MAX_LINE_LENGTH])


def command_child(argv: Sequence[str], begin_by: float | None) -> list[str]:
    """Returns the arguments of a supervisor whose child is this command, if it can begin before that moment."""
    return ["exec", "-" if begin_by is None else repr(begin_by), *argv]


def python_child(module: str, data: int) -> list[str]:
    """Returns the arguments of a supervisor whose child calls ``module.main(data)`` with this Turnout."""
    return ["python", str(data), str(Path(supervisor.__file__).parents[2]), module]


def how_it_ended(status: int) -> str:
    """Returns a waitpid status in words: ``was killed by SIGSEGV``, ``exited with code 1``."""
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return f"exited with code {code}"
    return f"was killed by {signal_name(-code)}"


def _set(future: asyncio.Future[T], value: T) -> None:
    if not future.done():
        future.set_result(value)
