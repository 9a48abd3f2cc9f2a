"""Builds what a step sees on the machine that runs it: variables, values, secrets and the working directory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any

import msgspec

from turnout.contracts.executor import Work
from turnout.errors import CommandFailed, InvalidInput, SecretUnresolved
from turnout.executors.command import Commands
from turnout.model.dotenv import parse_dotenv
from turnout.model.interpolation import Text, as_text, commands_in, filled, references_in
from turnout.model.secret_mask import Masker
from turnout.model.shell import Command
from turnout.model.step import ITEM, ITEM_NAME, MAX_VARIABLE, OUTPUTS, PARAMS, STEPS, Secret, StepSpec
from turnout.model.variables import is_variable

MAX_SECRET = 64 * 1024
"""Bytes of a secret that is read from a file or a command."""
MAX_DOTENV = 1024 * 1024
"""Bytes of a dotenv file."""


class StepEnvironment:
    """The variables that processes of the step get, and the values that its texts refer to."""

    def __init__(self, work: Work, step: StepSpec, commands: Commands, about: Mapping[str, str]) -> None:
        self._work = work
        self._step = step
        self._commands = commands
        self.variables: dict[str, str] = {**about} if step.contained else {**os.environ, **about}
        self.values: dict[str, Any] = {}
        self.cwd: str | None = None
        self.masker = Masker(())

    async def build(self) -> None:
        """Resolves everything, in order: arguments, dotenv files, secrets, variables, the working directory."""
        step, arguments = self._step, self._work.kwargs
        self._set_all(_built_ins(self._work))
        self._set_all(arguments.get(PARAMS) or {})
        self._set_all(arguments.get(OUTPUTS) or {})
        if ITEM in arguments:
            self._set(ITEM_NAME, arguments[ITEM])
        for name, result in (arguments.get(STEPS) or {}).items():
            self.values[name] = result
        self.cwd = self._early_folder()
        for path in step.dotenv:
            self._set_all(await asyncio.to_thread(_dotenv, self._path(await self.fill(path))))
        secrets = [(each.name, await self._secret(each)) for each in step.secrets]
        self.masker = Masker([value for _, value in secrets])
        self._set_all(dict(secrets))
        for each in step.env:
            self._set(each.name, await self.fill(each.value))
        if step.working_dir is not None:
            self.cwd = os.path.expanduser(await self.fill(step.working_dir)) or None
        await self._set_generated()

    async def _set_generated(self) -> None:
        for each in self._step.variables:
            self._set(each.name, await self.fill(each.value))

    async def fill(self, text: Text) -> str:
        """Returns the text with the values of this machine."""
        outputs: list[str] = []
        for line in commands_in(text):
            done = await self._commands.output_of(self.shell(line), MAX_VARIABLE)
            if done.code:
                raise CommandFailed(
                    f"the command {line!r} in a text ended with exit code {done.code}: {done.stderr.strip()[-500:]}",
                    exit_code=done.code,
                )
            outputs.append(done.stdout)
        known = {**self.variables, **self.values}
        return filled(text, known, outputs)

    def shell(self, line: str) -> Command:
        """Returns the command that runs a line by the step's shell."""
        step = self._step
        named = [as_text(self.values.get(name)) for name in step.positional]
        argv = [*step.shell, step.shell_flag, line, *([os.path.basename(step.shell[0]), *named] if named else [])]
        return self.command(argv)

    def command(self, argv: list[str]) -> Command:
        # The variables of a contained step must not change how the program that makes its request starts.
        return Command(argv, dict(os.environ) if self._step.contained else self.variables, self.cwd)

    async def set_output(self, name: str, value: Any) -> None:
        """Sets the variable of the step's own output, for the condition of a repetition."""
        self._set(name, value)
        await self._set_generated()

    def path(self, path: str) -> str:
        """Returns the path of a file, relative to the working directory."""
        return self._path(path)

    def _path(self, path: str) -> str:
        return os.path.join(self.cwd or "", os.path.expanduser(path))

    def _early_folder(self) -> str | None:
        """Returns the folder that dotenv files are looked for in; None if it depends on variables of the file."""
        text = self._step.working_dir
        if text is None or commands_in(text):
            return None
        known = {**self.variables, **self.values}
        if any(each.name not in known for each in references_in(text)):
            return None
        return os.path.expanduser(filled(text, known)) or None

    def _set_all(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            self._set(name, value)

    def _set(self, name: str, value: Any) -> None:
        self.values[name] = value
        if not is_variable(name):
            return
        text = as_text(value)
        if "\x00" in text:
            raise InvalidInput(f"{name} holds a NUL character, which no variable can hold", field=name)
        if len(text.encode(errors="surrogateescape")) > MAX_VARIABLE:
            raise InvalidInput(
                f"{name} has more than {MAX_VARIABLE:,} bytes, too many for a variable: pass it in a file",
                code="variable_too_large",
                field=name,
            )
        self.variables[name] = text

    # -- secrets ----------------------------------------------------------------------------------------------------
    async def _secret(self, secret: Secret) -> str:
        key = await self.fill(secret.key) if secret.provider != "command" else ""
        match secret.provider:
            case "env":
                value, why = os.environ.get(key, ""), f"the variable {key!r} is not set on this machine"
            case "file":
                value, why = await asyncio.to_thread(_secret_file, self._path(key))
            case "command":
                [line] = [part for part in secret.key if isinstance(part, str)]
                done = await self._commands.output_of(self.shell(line), MAX_SECRET)
                # What the command wrote may be the secret, also if it failed.
                value, why = "" if done.code else done.stdout, f"its command ended with exit code {done.code}"
        value = value.strip("\r\n")
        if not value:
            # Variables of this beginning are Turnout's own, which no author has written.
            named = "" if secret.name.startswith("TURNOUT_") else f" {secret.name!r}"
            raise SecretUnresolved(f"the secret{named} cannot be read: {why}", secret=secret.name)
        return value


def _secret_file(path: str) -> tuple[str, str]:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read(MAX_SECRET), f"the file {path!r} is empty"
    except OSError as error:
        return "", f"the file {path!r}: {error.strerror}"


def _dotenv(path: str) -> dict[str, str]:
    """Returns the variables of the file; none if there is no such file."""
    try:
        with open(path, encoding="utf-8") as file:
            return parse_dotenv(file.read(MAX_DOTENV))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise CommandFailed(f"the dotenv file {path!r} cannot be read: {why}", code="bad_dotenv") from error


def _built_ins(work: Work) -> dict[str, str]:
    """Returns the variables that Turnout sets, also under the names that Dagu has for them."""
    name = work.workflow.rpartition("::")[2]
    params = msgspec.json.encode(work.kwargs.get(PARAMS) or {}).decode()
    about = {
        "TURNOUT_WORKFLOW": name,
        "TURNOUT_STEP": work.task.name,
        "TURNOUT_PARAMS_JSON": params,
        "DAG_NAME": name,
        "DAG_RUN_ID": work.event.run_id,
        "DAG_RUN_STEP_NAME": work.task.name,
        "DAG_PARAMS_JSON": params,
    }
    outcome = work.args[0] if work.args else None
    if isinstance(outcome, dict):
        status = str(outcome.get("status", ""))
        about |= {"TURNOUT_RUN_STATUS": status, "DAG_RUN_STATUS": status}
    return about
