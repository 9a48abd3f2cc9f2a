"""Holds what the reader and the compiler report about a workflow file: errors, warnings and notes with their places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

import msgspec

Severity: TypeAlias = Literal["error", "warning", "note"]

FINDING_CODES: Mapping[str, str] = {
    "malformed_yaml": "The text is no YAML, or uses a part of it that no workflow needs, such as tags.",
    "yaml_too_large": "The text has too many characters, values or levels.",
    "empty_file": "The file has no document.",
    "unknown_key": "There is no such key at this place.",
    "unsupported_key": "The key is known from Dagu and has no meaning here; the message says what to write instead.",
    "duplicate_key": "The key was written twice, perhaps in two spellings.",
    "missing_key": "A key that is needed was not written.",
    "bad_value": "The value is not of the form that the key takes, or out of its bounds.",
    "bad_name": "The name has characters that it cannot have, or is reserved.",
    "bad_pattern": "The text is no regular expression.",
    "bad_schedule": "The text is no cron expression.",
    "refused_name": "A value from outside would set a variable that changes how programs start.",
    "duplicate_parameter": "The parameter was declared before.",
    "duplicate_variable": "A secret has the name of a parameter, or of another secret.",
    "duplicate_step": "Another step has the name or the id already.",
    "duplicate_workflow": "Another document of the file has the name already.",
    "no_action": "The step does nothing.",
    "several_actions": "The step has several keys that each say what it does.",
    "unknown_dependency": "The step depends on one that is not there.",
    "cycle": "Steps depend on one another.",
    "not_inherited": "A base has a key, or a second document, that cannot be inherited.",
    "assumed_type": "The workflow has no `type`; the message says which was taken.",
    "command_with_arguments": "A list was read as one program with its arguments.",
    "no_effect_yet": "The key is checked, and takes no effect in this version.",
}
"""Every code of a finding, with its meaning."""


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
