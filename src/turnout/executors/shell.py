"""Runs commands, each in a process of its own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import msgspec

from turnout.contracts.executor import Work
from turnout.errors import CommandFailed, CommandNotFound
from turnout.executors.command import Commands
from turnout.executors.step_run import StepRun
from turnout.executors.subprocess_executor import RunningAttempt, SubprocessExecutor
from turnout.model.durations import Duration
from turnout.model.events import ExecutionResult
from turnout.model.shell import Captured, Command, ShellSpec, outcome, render, retryable
from turnout.model.values import MAX_BYTES
from turnout.runtime.capture import relay
from turnout.runtime.outcome import describe, returned_value
from turnout.runtime.supervised_process import LineSplitter
from turnout.runtime.trace_context import TRACEPARENT


class ShellExecutor(SubprocessExecutor):
    """Runs shell tasks and steps. What a command leaves in the background is ended with it."""

    kinds: frozenset[str] = frozenset({"shell"})

    def __init__(
        self,
        commands: int = 32,
        *,
        grace: Duration = 5.0,
        name: str = "shell",
        max_output_bytes: int = MAX_BYTES,
        in_worker: bool = False,
    ) -> None:
        super().__init__(name, commands, grace, max_output_bytes)
        self._in_worker = in_worker
        """True: steps of uploaded definitions are not restricted."""

    async def _run(self, attempt: RunningAttempt, work: Work) -> ExecutionResult:
        step = work.task.body.step
        if step is not None:
            commands = Commands(attempt, work, self.grace, step.stop_signal)
            if self._in_worker and step.contained:
                step = msgspec.structs.replace(step, contained=False)
            return await StepRun(attempt, work, step, commands, _about(work), self._max_output_bytes).run()
        spec = work.task.body.shell
        assert spec is not None, "a shell body has its command"
        return await self._run_command(attempt, work, spec)

    async def _run_command(self, attempt: RunningAttempt, work: Work, spec: ShellSpec) -> ExecutionResult:
        rendered = render(spec, work.kwargs)
        captured = {stream: Captured(spec.max_capture) for stream in ("stdout", "stderr")}
        lines = {stream: LineSplitter(_relay_to(work, stream)) for stream in captured}

        def output(stream: str, data: bytes) -> None:
            captured[stream].feed(data)
            lines[stream].feed(data)

        command = Command(rendered.argv, {**os.environ, **_about(work), **rendered.env}, rendered.cwd)
        try:
            code = await Commands(attempt, work, self.grace).run(command, output)
        except CommandNotFound as error:
            return ExecutionResult.failed(attempt.event, describe(error), retryable=False)
        except CommandFailed as error:
            return ExecutionResult.failed(attempt.event, error.message, retryable=False)
        finally:
            for each in lines.values():
                each.flush()
        return self._result(attempt, work, spec, code, captured)

    def _result(
        self, attempt: RunningAttempt, work: Work, spec: ShellSpec, code: int, captured: dict[str, Captured]
    ) -> ExecutionResult:
        event, finished = attempt.event, time.time()
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
    about = {
        "TURNOUT_RUN_ID": event.run_id,
        "TURNOUT_TASK_NAME": event.task_name,
        "TURNOUT_ATTEMPT": str(event.number),
        # Always there: an orchestrator that is itself started by an item must not hand down that one's number.
        "TURNOUT_INDEX": "" if work.index is None else str(work.index),
        "TURNOUT_IDEMPOTENCY_KEY": work.idempotency_key,
        "TURNOUT_TOKEN": work.token,
    }
    return {**about, TRACEPARENT: work.traceparent} if work.traceparent else about
