"""Matches regular expressions in time that is linear in the length of the text, whatever the expression.

A step through the text moves a set of states, as in RE2, so nothing is tried twice. Backreferences, lookarounds and
possessive quantifiers have no such states and are refused.
"""

from __future__ import annotations

import functools
import re
import re._constants as ops  # pyright: ignore[reportMissingTypeStubs]
import re._parser as parser  # pyright: ignore[reportMissingTypeStubs]
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

MAX_STATES = 2_000
"""States of an expression, and turns of its repetitions with a count."""
MAX_VISITS = 500_000
"""Visits of states in one search of an untrusted text: a fraction of a second. It bounds the length of the text."""
MAX_STEPS_KEPT = 2_000
"""Steps of one expression that are kept, since texts repeat themselves."""
_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE | re.UNICODE
_REFUSED = {
    "GROUPREF": "a backreference",
    "GROUPREF_EXISTS": "a condition on a group",
    "ASSERT": "a lookaround",
    "ASSERT_NOT": "a lookaround",
    "ATOMIC_GROUP": "an atomic group",
    "POSSESSIVE_REPEAT": "a possessive quantifier",
}

Test: TypeAlias = Callable[[str], bool]
States: TypeAlias = frozenset[int]


class PatternError(ValueError):
    """Raised for a text that is no regular expression, or one that cannot be matched in linear time."""


class Character(NamedTuple):
    """Goes on with a character that passes the test."""

    test: Test
    next: int


class Split(NamedTuple):
    """Goes on at each of the states."""

    next: tuple[int, ...]


class Position(NamedTuple):
    """Goes on if the position in the text is of this kind."""

    kind: str
    multiline: bool
    next: int


class Around(NamedTuple):
    """The neighbours of a position: the characters before and after it, empty at the ends of the text."""

    before: str
    after: str
    last: bool
    """True if the character after it is the last one."""


State: TypeAlias = Character | Split | Position | None
"""None: the expression has matched."""


class Pattern:
    """A regular expression. Thread-safe: what it keeps is replaced, never relied on."""

    def __init__(self, text: str, *, multiline: bool = False) -> None:
        builder = _Builder(text, re.MULTILINE if multiline else 0)
        self._states, self._start = builder.states, builder.start
        self._steps: dict[tuple[States, Around], States | None] = {}
        self.longest: int = MAX_VISITS // len(self._states)
        """The number of characters of the longest text that is searched within ``MAX_VISITS``."""

    def search(self, text: str) -> bool:
        """True if a part of the text matches."""
        end = len(text)
        current: States = frozenset()
        for place in range(end + 1):
            before, after = text[place - 1 : place] if place else "", text[place : place + 1]
            key = current, Around(before, after, place == end - 1)
            if key not in self._steps:
                if len(self._steps) >= MAX_STEPS_KEPT:
                    self._steps = {}
                self._steps[key] = self._step(*key)
            following = self._steps.get(key, current)
            if following is None:
                return True
            current = following
        return False

    def _step(self, current: States, around: Around) -> States | None:
        """Returns the states behind the next character; None if the expression has matched before it."""
        seen: set[int] = set()
        following: set[int] = set()
        waiting = [*current, self._start]
        while waiting:
            number = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            match self._states[number]:
                case None:
                    return None
                case Character(test, next):
                    if around.after and test(around.after):
                        following.add(next)
                case Split(next):
                    waiting.extend(next)
                case Position(kind, multiline, next):
                    if _is_at(kind, multiline, around):
                        waiting.append(next)
        return frozenset(following)


@functools.lru_cache(maxsize=512)
def pattern_of(text: str, *, multiline: bool = False) -> Pattern:
    """Returns the regular expression. Raises PatternError."""
    return Pattern(text, multiline=multiline)


def _is_at(kind: str, multiline: bool, around: Around) -> bool:
    before, after = around.before, around.after
    match kind:
        case "AT_BEGINNING" if multiline:
            return before in ("", "\n")
        case "AT_BEGINNING" | "AT_BEGINNING_STRING":
            return not before
        case "AT_END" if multiline:
            return after in ("", "\n")
        case "AT_END":
            return not after or (after == "\n" and around.last)
        case "AT_END_STRING":
            return not after
        case _:
            return (_is_word(before) != _is_word(after)) is (kind == "AT_BOUNDARY")


