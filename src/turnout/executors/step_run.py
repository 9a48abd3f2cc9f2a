"""Runs one attempt of a step: its preconditions, its actions in order, its repetitions, and the result."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from turnout.contracts.executor import Work
from turnout.errors import CommandFailed, CommandNotFound, InputError, PrivateAddress, RequestFailed
from turnout.executors.command import Commands
from turnout.executors.private_folder import PrivateFolder
from turnout.executors.step_environment import StepEnvironment
from turnout.executors.step_requests import http_document, mail_document
from turnout.executors.step_streams import StepStreams
from turnout.executors.subprocess_executor import RunningAttempt
from turnout.model.deferral import Defer
from turnout.model.events import ErrorInfo, ExecutionResult
from turnout.model.interpolation import as_text
from turnout.model.reasons import CONTINUED
from turnout.model.secret_mask import Masker
from turnout.model.shell import MAX_SHOWN_OUTPUT, Captured, failure_message
from turnout.model.step import (
    MAIL_FAILURES,
    MAX_VARIABLE,
    REQUEST_FAILURES,
    Action,
    Check,
    Evaluation,
    Line,
    Mail,
    Program,
    Request,
    Script,
    StepSpec,
)
from turnout.model.step_outcome import (
    evaluated,
    holds,
    output_value,
    repeat_delay,
    repeats,
    tolerates,
    unmet_reason,
)
from turnout.model.step_values import masked_value
from turnout.runtime.outcome import describe, returned_value
from turnout.runtime.supervised_process import HTTP_REQUEST, MAIL_MESSAGE

EXECUTIONS = "executions"
"""The key under which a step that repeats itself saves how often it was executed."""
PERMANENT = ("bad_working_dir", "command_too_long", "bad_dotenv", "bad_output_file", "smtp_not_configured")
"""Codes of failures that another attempt would not change."""


class StepRun:
    """One attempt of a step on this machine."""

    def __init__(
        self,
        attempt: RunningAttempt,
        work: Work,
        step: StepSpec,
        commands: Commands,
        about: Mapping[str, str],
        max_output_bytes: int,
    ) -> None:
        self._attempt = attempt
        self._work = work
        self._step = step
        self._commands = commands
        self._limit = max_output_bytes
        self._environment = StepEnvironment(work, step, commands, about)
        self._extra: dict[str, Any] = {}
        """Further fields of the result, such as the status of a response."""

    async def run(self) -> ExecutionResult:
        try:
            await self._environment.build()
            for check in self._step.preconditions:
                if not await self._holds(check):
                    self._commands.begin()
                    return ExecutionResult.skipped(self._work.event, self._masked(unmet_reason(check)))
            return await self._executed()
        except CommandFailed as error:
            final = isinstance(error, CommandNotFound | PrivateAddress) or error.code in PERMANENT
            return ExecutionResult.failed(self._work.event, self._described(error), retryable=not final)
        except InputError as error:
            return ExecutionResult.failed(self._work.event, self._described(error), retryable=False)

    async def _holds(self, check: Check) -> bool:
        if check.command is None:
            # The search for a pattern in a long text must not keep the attempts beside this one waiting.
            return await asyncio.to_thread(holds, check, text=await self._environment.fill(check.text))
        line = await self._environment.fill(check.command.text)
        done = await self._commands.output_of(self._environment.shell(line), MAX_VARIABLE)
        return await asyncio.to_thread(holds, check, code=done.code, text=done.stdout)

    # -- actions ------------------------------------------------------------------------------------------------------
    async def _executed(self) -> ExecutionResult:
        step = self._step
        if not step.actions or isinstance(step.actions[0], Evaluation):
            self._commands.begin()
            values = {**self._environment.variables, **self._environment.values}
            found = [evaluated(each, values) for each in step.actions if isinstance(each, Evaluation)]
            return self._returned(found[0] if found else None)
        files = {"stdout": step.stdout, "stderr": step.stderr}
        paths = {
            stream: self._environment.path(await self._environment.fill(text))
            for stream, text in files.items()
            if text is not None
        }
        streams = StepStreams(self._work, self._new_masker, step.max_capture, paths)
        code = 0
        try:
            for action in step.actions:
                code = await self._run_action(action, streams)
                streams.end_command()
                if code:
                    break
        finally:
            stdout, stderr = streams.close()
        return await self._judged(code, stdout, stderr)

    async def _run_action(self, action: Action, streams: StepStreams) -> int:
        environment, step = self._environment, self._step
        match action:
            case Line(text):
                command = environment.shell(await environment.fill(text))
                return await self._commands.run(command, streams.feed)
            case Program(words):
                argv = [await environment.fill(word) for word in words]
                return await self._commands.run(environment.command(argv), streams.feed)
            case Script(text, interpreter):
                script = await environment.fill(text)
                words = [await environment.fill(word) for word in interpreter]
                named = [as_text(environment.values.get(name)) for name in step.positional]
                with PrivateFolder() as folder:
                    file = folder.write("script", script, 0o700)
                    argv = [*(words or _first_line(script) or step.shell), file, *named]
                    return await self._commands.run(environment.command(argv), streams.feed)
            case Request():
                document = await http_document(action, environment, contained=step.contained)
                return await self._send(HTTP_REQUEST, document, streams)
            case Mail():
                return await self._send(MAIL_MESSAGE, await mail_document(action, environment), streams)
            case Evaluation():
                raise AssertionError("an evaluation is the only action of its step")

    async def _send(self, program: str, document: dict[str, Any], streams: StepStreams) -> int:
        """Runs the program that sends a request or a mail."""
        with PrivateFolder() as folder:
            folder.write("request.json", msgspec.json.encode(document).decode(), 0o600)
            argv = [sys.executable, "-I", program, folder.path]
            code = await self._commands.run(self._environment.command(argv), streams.feed)
            response = folder.read("response.json")
            found = msgspec.json.decode(response) if response else {}
            if "refused" in found:
                raise PrivateAddress(f"{found['refused']} is a private address, which this workflow may not reach")
            if "status" in found:
                self._extra["status"] = found["status"]
            return code

    # -- the end ------------------------------------------------------------------------------------------------------
    async def _judged(self, code: int, stdout: Captured, stderr: Captured) -> ExecutionResult:
        step, event = self._step, self._work.event
        if step.repeat is not None:
            executions = self._executions() + 1
            if step.output is not None and step.repeat.check is not None and not code:
                await self._environment.set_output(step.output.name, output_value(step.output, stdout))
            met = None if step.repeat.check is None else await self._holds(step.repeat.check)
            if repeats(step.repeat, code, met, executions):
                later = Defer(seconds=repeat_delay(step.repeat, executions), save={EXECUTIONS: executions})
                return ExecutionResult.deferred(event, later, **self._times())
        if code:
            return await self._failed(code, stdout, stderr)
        return self._completed(code, stdout, stderr)

    async def _failed(self, code: int, stdout: Captured, stderr: Captured) -> ExecutionResult:
        step, event = self._step, self._work.event
        retryable = not step.retry_codes or code in step.retry_codes
        error_code = _failures(step).get(code)
        last = event.attempt >= event.max_attempts or not retryable
        tolerance = step.tolerance if last else None
        if tolerance is not None and await asyncio.to_thread(tolerates, tolerance, code, stdout.text):
            if tolerance.mark_success:
                return self._completed(code, stdout, stderr)
            error_code = CONTINUED
        error = _failure(step, code, stdout, stderr, error_code)
        return ExecutionResult.failed(event, self._described(error), retryable=retryable, **self._times())

    def _completed(self, code: int, stdout: Captured, stderr: Captured) -> ExecutionResult:
        step = self._step
        value: dict[str, Any] = {"exit_code": code, **self._extra}
        shown = {"stdout": stdout, "stderr": stderr}
        value |= {stream: shown[stream].shown().rstrip("\n") for stream in step.keeps}
        if step.output is not None:
            output = output_value(step.output, stdout)
            if len(as_text(output).encode()) > MAX_VARIABLE:
                raise CommandFailed(
                    f"its output has more than {MAX_VARIABLE:,} bytes, too many for a variable: write it to a file",
                    code="output_too_large",
                )
            value["output"] = output
        return self._returned(value.get("output") if step.bare else value)

    def _returned(self, value: Any) -> ExecutionResult:
        """Returns the result. It is stored, and what was decoded or put together may have a secret in it that the
        output had in another form."""
        times, shown = self._times(), masked_value(value, self._masked)
        return returned_value(self._work.event, shown, times["started_at"], times["finished_at"], self._limit)

    def _times(self) -> dict[str, float]:
        now = time.time()
        return {"started_at": self._attempt.started_at or now, "finished_at": now}

    def _executions(self) -> int:
        saved = self._work.saved
        found = saved.get(EXECUTIONS) if isinstance(saved, dict) else None
        return found if isinstance(found, int) else 0

    # -- secrets ------------------------------------------------------------------------------------------------------
    def _new_masker(self) -> Masker:
        return Masker([self._environment.variables[each.name] for each in self._step.secrets])

    def _masked(self, text: str) -> str:
        return self._environment.masker.text(text)

    def _described(self, error: BaseException) -> ErrorInfo:
        info = describe(error)
        return msgspec.structs.replace(info, message=self._masked(info.message), traceback=self._masked(info.traceback))


def _failure(step: StepSpec, code: int, stdout: Captured, stderr: Captured, error_code: str | None) -> CommandFailed:
    """Returns the error of a failed step. Of a request or a mail, its own program has written what happened."""
    shown = stderr.text.strip()[-MAX_SHOWN_OUTPUT:]
    if code in _failures(step) and shown:
        return RequestFailed(shown, code=error_code, exit_code=code)
    return CommandFailed(failure_message(code, stdout, stderr), code=error_code, exit_code=code)


def _failures(step: StepSpec) -> Mapping[int, str]:
    """Returns the codes of errors by exit code, of a step that is a request or a mail."""
    match step.actions:
        case (Request(), *_):
            return REQUEST_FAILURES
        case (Mail(), *_):
            return MAIL_FAILURES
        case _:
            return {}


def _first_line(script: str) -> list[str]:
    """Returns the interpreter that the first line of a script names, as the kernel reads it; empty if there is none."""
    line, _, _ = script.partition("\n")
    return line.removeprefix("#!").split(None, 1) if line.startswith("#!") else []
