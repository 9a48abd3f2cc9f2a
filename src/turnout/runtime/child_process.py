"""Runs jobs in a child process that is reused, one job at a time."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Callable

import msgspec

from turnout.contracts.executor import Work
from turnout.model.events import ExecutionResult, TaskReadyEvent
from turnout.model.info import Output
from turnout.runtime.capture import relay
from turnout.runtime.importable import MAIN, main_of
from turnout.runtime.messages import LENGTH, Began, BodyOutput, Entered, FromChild, Setting, decode_from_child, frame
from turnout.runtime.supervised_process import LineSplitter, SupervisedProcess, how_it_ended, python_child

START_LIMIT = 60.0
"""Seconds in which a child must have taken its job; starting an interpreter takes a tenth of one."""
FRAME_SLACK = 4


class Crash(Exception):
    """Raised when the child died while it ran its job; the text says how."""


class NotBegun(Exception):
    """Raised when the child died before it took the job: another child may take it."""


class ChildProcess:
    """One child and its supervisor, used on one event loop."""

    def __init__(self, module: str, *, grace: float, output_limit: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._first: bytes = frame(_setting(output_limit))
        self._most = output_limit * FRAME_SLACK + (1 << 20)
        self._heard = bytearray()
        self._event: TaskReadyEvent | None = None
        self._output: Output | None = None
        self._entered: Callable[[], None] = lambda: None
        self._began: asyncio.Future[float] | None = None
        self._answer: asyncio.Future[ExecutionResult] | None = None
        self._lines = {stream: LineSplitter(_line_handler(self._relay, stream)) for stream in ("stdout", "stderr")}
        self.jobs = 0
        self.begun_at: float | None = None
        """The time at which the child took its job, also if its result is no longer needed."""
        self._data, theirs = socket.socketpair()
        try:
            self._process = SupervisedProcess(
                python_child(module, theirs.fileno()),
                output=lambda stream, data: self._lines[stream].feed(data),
                grace=grace,
                pass_fds=(theirs.fileno(),),
                flags=_flags(),
            )
        except BaseException:
            self._data.close()
            raise
        finally:
            theirs.close()
        self._data.setblocking(False)
        self._loop.add_reader(self._data.fileno(), self._read)
        self._process.ended.add_done_callback(lambda _: self._died())

    @property
    def alive(self) -> bool:
        return not self._process.ended.done()

    @property
    def pid(self) -> int | None:
        started = self._process.started
        return started.result() if started.done() and self.alive else None

    @property
    def gone(self) -> asyncio.Future[None]:
        return self._process.gone

    async def run(
        self, work: Work, job: bytes, began: Callable[[float], None], entered: Callable[[], None]
    ) -> ExecutionResult:
        """Runs this job; ``began`` is called once the child has taken it, ``entered`` when its body is called. Raises
        NotBegun or Crash."""
        if not self.alive:
            raise NotBegun(how_it_ended(self._process.ended.result()))
        self._event, self._output, self._entered, self.begun_at = work.event, work.output, entered, None
        self._began, self._answer = self._loop.create_future(), self._loop.create_future()
        try:
            async with asyncio.timeout(START_LIMIT):
                await self._send(job)
                began(await self._began)
        except TimeoutError:
            self._answer.cancel()
            self.stop(0.0)
            raise Crash(f"its process was not ready within {START_LIMIT:g} s") from None
        result = await self._answer
        self.jobs += 1
        self._finish_output()
        self._event = None
        return result

    def stop(self, grace: float) -> None:
        """Ends the child and everything that it has started; ``gone`` is done when they have ended."""
        self._process.stop(grace)

    async def _send(self, job: bytes) -> None:
        try:
            await self._loop.sock_sendall(self._data, self._first + job)
            self._first = b""
        except OSError:
            # The child is dying; its supervisor reports how.
            await asyncio.wait({self._process.ended})

    def _read(self) -> None:
        try:
            while more := self._data.recv(1 << 18):
                self._heard += more
                self._take_frames()
        except BlockingIOError:
            return
        except (OSError, ValueError, msgspec.DecodeError):
            # A body has written to this socket; nothing that follows can be trusted.
            self.stop(0.0)
        self._loop.remove_reader(self._data.fileno())

    def _take_frames(self) -> None:
        heard = self._heard
        while len(heard) >= LENGTH.size:
            size = LENGTH.unpack_from(heard)[0]
            if size > self._most:
                raise ValueError("a frame that no child of ours sends")
            if len(heard) < LENGTH.size + size:
                return
            message = decode_from_child(bytes(heard[LENGTH.size : LENGTH.size + size]))
            del heard[: LENGTH.size + size]
            self._hear(message)

    def _hear(self, message: FromChild) -> None:
        if isinstance(message, Began):
            self.begun_at = message.at
            if self._began is not None and not self._began.done():
                self._began.set_result(message.at)
        elif isinstance(message, Entered):
            self._entered()
        elif isinstance(message, BodyOutput):
            self._relay(message.stream, message.text)
        elif self._answer is not None and not self._answer.done():
            self._answer.set_result(message.result)

    def _died(self) -> None:
        self._read()  # what it sent before
        status = self._process.ended.result()
        if self._began is not None and not self._began.done():
            self._began.set_exception(NotBegun(how_it_ended(status)))
        elif self._answer is not None and not self._answer.done():
            self._answer.set_exception(Crash(f"its process {how_it_ended(status)}"))
        self._loop.remove_reader(self._data.fileno())
        self._process.gone.add_done_callback(lambda _: self._close())

    def _close(self) -> None:
        self._finish_output()
        self._data.close()

    def _finish_output(self) -> None:
        self._process.drain()
        for lines in self._lines.values():
            lines.flush()

    def _relay(self, stream: str, text: str) -> None:
        if self._event is not None:
            relay(self._output, self._event, stream, text)


def _line_handler(handle: Callable[[str, str], None], stream: str) -> Callable[[str], None]:
    return lambda line: handle(stream, line + "\n")


def _setting(output_limit: int) -> Setting:
    name, file = main_of(sys.modules[MAIN])
    return Setting(
        path=[os.fspath(each) for each in sys.path],
        argv=list(sys.argv),
        cwd=os.getcwd(),
        main_name=name,
        main_file=os.path.abspath(file) if file else None,
        output_limit=output_limit,
        log_level=logging.getLogger().level,
    )


def _flags() -> list[str]:
    """Returns the flags of this interpreter that bodies could notice, and ``-P``: the supervisor adds no path of its
    own."""
    flags = ["-P", *("-O" for _ in range(sys.flags.optimize)), *(f"-W{each}" for each in sys.warnoptions)]
    return flags if not sys.flags.isolated else ["-I", *flags]
