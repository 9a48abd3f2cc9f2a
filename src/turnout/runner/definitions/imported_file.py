"""Holds the outcome of reading one file of a workflow folder."""

from __future__ import annotations

import re

import msgspec

from turnout.authoring.yaml.findings import Finding
from turnout.model.definitions import NewDefinition
from turnout.model.names import is_identifier


class Outcome(msgspec.Struct, frozen=True):
    """The definitions of a file, or its findings."""

    new: tuple[NewDefinition, ...] = ()
    findings: tuple[Finding, ...] = ()
    """Not empty: nothing of the file is put in force."""
    unchanged: bool = False
    """True if its text is in force already."""
    text: str | None = None
    """The text of a workflow file that has errors."""


def broken(code: str, message: str) -> Outcome:
    """Returns the outcome of a file that cannot be read."""
    return Outcome(findings=(Finding("error", code, message, 1, 1),))


def identifier_of(stem: str) -> str:
    """Returns the name of a file as an identifier, for a definition that has no valid text yet.

    >>> identifier_of("nightly"), identifier_of("my flow"), identifier_of("2nd")
    ('nightly', 'my_flow', '_2nd')
    """
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", stem)
    return (plain if is_identifier(plain[:1]) else f"_{plain}")[:128]
