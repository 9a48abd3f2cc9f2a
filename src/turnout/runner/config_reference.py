"""Describes every key of a configuration, for documentation: type, default, bounds, meaning and variable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from turnout.model.field_docs import field_docs
from turnout.model.setting_types import Settings, SettingType
from turnout.runner.config_schema import FIELDS, dotted
from turnout.runner.config_sources import variable_of


class SettingRow(msgspec.Struct, frozen=True, kw_only=True):
    """One key of a configuration."""

    table: str
    """The table that holds it, such as ``orchestration.coordinator``; empty for keys outside of tables."""
    name: str
    type: str
    """What to write, such as ``a whole number``."""
    default: Any
    bounds: str
    """What the value must be beside its type, such as ``at least 1``; empty if it has no bounds."""
    description: str
    variable: str
    """The environment variable that sets it."""


def setting_rows() -> Iterator[SettingRow]:
    """Yields every key in the order of the tables, but for ``executors``, whose options are those of their classes."""
    for key, field in FIELDS.items():
        kind = SettingType.of(field.type)
        yield SettingRow(
            table=dotted(key[:-1]),
            name=key[-1],
            type=kind.text,
            default=field.default,
            bounds=kind.bounds,
            description=descriptions(field.owner).get(field.name, ""),
            variable=variable_of(key),
        )


def descriptions(settings: type[Settings]) -> Mapping[str, str]:
    """Returns the docstring of each field of a class of settings, and of its base classes."""
    return field_docs(settings, Settings)
