"""Reads the ``${…}`` of workflow files: references to parameters, variables, outputs and results of steps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from turnout.authoring.yaml.findings import Severity
from turnout.authoring.yaml.scope import RESULT_FIELDS, USUAL, Scope
from turnout.model.interpolation import Reference, Substitution, Text, path_text, references_in
from turnout.model.names import suggest_similar
from turnout.model.step import Constant, Fields, Interpolated, Items, Value

EXPRESSION = re.compile(
    r"\$\{(?P<raw>raw:)?(?P<name>[A-Za-z_][A-Za-z0-9_-]*|\d+)(?P<path>(?:\.[A-Za-z0-9_-]+|\[-?\d+\])*)\}"
)
_PLAIN = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_PATH = re.compile(r"\.([A-Za-z0-9_-]+)|\[(-?\d+)\]")
_SHELL_ONLY = re.compile(r"\$\{[^}\n]*\}")
_ELEMENT = re.compile(r"\[-?\d+\]")
"""The path of one element of an array, as shells write it."""


class Issue(NamedTuple):
    """A problem of one text; its place is that of the text."""

    severity: Severity
    code: str
    message: str


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
        if not raw and name in assigned and _ELEMENT.fullmatch(match["path"]):
            return None
        if reference.path or raw:
            self.report(
                "error",
                "unknown_reference",
                f"{match[0]}: {name!r} is no parameter, variable, output or step{suggest_similar(name, known)}",
            )
            return Expression(raw, reference, of_step=False)
        if name not in assigned and name not in USUAL and not self.scope.reads_files:
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
            f"${{raw:{name}}} is inserted without quotes: its value decides what the shell runs",
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

    def refuse_secrets(self, text: Text) -> None:
        """Reports secrets in a value that is stored: the arguments of another task, or its items."""
        for reference in references_in(text):
            if reference.name in self.scope.secrets:
                self.report(
                    "error",
                    "secret_stored",
                    f"${{{reference.name}}} is a secret, and arguments and items are stored: declare the secret where "
                    "it is used, in the workflow that is called",
                )

    def warn_of_secrets(self, text: Text) -> None:
        """Reports secrets in the words of a program."""
        for reference in references_in(text):
            if reference.name in self.scope.secrets:
                self.report(
                    "warning",
                    "secret_visible",
                    f"${{{reference.name}}} is a secret, and other users of the machine can see the words of a "
                    "program: write a line for the shell, or let the program read the variable",
                )

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
