"""Reads the ``${…}`` of workflow files: references to parameters, variables, outputs and results of steps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from turnout.authoring.yaml.findings import Severity
from turnout.model.interpolation import Reference, Substitution, Text, path_text
from turnout.model.names import suggest_similar
from turnout.model.step import Constant, Fields, Interpolated, Items, Value

EXPRESSION = re.compile(
    r"\$\{(?P<raw>raw:)?(?P<name>[A-Za-z_][A-Za-z0-9_-]*|\d+)(?P<path>(?:\.[A-Za-z0-9_-]+|\[-?\d+\])*)\}"
)
_PLAIN = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_PATH = re.compile(r"\.([A-Za-z0-9_-]+)|\[(-?\d+)\]")
_SHELL_ONLY = re.compile(r"\$\{[^}\n]*\}")

RESULT_FIELDS = ("stdout", "stderr", "exit_code", "output", "status")
"""What ``${id.…}`` may name of a step's result; ``status`` is that of an HTTP response."""
BUILT_IN = frozenset(
    {
        *("TURNOUT_RUN_ID", "TURNOUT_TASK_NAME", "TURNOUT_ATTEMPT", "TURNOUT_INDEX", "TURNOUT_IDEMPOTENCY_KEY"),
        *("TURNOUT_TOKEN", "TURNOUT_WORKFLOW", "TURNOUT_STEP", "TURNOUT_PARAMS_JSON"),
        *("DAG_NAME", "DAG_RUN_ID", "DAG_RUN_STEP_NAME", "DAG_PARAMS_JSON"),
    }
)
"""Variables that every step has."""
BUILT_IN_OF_HANDLERS = frozenset({"TURNOUT_RUN_STATUS", "DAG_RUN_STATUS"})
"""Variables that steps under ``handler_on`` have as well."""
_USUAL = frozenset(
    {
        *("HOME", "USER", "LOGNAME", "PATH", "PWD", "OLDPWD", "SHELL", "TMPDIR", "LANG", "TZ", "HOSTNAME", "HOST"),
        *("UID", "EUID", "PPID", "RANDOM", "SECONDS", "LINENO", "IFS", "TERM", "EDITOR", "DISPLAY", "XDG_CONFIG_HOME"),
    }
)
"""Variables that machines and shells have by themselves."""


class Issue(NamedTuple):
    """A problem of one text; its place is that of the text."""

    severity: Severity
    code: str
    message: str


class Scope(msgspec.Struct, frozen=True):
    """The names that the texts of one step may refer to."""

    names: frozenset[str] = frozenset()
    """Parameters, variables, outputs of the steps before, secrets and built-in variables."""
    steps: frozenset[str] = frozenset()
    """Ids and names of the steps before."""
    not_before: Mapping[str, str] = {}
    """Names that exist and have no value yet: an output, an id or a name of another step, with that step's name."""
    numbers: frozenset[str] = frozenset()
    """Those of the names whose values are numbers."""
    reads_files: bool = False
    """True if dotenv files may set further names."""


class Expression(NamedTuple):
    """One ``${…}`` that is a reference."""

    raw: bool
    reference: Reference
    of_step: bool