class _Builder:
    """Makes the states of an expression, from its end to its start."""

    def __init__(self, text: str, flags: int) -> None:
        try:
            tree: Any = parser.parse(text, flags)
        except (re.error, OverflowError, RecursionError) as error:
            raise PatternError(f"no regular expression: {error}") from None
        flags = int(tree.state.flags)
        if flags & ~_FLAGS:
            raise PatternError("a regular expression with flags other than i, m, s and x")
        self.states: list[State] = [None]
        self._parts = 0
        """Counts parts, since those of an empty group have no states."""
        try:
            self.start = self._sequence(tree, flags, 0)
        except RecursionError:
            raise PatternError("a regular expression that is nested too deeply") from None

    def _add(self, state: State) -> int:
        self._count()
        self.states.append(state)
        return len(self.states) - 1

    def _count(self) -> None:
        self._parts += 1
        if self._parts >= MAX_STATES:
            raise PatternError(f"a regular expression of more than {MAX_STATES:,} parts, repetitions with their counts")

    def _sequence(self, items: Iterable[tuple[Any, Any]], flags: int, next: int) -> int:
        for op, value in reversed(list(items)):
            next = self._item(str(op), value, flags, next)
        return next

    def _item(self, op: str, value: Any, flags: int, next: int) -> int:
        if op in _REFUSED:
            raise PatternError(f"a regular expression with {_REFUSED[op]}, which cannot be matched in bounded time")
        match op:
            case "SUBPATTERN":
                _, added, removed, items = value
                return self._sequence(items, (flags | added) & ~removed, next)
            case "BRANCH":
                return self._add(Split(tuple(self._sequence(each, flags, next) for each in value[1])))
            case "MAX_REPEAT" | "MIN_REPEAT":
                least, most, items = value
                return self._repeat(least, most, items, flags, next)
            case "AT":
                return self._add(Position(str(value), bool(flags & re.MULTILINE), next))
            case _:
                return self._add(Character(_test(op, value, flags), next))

    def _repeat(self, least: Any, most: Any, items: Any, flags: int, next: int) -> int:
        if most is ops.MAXREPEAT:
            loop = self._add(Split(()))
            self.states[loop] = Split((self._sequence(items, flags, loop), next))
            next = loop
        else:
            end = next
            for _ in range(int(most) - int(least)):
                self._count()
                next = self._add(Split((self._sequence(items, flags, next), end)))
        for _ in range(int(least)):
            self._count()
            next = self._sequence(items, flags, next)
        return next


# -- characters ------------------------------------------------------------------------------------------------------
def _test(op: str, value: Any, flags: int) -> Test:
    match op:
        case "NOT_LITERAL":
            return _none_of(_test("LITERAL", value, flags))
        case "IN" if str(value[0][0]) == "NEGATE":
            return _none_of(*(_test(str(op), each, flags) for op, each in value[1:]))
        case "IN":
            return _any_of(*(_test(str(op), each, flags) for op, each in value))
        case "ANY":
            return (lambda char: True) if flags & re.DOTALL else "\n".__ne__
        case "CATEGORY":
            return _CATEGORIES[str(value)]
        case "LITERAL" | "RANGE":
            low, high = value if op == "RANGE" else (value, value)
            if flags & re.IGNORECASE:
                return lambda char: any(low <= ord(each) <= high for each in _cases(char))
            return lambda char: low <= ord(char) <= high
        case _:
            raise PatternError(f"a regular expression with {op.lower()}, which is not supported")


def _any_of(*tests: Test) -> Test:
    return lambda char: any(test(char) for test in tests)


def _none_of(*tests: Test) -> Test:
    return lambda char: not any(test(char) for test in tests)


def _cases(char: str) -> set[str]:
    return {char, *char.lower(), *char.upper()}


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


_CATEGORIES: dict[str, Test] = {
    "CATEGORY_DIGIT": str.isdecimal,
    "CATEGORY_NOT_DIGIT": lambda char: not char.isdecimal(),
    "CATEGORY_SPACE": str.isspace,
    "CATEGORY_NOT_SPACE": lambda char: not char.isspace(),
    "CATEGORY_WORD": _is_word,
    "CATEGORY_NOT_WORD": lambda char: not _is_word(char),
}
