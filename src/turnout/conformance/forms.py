"""The forms that one message may have: as the hub writes it, with every field, or with none that has its default."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, TypeAlias

import msgspec

from turnout.wire.messages import KINDS, Message

Form: TypeAlias = Literal["hub", "sparse", "full"]
"""``hub``: exactly the fields that a hub sends. ``sparse``: no field that has its default. ``full``: every field."""


def written(kind: str, body: Any, form: Form = "hub") -> Any:
    """The body of a message in this form. Fields that do not exist are kept; what is no such message stays as it is.

    >>> step = {"step_id": "7", "task_id": "r", "step_name": "s", "handler_class": "h", "metadata": {"token": "7.1"}}
    >>> body = {"batch_id": "b", "protocol_version": "1.0", "steps": [step]}
    >>> written("steps", body, "sparse") == body
    True
    >>> written("steps", body)["steps"][0]["previous_results"], written("steps", body)["steps"][0]["metadata"]
    ({}, {'token': '7.1'})
    """
    message = _message(kind, body)
    return body if message is None else _written(message, body, form)


def exact(kind: str, body: Any) -> Message | None:
    """The message that a hub would send for this; None if no hub would."""
    message = _message(kind, body)
    if message is None or _json(_written(message, body, "hub")) != _json(message):
        return None
    return message


_json = msgspec.json.encode


def _message(kind: str, body: Any) -> Message | None:
    if kind not in KINDS:
        return None
    try:
        return msgspec.convert(body, KINDS[kind])
    except msgspec.ValidationError:
        return None


def _written(value: Any, document: Any, form: Form) -> Any:
    if isinstance(value, msgspec.Struct):
        return _fields(value, document, form)
    if isinstance(value, tuple):
        return [_written(each, part, form) for each, part in zip(value, document, strict=True)]
    return value


def _fields(value: msgspec.Struct, document: Mapping[str, Any], form: Form) -> dict[str, Any]:
    omits = value.__struct_config__.omit_defaults if form == "hub" else form == "sparse"
    result: dict[str, Any] = {}
    fields = _fields_of(type(value))
    for field in fields:
        each = getattr(value, field.name)
        if not (omits and _is_default(field, each)):
            result[field.name] = _written(each, document.get(field.name, each), form)
    known = {field.name for field in fields}
    return {**result, **{name: each for name, each in document.items() if name not in known}}


@cache
def _fields_of(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(kind)


def _is_default(field: msgspec.structs.FieldInfo, value: Any) -> bool:
    if field.default is not msgspec.NODEFAULT:
        # ``0`` is not ``False``, and both are equal.
        return type(value) is type(field.default) and value == field.default
    return field.default_factory is not msgspec.NODEFAULT and value == field.default_factory()