class Expressions:
    """Reads the texts of one step, and gathers what they refer to and what is wrong with them."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.issues: list[Issue] = []
        self.results: set[tuple[str, str]] = set()
        """The results of steps that are referred to: the step's id or name, and the field."""
        self.used: set[str] = set()
        """The names that are referred to."""

    def report(self, severity: Severity, code: str, message: str) -> None:
        issue = Issue(severity, code, message)
        if issue not in self.issues:
            self.issues.append(issue)

    def expression(self, match: re.Match[str], *, assigned: frozenset[str] = frozenset()) -> Expression | None:
        """Returns the reference that a match of ``EXPRESSION`` is; None if it is left to the shell. ``assigned`` are
        names that the text itself sets."""
        name, raw = match["name"], match["raw"] is not None
        path = tuple(int(index) if index else _part(key) for key, index in _PATH.findall(match["path"]))
        reference = Reference(name, path)
        if path and name in self.scope.steps:
            if path[0] not in RESULT_FIELDS:
                known = ", ".join(RESULT_FIELDS)
                self.report(
                    "error",
                    "unknown_reference",
                    f"${{{name}{path_text(path)}}}: a step has {known}{suggest_similar(str(path[0]), RESULT_FIELDS)}",
                )
            self.results.add((name, str(path[0])))
            if raw:
                self._warn_raw(f"{name}{path_text(path)}")
            return Expression(raw, reference, of_step=True)
        if name in self.scope.names:
            self.used.add(name)
            if raw:
                self._warn_raw(name)
            return Expression(raw, reference, of_step=False)
        if name in self.scope.not_before:
            step = self.scope.not_before[name]
            self.report(
                "error",
                "not_before",
                f"{match[0]} is set by step {step!r}, which does not run before this one: add {step!r} to `depends`",
            )
            return Expression(raw, reference, of_step=bool(path))
        return self._unknown(match, raw, reference, assigned)

    def _unknown(
        self, match: re.Match[str], raw: bool, reference: Reference, assigned: frozenset[str]
    ) -> Expression | None:
        name, known = reference.name, {*self.scope.names, *self.scope.steps}
        if reference.path or raw:
            self.report(
                "error",
                "unknown_reference",
                f"{match[0]}: {name!r} is no parameter, variable, output or step{suggest_similar(name, known)}",
            )
            return Expression(raw, reference, of_step=False)
        if name not in assigned and name not in _USUAL and not self.scope.reads_files:
            self.report(
                "warning",
                "unknown_variable",
                f"{match[0]}: {name!r} is not declared here, so it is a variable of the machine that runs the step, or "
                f"empty{suggest_similar(name, known)}",
            )
        return None

    def _warn_raw(self, name: str) -> None:
        self.report(
            "warning",
            "raw_value",
            f"${{raw:{name}}} is inserted without quotes: whoever sets {name!r} decides what the shell runs",
        )

    # -- texts that no shell sees -------------------------------------------------------------------------------------
    def text(self, text: str, *, commands: bool = False) -> Text:
        """Returns the text in parts. With ``commands`` it may have ``$NAME``, and commands between backticks or in
        ``$(…)``. A backslash before ``$`` or a backtick takes its meaning away."""
        parts: list[str | Reference | Substitution] = []
        for part in self._parts(text, commands):
            if isinstance(part, str) and parts and isinstance(parts[-1], str):
                parts[-1] += part
            else:
                parts.append(part)
        return tuple(parts)

    def _parts(self, text: str, commands: bool) -> Iterator[str | Reference | Substitution]:
        place = 0
        while place < len(text):
            character = text[place]
            if character == "\\" and text[place + 1 : place + 2] in ("$", "`"):
                yield text[place + 1]
                place += 2
            elif match := EXPRESSION.match(text, place):
                found = self.expression(match)
                yield Reference(match["name"]) if found is None else found.reference
                place = match.end()
            elif commands and (end := _command_end(text, place)):
                inner = text[place + 1 : end - 1] if character == "`" else text[place + 2 : end - 1]
                yield self._substitution(inner)
                place = end
            elif commands and (match := _PLAIN.match(text, place)):
                self.used.add(match[1])
                yield Reference(match[1])
                place = match.end()
            elif match := _SHELL_ONLY.match(text, place):
                self.report(
                    "error",
                    "bad_expression",
                    f"{match[0]} is no reference: write ${{NAME}}, ${{NAME.path}} or ${{id.stdout}}; what a shell "
                    "makes of braces works in `command` and `script` only",
                )
                yield match[0]
                place = match.end()
            else:
                yield character
                place += 1

    def _substitution(self, command: str) -> Substitution:
        """Returns the command; its references are variables that the shell expands."""
        for match in EXPRESSION.finditer(command):
            found = self.expression(match)
            if found is not None and (found.raw or found.reference.path):
                self.report(
                    "error",
                    "bad_expression",
                    f"{match[0]} cannot stand in a command within a text: set a variable before it, and use that",
                )
        return Substitution(command)

    def value(self, value: Any) -> Value:
        """Returns a JSON value with its texts in parts."""
        match value:
            case str():
                parts = self.text(value)
                return Constant(value) if all(isinstance(part, str) for part in parts) else Interpolated(parts)
            case list() | tuple():
                return Items(tuple(self.value(each) for each in value))
            case dict():
                return Fields({str(name): self.value(each) for name, each in value.items()})
            case _:
                return Constant(value)


def is_constant(value: Value) -> bool:
    """True if no text of the value is filled in."""
    match value:
        case Constant():
            return True
        case Items(items):
            return all(map(is_constant, items))
        case Fields(fields):
            return all(map(is_constant, fields.values()))
        case Interpolated():
            return False


def constant(value: Value) -> Any:
    """Returns the JSON value of a constant one."""
    match value:
        case Items(items):
            return [constant(each) for each in items]
        case Fields(fields):
            return {name: constant(each) for name, each in fields.items()}
        case Constant(plain):
            return plain
        case Interpolated():
            raise AssertionError("not a constant")


def _part(key: str) -> str | int:
    return int(key) if key.isdigit() else key


def _command_end(text: str, place: int) -> int:
    """Returns the end of the command that begins here, between backticks or in ``$(…)``; 0 if none does."""
    if text[place] == "`":
        return text.find("`", place + 1) + 1
    if not text.startswith("$(", place):
        return 0
    depth = 0
    for end in range(place + 1, len(text)):
        depth += (text[end] == "(") - (text[end] == ")")
        if depth == 0:
            return end + 1
    return 0
