"""Runs commands, each in a process of its own."""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections.abc import Callable, Mapping

from turnout.contracts.executor import Work
from turnout.errors import AttemptFenced, CommandFailed, CommandNotFound, ExecutorUnavailable
from turnout.executors.subprocess_executor import RunningAttempt, SubprocessExecutor, until_done
from turnout.model.durations import Duration
from turnout.model.events import ExecutionResult
from turnout.model.shell import Captured, ShellSpec, outcome, render, retryable
from turnout.model.values import MAX_BYTES
from turnout.runtime.capture import relay
from turnout.runtime.outcome import describe, returned_value
from turnout.runtime.supervised_process import LineSplitter, SupervisedProcess, command_child

FAST_START = ("-I", "-S")
"""The supervisor of a command needs only the standard library."""
OUT_OF_PROCESSES = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE})
"""Errors of a start that are not the command's fault."""


class ShellExecutor(SubprocessExecutor):
    """Runs shell tasks. What a command leaves in the background is ended with it."""

    kinds: frozenset[str] = frozenset({"shell"})

    def __init__(
        self, commands: int = 32, *, grace: Duration = 5.0, name: str = "shell", max_output_bytes: int = MAX_BYTES
    ) -> None:
        super().__init__(name, commands, grace, max_output_bytes)

    async def _run(self, attempt: RunningAttempt, work: Work) -> ExecutionResult:
        event, spec = attempt.event, work.task.body.shell
        assert spec is not None, "a shell body has its command"
        command = render(spec, work.kwargs)
        captured = {stream: Captured(spec.max_capture) for stream in ("stdout", "stderr")}
        lines = {stream: LineSplitter(_relay_to(work, stream)) for stream in captured}

        def output(stream: str, data: bytes) -> None:
            captured[stream].feed(data)
            lines[stream].feed(data)

        env = {**os.environ, **_about(work), **command.env}
        try:
            process = SupervisedProcess(
                command_child(command.argv, work.begin_by()),
                output=output,
                grace=self.grace,
                env=env,
                cwd=command.cwd,
                flags=FAST_START,
            )
        except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
            return ExecutionResult.failed(event, f"it cannot run in {command.cwd!r}: {error.strerror}", retryable=False)
        except OSError as error:
            if error.errno not in OUT_OF_PROCESSES:
                raise
            raise ExecutorUnavailable(f"no process could be started: {error.strerror}") from error
        attempt.committed = True
        process.started.add_done_callback(lambda _: attempt.settled.set())
        attempt.began(time.time(), work.timeout)
        try:
            await until_done(process.gone)
        except asyncio.CancelledError:
            process.stop(self.grace if attempt.kill_grace is None else attempt.kill_grace)
            await until_done(process.gone)
            raise
        finally:
            for each in lines.values():
                each.flush()
        return self._result(attempt, work, spec, process, captured, command.argv[0])

    def _result(
        self,
        attempt: RunningAttempt,
        work: Work,
        spec: ShellSpec,
        process: SupervisedProcess,
        captured: Mapping[str, Captured],
        program: str,
    ) -> ExecutionResult:
        event, finished = attempt.event, time.time()
        if process.late:
            attempt.started_at = None
            return ExecutionResult.returned(event, AttemptFenced.code)
        if process.failure is not None:
            error = CommandNotFound(f"{program!r} cannot be run: {process.failure.strerror}", command=program)
            return ExecutionResult.failed(event, describe(error), retryable=False)
        code = os.waitstatus_to_exitcode(process.ended.result())
        try:
            value = outcome(spec, code, captured["stdout"].close(), captured["stderr"].close())
        except CommandFailed as error:
            return ExecutionResult.failed(event, describe(error), retryable=retryable(spec, code))
        if work.context is not None:
            value = {**work.context, work.task.name: value}
        return returned_value(event, value, attempt.started_at or finished, finished, self._max_output_bytes)


def _relay_to(work: Work, stream: str) -> Callable[[str], None]:
    return lambda line: relay(work.output, work.event, stream, line + "\n")


def _about(work: Work) -> dict[str, str]:
    """Returns the environment variables that stand for the ``TaskInfo`` of a Python body."""
    event = work.event
    return {
        "TURNOUT_RUN_ID": event.run_id,
        "TURNOUT_TASK_NAME": event.task_name,
        "TURNOUT_ATTEMPT": str(event.number),
        # Always there: an orchestrator that is itself started by an item must not hand down that one's number.
        "TURNOUT_INDEX": "" if work.index is None else str(work.index),
        "TURNOUT_IDEMPOTENCY_KEY": work.idempotency_key,
        "TURNOUT_TOKEN": work.token,
    }
