"""Matches full names against patterns: ``*`` stays inside a segment, ``**`` spans zero or more segments."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from turnout.errors import InvalidRouting

SEPARATOR = "::"

_SEGMENT = re.compile(r"[A-Za-z0-9_.*-]+")


class Pattern(msgspec.Struct, frozen=True):
    """A pattern that was checked and cut into segments."""

    text: str
    segments: tuple[str, ...]

    def matches(self, name: str) -> bool:
        """True if the pattern covers the complete name.

        >>> compile_pattern("**::ml::*").matches("public::ml::train")
        True
        """
        return _glob(self.segments, name.split(SEPARATOR), "**", _segment_matches)


def compile_pattern(text: str) -> Pattern:
    """The pattern ready for use, or ``InvalidRouting`` that says what would be right."""
    if not text:
        raise _malformed(text, 'it is empty; "**" matches every task')
    segments = text.split(SEPARATOR)
    for segment in segments:
        if not segment:
            raise _malformed(text, f'a segment is empty; write names joined by "{SEPARATOR}", like "public::ml::*"')
        if ":" in segment:
            raise _malformed(text, f'a single ":" separates nothing; write "{SEPARATOR}", like "public::ml::*"')
        if segment != "**" and "**" in segment:
            raise _malformed(
                text, f'"{segment}" mixes "**" with more; "**" is a segment of its own, "*" stays inside one'
            )
        if not _SEGMENT.fullmatch(segment):
            raise _malformed(
                text, f'"{segment}" has illegal characters; allowed are letters, digits, "_", ".", "-" and "*"'
            )
    return Pattern(text, tuple(segments))


def _malformed(text: str, problem: str) -> InvalidRouting:
    return InvalidRouting(f'pattern "{text}" is malformed: {problem}', code="malformed_pattern", pattern=text)


def _segment_matches(pattern: str, segment: str) -> bool:
    if pattern == "*":
        return segment != ""
    return _glob(pattern, segment, "*", str.__eq__)


def _glob(pattern: Sequence[str], subject: Sequence[str], star: str, same: Callable[[str, str], bool]) -> bool:
    # Backtracking goes to the last star only, so the cost of any pattern is at most the product of both lengths.
    at = position = resume = 0
    last_star = -1
    while position < len(subject):
        if at < len(pattern) and pattern[at] == star:
            last_star, resume = at, position
            at += 1
        elif at < len(pattern) and same(pattern[at], subject[position]):
            at += 1
            position += 1
        elif last_star >= 0:
            resume += 1
            at, position = last_star + 1, resume
        else:
            return False
    return all(item == star for item in pattern[at:])
