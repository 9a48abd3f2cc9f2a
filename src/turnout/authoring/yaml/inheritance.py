"""Merges the values of ``base.yaml`` with those of a workflow file.

A key of the file replaces the inherited one, with these exceptions: ``env``, ``secrets`` and ``tags`` are joined, the
inherited entries first; ``handler_on`` and ``defaults`` are merged key by key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from turnout.authoring.yaml.document import Secret, WorkflowDocument
from turnout.authoring.yaml.tables import fields_of

NOT_INHERITED = ("name", "steps")
"""Keys that a base cannot have."""


def inherit(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values of a document with those of the base, each by its key."""
    merged = {**base, **own}
    for name, field in fields_of(WorkflowDocument).items():
        if name not in base or name not in own:
            continue
        if field.key.joined:
            merged[name] = _joined(base[name], own[name])
        elif isinstance(own[name], msgspec.Struct) and name in ("handler_on", "defaults"):
            merged[name] = _merged(base[name], own[name])
    return merged


def _joined(base: tuple[Any, ...], own: tuple[Any, ...]) -> tuple[Any, ...]:
    names = {each.name for each in own if isinstance(each, Secret)}
    kept = (each for each in base if not (isinstance(each, Secret) and each.name in names) and each not in own)
    return (*kept, *own)


def _merged(base: msgspec.Struct, own: msgspec.Struct) -> msgspec.Struct:
    values: dict[str, Any] = {}
    for name in own.__struct_fields__:
        inherited, written = getattr(base, name), getattr(own, name)
        joined = isinstance(inherited, tuple) and isinstance(written, tuple) and name != "shell"
        values[name] = (*inherited, *written) if joined else inherited if written is None else written
    return type(own)(**values)
