"""Leaves out what is only found wrong in a document since another error keeps a value of it from being read (pure)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from turnout.authoring.yaml.findings import Finding

REFERENCE_CODES = frozenset({"unknown_reference", "unknown_variable", "not_before"})
NAMING_KEYS = ("params", "env", "secrets", "dotenv", "output", "id", "name", "depends", "parallel", "defaults")
"""Keys that give the names which ``${…}`` may have, or their order."""
STEPLESS = frozenset({"cycle", "unknown_dependency", "duplicate_step", "duplicate_parameter", "duplicate_variable"})
"""Codes of errors whose values were read all the same."""


def independent(findings: Sequence[Finding], errors: Iterable[Finding]) -> list[Finding]:
    """Returns the findings of a compilation that do not follow from these errors of the document."""
    unread = [each for each in errors if each.code not in STEPLESS]
    names_are_known = not any(map(_hides_names, unread))
    return [
        each
        for each in findings
        if not any(_related(each.where, error.where) for error in unread)
        and (names_are_known or each.code not in REFERENCE_CODES)
    ]


def _hides_names(error: Finding) -> bool:
    """True if a key that gives names may be absent, or is written wrongly."""
    if error.where in ("", "steps"):
        return True
    parts = re.split(r"[.\[\]]+", error.where)
    # Behind the place of a step, steps may have any name.
    keys = parts[2:] if parts[0] in ("steps", "handler_on") and len(parts) > 2 else parts
    return any(get_close_matches(key, NAMING_KEYS, n=1, cutoff=0.75) for key in keys if key and not key.isdigit())


def _related(where: str, error: str) -> bool:
    """True if one of the two paths is, or is inside of, the other."""
    first, second = sorted((where, error), key=len)
    return bool(first) and (first == second or second.startswith((f"{first}.", f"{first}[")))
