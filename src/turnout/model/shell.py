"""Renders the commands of shell tasks, with quoting, and judges their exit codes and output. No I/O."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Iterator, Mapping
from string import Formatter
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from turnout.errors import CommandFailed, InvalidInput, InvalidWorkflow

Parse: TypeAlias = Literal["text", "json", "lines"]

MAX_CAPTURE = 256 * 1024
"""Bytes of each stream that the result contains, from the end."""
MAX_SHOWN_OUTPUT = 2_000
"""Characters of standard error that a failure's message quotes, from the end."""


class ShellSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """A command with ``{placeholders}``: a list of words, or one text for ``/bin/sh``."""

    command: tuple[str, ...] | str
    env: dict[str, str] = {}
    cwd: str | None = None
    ok_codes: tuple[int, ...] = (0,)
    retry_codes: tuple[int, ...] | None = None
    """Exit codes that allow a retry; None: all."""
    parse: Parse | None = None
    max_capture: int = MAX_CAPTURE

    def placeholders(self) -> tuple[str, ...]:
        """Returns the names that a call must give values for, in order of appearance."""
        words = (self.command,) if isinstance(self.command, str) else self.command
        texts = (*words, *self.env.values(), *((self.cwd,) if self.cwd is not None else ()))
        return tuple(dict.fromkeys(name for text in texts for _, name in _parts(text) if name is not None))


class Command(NamedTuple):
    """A shell task's command with the values filled in."""

    argv: list[str]
    env: dict[str, str]
    cwd: str | None


def render(spec: ShellSpec, values: Mapping[str, Any]) -> Command:
    """Returns the command with these values. In text for the shell each value is quoted, so it is always one word."""
    if isinstance(spec.command, str):
        argv = ["/bin/sh", "-c", _filled(spec.command, values, quote=True)]
    else:
        argv = [word for template in spec.command for word in _words(template, values)]
    env = {name: _filled(template, values) for name, template in spec.env.items()}
    return Command(argv, env, None if spec.cwd is None else _filled(spec.cwd, values))


def check(spec: ShellSpec, task: str) -> None:
    """Raises InvalidWorkflow if the command is not valid."""
    words = (spec.command,) if isinstance(spec.command, str) else spec.command
    if not words or not words[0].strip():
        raise InvalidWorkflow(f"shell task {task!r} has an empty command", code="bad_command", task=task)
    try:
        spec.placeholders()
    except ValueError as error:
        raise InvalidWorkflow(f"shell task {task!r}: {error}", code="bad_command", task=task) from None
    quoted = _quoted_placeholder(spec.command) if isinstance(spec.command, str) else None
    if quoted is not None:
        raise InvalidWorkflow(
            f"shell task {task!r} has {{{quoted}}} inside quotes: values are quoted already, so leave the quotes out",
            code="bad_command",
            task=task,
        )
    if spec.max_capture < 1:
        raise InvalidWorkflow(f"max_capture of shell task {task!r} is {spec.max_capture}: it must be above 0")


def retryable(spec: ShellSpec, code: int) -> bool:
    """True if the exit code allows a retry."""
    return spec.retry_codes is None or code in spec.retry_codes


def outcome(spec: ShellSpec, code: int, stdout: Captured, stderr: Captured) -> Any:
    """Returns the task's value. Raises CommandFailed for a code that is not ok, or output that cannot be parsed."""
    if code not in spec.ok_codes:
        raise CommandFailed(failure_message(code, stdout, stderr), exit_code=code)
    if spec.parse is None:
        return {"exit_code": code, "stdout": stdout.shown(), "stderr": stderr.shown()}
    if stdout.lost:
        raise CommandFailed(
            f"its output is {stdout.lost + len(stdout.data):,} bytes, more than max_capture={spec.max_capture:,}: "
            "write it to a file and return the path",
            code="output_too_large",
            exit_code=code,
        )
    text = stdout.text
    match spec.parse:
        case "text":
            return text.removesuffix("\n")
        case "lines":
            return text.splitlines()
        case "json":
            try:
                return msgspec.json.decode(text)
            except (msgspec.DecodeError, RecursionError) as error:
                raise CommandFailed(
                    f"its output is not JSON ({error}): {text[:200]!r}", code="bad_output", exit_code=code
                ) from None


