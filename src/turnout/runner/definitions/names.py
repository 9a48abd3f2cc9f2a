"""Checks the names of definitions, and finds the full names that they stand for (pure)."""

from __future__ import annotations

from collections.abc import Iterable

from turnout.errors import StoredDefinitionError
from turnout.model.names import is_identifier

_FORBIDDEN = ("/", "\\", "..", "\0")


def checked_name(name: str) -> str:
    """Returns the name of a definition. Raises if it is a path, or no identifier."""
    if any(each in name for each in _FORBIDDEN):
        raise StoredDefinitionError(
            f"{name!r} is a path: the name of a workflow is an identifier such as nightly_report",
            code="path_in_name",
            workflow=name,
        )
    if not all(is_identifier(part) for part in name.split("::")) or name.count("::") > 2:
        raise StoredDefinitionError(
            f"{name!r} cannot be the name of a workflow: begin with a letter or _, then letters, digits, _ . and -, "
            "128 characters at most",
            code="bad_definition_name",
            workflow=name,
        )
    return name


def matching_names(name: str, full_names: Iterable[str]) -> list[str]:
    """Returns the full names that a name stands for: itself, else those with that ``package::name`` or last part.

    >>> matching_names("etl", ["public::embedded::etl", "public::ml::etl", "public::ml::fit"])
    ['public::embedded::etl', 'public::ml::etl']
    """
    names = list(full_names)
    if name in names:
        return [name]
    return [each for each in names if name in (each.partition("::")[2], each.rpartition("::")[2])]
