"""Runs the commands of one attempt, one after the other, each under a supervisor."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import time
from typing import NamedTuple

from turnout.contracts.executor import Work
from turnout.errors import AttemptFenced, CommandFailed, CommandNotFound, ExecutorUnavailable
from turnout.executors.subprocess_executor import RunningAttempt, until_done
from turnout.model.shell import Captured, Command
from turnout.runtime.supervised_process import Output, SupervisedProcess, command_child

FAST_START = ("-I", "-S")
"""The supervisor of a command needs only the standard library."""
OUT_OF_PROCESSES = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE})
"""Errors of a start that are not the command's fault."""


class Finished(NamedTuple):
    """A command that was run for its output."""

    code: int
    stdout: str
    stderr: str


class Commands:
    """Runs commands for an attempt. The first one begins within the attempt's time to begin, or not at all."""

    def __init__(self, attempt: RunningAttempt, work: Work, grace: float, stop_signal: str = "") -> None:
        self._attempt = attempt
        self._work = work
        self._grace = grace
        self._signal = signal.Signals[stop_signal] if stop_signal else signal.SIGTERM
        self._begun = False

    def begin(self) -> None:
        """Marks the attempt as begun without a command. Raises AttemptFenced if its time to begin is over."""
        if not self._begun:
            self._work.begin_by()
            self._mark_begun()
            self._attempt.settled.set()

    def _mark_begun(self) -> None:
        self._begun = True
        self._attempt.committed = True
        self._attempt.began(time.time(), self._work.timeout)

    async def run(self, command: Command, output: Output) -> int:
        """Returns the exit code of the command, negative for a signal. Raises CommandNotFound if there is no such
        program, CommandFailed if there is no such folder, AttemptFenced if it did not begin in time."""
        begin_by = None if self._begun else self._work.begin_by()
        first = not self._begun
        process = self._started(command, output, begin_by)
        if first:
            self._mark_begun()
            process.started.add_done_callback(lambda _: self._attempt.settled.set())
        try:
            await until_done(process.gone)
        except asyncio.CancelledError:
            grace = self._grace if self._attempt.kill_grace is None else self._attempt.kill_grace
            process.stop(grace, self._signal)
            await until_done(process.gone)
            raise
        if process.late:
            self._attempt.started_at = None
            raise AttemptFenced("its time to begin was over: another executor may have it by now")
        if process.failure is not None:
            program = command.argv[0]
            raise CommandNotFound(f"{program!r} cannot be run: {process.failure.strerror}", command=program)
        return os.waitstatus_to_exitcode(process.ended.result())

    async def output_of(self, command: Command, limit: int) -> Finished:
        """Runs a command for its output, of which the end is kept. Nothing of it is logged."""
        captured = {stream: Captured(limit) for stream in ("stdout", "stderr")}
        code = await self.run(command, lambda stream, data: captured[stream].feed(data))
        return Finished(code, captured["stdout"].close().text, captured["stderr"].close().text)

    def _started(self, command: Command, output: Output, begin_by: float | None) -> SupervisedProcess:
        try:
            return SupervisedProcess(
                command_child(command.argv, begin_by),
                output=output,
                grace=self._grace,
                env=command.env,
                cwd=command.cwd,
                flags=FAST_START,
            )
        except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
            raise CommandFailed(
                f"it cannot run in {command.cwd!r}: {error.strerror}", code="bad_working_dir", folder=command.cwd
            ) from error
        except OSError as error:
            if error.errno == errno.E2BIG:
                raise CommandFailed(
                    "its variables and arguments are longer than the system allows: pass large values in files",
                    code="command_too_long",
                ) from error
            if error.errno not in OUT_OF_PROCESSES:
                raise
            raise ExecutorUnavailable(f"no process could be started: {error.strerror}") from error
