"""Makes the commands of workflow files plain shell: each ``${…}`` becomes a variable that is expanded as one word.

Values are never part of the text that a shell reads, so they are never read as code, whatever they contain. What is
between single quotes stays as it is, as a shell has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from turnout.authoring.yaml.expressions import EXPRESSION, Expression, Expressions
from turnout.model.interpolation import Reference, Text
from turnout.model.step import Assignment

VALUE = "TURNOUT_VALUE_{}"
"""The variable of a value that has no name of its own, such as ``${id.stdout}``."""
POSIX_SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "busybox"})

_ASSIGNED = re.compile(
    r"(?:^|[\s;&|(`])(?:export\s+|local\s+|readonly\s+|declare\s+)?([A-Za-z_]\w*)(?:\[[^\]\n]*\])?\+?="
    r"|\b(?:declare|typeset|local|readonly|export)\s+-\w+\s+([A-Za-z_]\w*)\b"
    r"|\bfor\s+([A-Za-z_]\w*)\b|\bread\s+(?:-\w+\s+)*([A-Za-z_]\w*)|\bselect\s+([A-Za-z_]\w*)\b"
    r"|\b(?:mapfile|readarray)\s+(?:-\w+\s+)*([A-Za-z_]\w*)"
)
_SET_BY_SHELLS = frozenset(
    {"BASH_ARGV", "BASH_LINENO", "BASH_REMATCH", "BASH_SOURCE", "DIRSTACK", "FUNCNAME", "PIPESTATUS"}
)
"""Arrays that a shell sets by itself."""
_HERE_DOCUMENT = re.compile(r"<<(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([A-Za-z_][\w-]*))")


def is_posix(shell: tuple[str, ...]) -> bool:
    """True if the shell reads the language of ``sh``."""
    words = [word for word in shell if not word.startswith("-")]
    name = words[0].rpartition("/")[2]
    return (words[1].rpartition("/")[2] if name == "env" and len(words) > 1 else name) in POSIX_SHELLS


class ShellTexts:
    """Translates the lines and scripts of one step, and gathers the variables that they need."""

    def __init__(self, expressions: Expressions) -> None:
        self._expressions = expressions
        self._names: dict[Reference, str] = {}

    @property
    def variables(self) -> tuple[Assignment, ...]:
        return tuple(Assignment(name, (reference,)) for reference, name in self._names.items())

    def line(self, text: str) -> Text:
        """Returns a command line: each reference is expanded as one word. Only raw ones are left in it."""
        return _Scanner(text, self._expressions, self._variable, quotes_all=True).scan()

    def script(self, text: str) -> Text:
        """Returns a script: references that a shell cannot read become variables; all others are the shell's own."""
        return _Scanner(text, self._expressions, self._variable, quotes_all=False).scan()

    def foreign(self, text: str, interpreter: str) -> Text:
        """Returns a text for an interpreter that is no shell, as it is."""
        for match in EXPRESSION.finditer(text):
            name = match["name"]
            if name in self._expressions.scope.names or name in self._expressions.scope.steps:
                self._expressions.report(
                    "warning",
                    "not_substituted",
                    f"{match[0]} is not substituted in a text for {interpreter!r}: read an environment variable, which "
                    "`env:` can set from any reference",
                )
        return (text,) if text else ()

    def _variable(self, expression: Expression) -> str:
        reference = expression.reference
        if not reference.path and not expression.of_step and "-" not in reference.name:
            return reference.name
        return self._names.setdefault(reference, VALUE.format(len(self._names) + 1))