def failure_message(code: int, stdout: Captured, stderr: Captured) -> str:
    """Returns how a command failed, with the end of what it wrote."""
    how = f"exit code {code}" if code >= 0 else f"killed by {signal_name(-code)}"
    shown = (stderr.text or stdout.text).strip()[-MAX_SHOWN_OUTPUT:]
    return f"{how}: {shown}" if shown else how


class Captured:
    """Holds the end of the output of one stream, and the number of bytes dropped before it."""

    def __init__(self, limit: int) -> None:
        self.data = b""
        self.lost = 0
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)
        if self._size > 2 * self._limit:
            self.close()

    def close(self) -> Captured:
        """Joins the parts; required before ``data`` is read."""
        whole = self.data + b"".join(self._parts)
        cut = max(0, len(whole) - self._limit)
        self.data, self.lost = whole[cut:], self.lost + cut
        self._parts, self._size = [], len(self.data)
        return self

    @property
    def text(self) -> str:
        # Neither JSON columns nor terminals accept a NUL.
        return self.data.decode("utf-8", "replace").replace("\x00", "�")

    def shown(self) -> str:
        return f"… {self.lost:,} bytes cut …\n{self.text}" if self.lost else self.text


def signal_name(number: int) -> str:
    """Returns ``SIGKILL`` for 9."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _parts(template: str) -> Iterator[tuple[str, str | None]]:
    """Yields literal text, and the name of the placeholder that follows it."""
    try:
        parsed = list(Formatter().parse(template))
    except ValueError as error:
        raise ValueError(f"{template!r} is not a template ({error}); {BRACES}") from None
    for literal, name, form, conversion in parsed:
        if name is not None and (not name.isidentifier() or form or conversion):
            raise ValueError(f"{template!r} has the placeholder {{{name}}}, which is not a name; {BRACES}")
        yield literal, name


BRACES = "write {{ and }} for braces that are the command's own, as in ${{HOME}} or awk '{{print $1}}'"


def _filled(template: str, values: Mapping[str, Any], *, quote: bool = False) -> str:
    pieces: list[str] = []
    for literal, name in _parts(template):
        pieces.append(literal)
        if name is not None:
            words = _as_words(name, values[name])
            if not quote and len(words) != 1:
                raise InvalidInput(f"{name} is a list, which {template!r} has no place for: give one value", field=name)
            pieces.append(" ".join(map(shlex.quote, words)) if quote else words[0])
    return "".join(pieces)


def _words(template: str, values: Mapping[str, Any]) -> list[str]:
    """Returns one word; if the template is only a placeholder of a list, one word for each item."""
    parts = list(_parts(template))
    if len(parts) == 1 and parts[0][0] == "" and parts[0][1] is not None:
        return _as_words(parts[0][1], values[parts[0][1]])
    return [_filled(template, values)]


def _as_words(name: str, value: Any) -> list[str]:
    match value:
        case bool():
            words = ["true" if value else "false"]
        case str() | int() | float():
            words = [str(value)]
        case list() if all(isinstance(each, str | int | float) for each in value):
            words = [word for each in value for word in _as_words(name, each)]
        case _:
            raise InvalidInput(
                f"{name} is a value of type {type(value).__name__}, which cannot be part of a command: "
                "give text, a number, true or false, or a list of these",
                field=name,
            )
    if any("\x00" in word for word in words):
        raise InvalidInput(f"{name} holds a NUL character, which no command takes", field=name)
    return words


def _quoted_placeholder(template: str) -> str | None:
    """Returns the first placeholder between quotes of the shell, if there is one."""
    quote, escaped = "", False
    for literal, name in _parts(template):
        for character in literal:
            if escaped:
                escaped = False
            elif character == "\\" and quote != "'":
                escaped = True
            elif quote:
                quote = "" if character == quote else quote
            elif character in "'\"":
                quote = character
        if name is not None and quote:
            return name
    return None
