"""Holds what the reader and the compiler report about a workflow file: errors, warnings and notes with their places."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

Severity: TypeAlias = Literal["error", "warning", "note"]


class Finding(msgspec.Struct, frozen=True):
    """One problem of a file, or one fact that its author should know."""

    severity: Severity
    """``error``: the file cannot be used. ``warning``: it can, with a risk. ``note``: what was assumed."""
    code: str
    """Stable, for programs, such as ``unknown_key``."""
    message: str
    line: int
    column: int
    """Both count from 1."""
    where: str = ""
    """The path of the value, such as ``steps[2].retry_policy.limit``."""
    source: Literal["file", "base"] = "file"
    """``base``: line and column are those of the text that the file inherits from."""


def has_errors(findings: Iterable[Finding]) -> bool:
    return any(each.severity == "error" for each in findings)