class _Scanner:
    """Follows the quotes of a shell text from one reference to the next."""

    def __init__(
        self, text: str, expressions: Expressions, variable: Callable[[Expression], str], *, quotes_all: bool
    ) -> None:
        self._text = text
        self._expressions = expressions
        self._variable = variable
        self._quotes_all = quotes_all
        self._place = 0
        self._parts: list[str | Reference] = []
        self._open: list[str] = []
        """What is open around the place, the innermost last: ``"``, ``(`` of a command, ``((``, ``{`` and backtick."""
        self._here: list[tuple[str, bool]] = []
        """Here-documents that begin with the next line: the delimiter, and True if their text is expanded."""
        self._assigned = _SET_BY_SHELLS.union(name for found in _ASSIGNED.findall(text) for name in found if name)

    def scan(self) -> Text:
        text = self._text
        while self._place < len(text):
            if text[self._place] == "$":
                self._dollar()
            else:
                self._plain(text[self._place])
        joined: list[str | Reference] = []
        for part in self._parts:
            if isinstance(part, str) and joined and isinstance(joined[-1], str):
                joined[-1] += part
            else:
                joined.append(part)
        return tuple(joined)

    @property
    def _inside(self) -> str:
        return self._open[-1] if self._open else ""

    def _take(self, count: int = 1) -> None:
        self._parts.append(self._text[self._place : self._place + count])
        self._place += count

    def _plain(self, character: str) -> None:
        inside, text, place = self._inside, self._text, self._place
        if character == "\\":
            self._take(2)
        elif character == "'" and inside != '"':
            end = text.find("'", place + 1)
            self._verbatim(len(text) if end < 0 else end + 1, "between single quotes")
        elif character == '"':
            self._toggle('"')
        elif character == "`":
            self._toggle("`")
        elif character == "\n" and self._here and inside != '"':
            self._take()
            self._here_documents()
        elif inside == '"':
            self._take()
        elif character == "#" and inside != "{" and (place == 0 or text[place - 1] in " \t\n;&|("):
            end = text.find("\n", place)
            self._take((len(text) if end < 0 else end) - place)
        elif character == "<" and (match := _HERE_DOCUMENT.match(text, place)) and not text.startswith("<<<", place):
            delimiter = match[2] or match[3] or match[4]
            self._here.append((delimiter, match[4] is not None and "\\" not in match[0]))
            self._take(match.end() - place)
        elif text.startswith("))", place) and inside == "((":
            self._open.pop()
            self._take(2)
        else:
            if character == "(":
                self._open.append("(")
            elif (character == ")" and inside == "(") or (character == "}" and inside == "{"):
                self._open.pop()
            self._take()

    def _toggle(self, quote: str) -> None:
        if self._inside == quote:
            self._open.pop()
        else:
            self._open.append(quote)
        self._take()

    def _dollar(self) -> None:
        text, place = self._text, self._place
        match = EXPRESSION.match(text, place)
        found = None if match is None else self._expressions.expression(match, assigned=self._assigned)
        if match is not None and found is not None:
            self._place = match.end()
            self._refer(match[0], found)
        elif match is not None:
            self._take(match.end() - place)
        elif text.startswith("$((", place):
            self._open.append("((")
            self._take(3)
        elif text.startswith(("$(", "${"), place):
            self._open.append(text[place + 1])
            self._take(2)
        elif text.startswith("$'", place) and self._inside != '"':
            end = re.compile(r"(?:[^'\\]|\\.)*'", re.DOTALL).match(text, place + 2)
            self._verbatim(len(text) if end is None else end.end(), "between single quotes")
        else:
            self._take()

    def _refer(self, written: str, found: Expression) -> None:
        if found.raw:
            self._parts.append(found.reference)
            return
        name = self._variable(found)
        plain = name == found.reference.name
        if "((" in self._open and self._inside != '"':
            if plain and name not in self._expressions.scope.numbers:
                self._expressions.report(
                    "warning",
                    "arithmetic_value",
                    f"{written} stands in arithmetic, where some shells run commands in a value: declare a parameter "
                    "of `type: integer`",
                )
            self._parts.append(f"${{{name}}}")
        elif self._inside in ('"', "{") or (plain and not self._quotes_all):
            self._parts.append(f"${{{name}}}")
        else:
            self._parts.append(f'"${{{name}}}"')

    def _verbatim(self, end: int, why: str) -> None:
        """Leaves the text up to this place as it is, with a note about references in it."""
        inner = self._text[self._place : end]
        for match in EXPRESSION.finditer(inner):
            scope = self._expressions.scope
            if match["name"] in scope.names or (match["path"] and match["name"] in scope.steps):
                severity = "warning" if match["path"] or match["raw"] else "note"
                self._expressions.report(
                    severity,
                    "not_substituted",
                    f"{match[0]} stands {why}, so it stays as it is: use double quotes if its value is meant",
                )
        self._take(end - self._place)

    def _here_documents(self) -> None:
        pending, self._here = self._here, []
        for delimiter, expanded in pending:
            end = self._end_of_here_document(delimiter)
            if not expanded:
                self._verbatim(end, f"in a here-document that is quoted ({delimiter!r})")
                continue
            while self._place < end:
                character = self._text[self._place]
                match = EXPRESSION.match(self._text, self._place) if character == "$" else None
                found = None if match is None else self._expressions.expression(match, assigned=self._assigned)
                if match is None or found is None:
                    self._take(2 if character == "\\" else 1)
                    continue
                self._place = match.end()
                name = self._variable(found)
                self._parts.append(found.reference if found.raw else f"${{{name}}}")

    def _end_of_here_document(self, delimiter: str) -> int:
        match = re.compile(rf"^[\t]*{re.escape(delimiter)}[ \t]*$", re.MULTILINE).search(self._text, self._place)
        return len(self._text) if match is None else match.end()
