"""Reads texts as the values that a JSON schema asks for: substituted texts become numbers, flags, lists and objects."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from turnout.model.annotations import ConversionError
from turnout.model.interpolation import as_text

Schema: TypeAlias = Mapping[str, Any]

TRUE = frozenset({"true", "yes", "on", "1"})
FALSE = frozenset({"false", "no", "off", "0"})
MAX_SHOWN = 60
MAX_REFERENCES = 100
_DEFINITION = "#/$defs/"


def read_value(value: Any, schema: Schema) -> Any:
    """Returns the value with its texts read as the schema asks: ``"3"`` is 3 for an integer, ``"[1]"`` a list for an
    array. A number or flag is a text for a string. Bounds are not checked. Raises ConversionError with what would be
    right.

    >>> read_value("3", {"type": "integer"}), read_value(["1", "2.5"], {"type": "array", "items": {"type": "number"}})
    (3, [1.0, 2.5])
    """
    return _read(value, schema, schema.get("$defs", {}))


def _read(value: Any, schema: Any, definitions: Schema) -> Any:
    for _ in range(MAX_REFERENCES):
        if not isinstance(schema, dict) or "$ref" not in schema:
            break
        schema = definitions.get(str(schema["$ref"]).removeprefix(_DEFINITION), {})
    if not isinstance(schema, dict):
        return value
    if "anyOf" in schema:
        return _read_any(value, schema["anyOf"], definitions)
    if "enum" in schema:
        return _read_choice(value, schema["enum"])
    read = _READERS.get(str(schema.get("type")))
    return value if read is None else read(value, schema, definitions)


def _read_any(value: Any, schemas: list[Schema], definitions: Schema) -> Any:
    """Returns the value as the first schema of its own type reads it, text excepted, else as the first that can."""
    same = [each for each in schemas if _JSON_TYPES.get(each.get("type", "")) is type(value) is not str]
    reasons: list[str] = []
    for schema in same or schemas:
        try:
            return _read(value, schema, definitions)
        except ConversionError as error:
            reasons.append(str(error))
    raise ConversionError(", or ".join(dict.fromkeys(reasons)))


def _read_choice(value: Any, choices: list[Any]) -> Any:
    for each in choices:
        if type(each) is type(value) and each == value:
            return each
    for each in choices:
        if as_text(each) == as_text(value):
            return each
    raise ConversionError(f"one of {', '.join(map(as_text, choices))}")


def _read_integer(value: Any, schema: Schema, definitions: Schema) -> Any:
    if isinstance(value, str):
        value = _decoded(value, int)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ConversionError("a whole number")


def _read_number(value: Any, schema: Schema, definitions: Schema) -> Any:
    if isinstance(value, str):
        value = _decoded(value, float)
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return value
    raise ConversionError("a number")


def _read_boolean(value: Any, schema: Schema, definitions: Schema) -> Any:
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word in TRUE or word in FALSE:
        return word in TRUE
    raise ConversionError("true or false")


def _read_string(value: Any, schema: Schema, definitions: Schema) -> Any:
    if value is None:
        raise ConversionError("text")
    return as_text(value)


def _read_null(value: Any, schema: Schema, definitions: Schema) -> Any:
    if value is None or (isinstance(value, str) and value.strip() in ("", "null")):
        return None
    raise ConversionError("null")


def _read_array(value: Any, schema: Schema, definitions: Schema) -> Any:
    found = _json(value) if isinstance(value, str) else value
    if not isinstance(found, list):
        raise ConversionError("a list, as JSON")
    places: list[Any] = schema.get("prefixItems", [])
    rest = schema.get("items", {})
    return [
        _at(f"[{number}]", each, places[number] if number < len(places) else rest, definitions)
        for number, each in enumerate(found)
    ]


def _read_object(value: Any, schema: Schema, definitions: Schema) -> Any:
    found = _json(value) if isinstance(value, str) else value
    if not isinstance(found, dict):
        raise ConversionError("an object, as JSON")
    known, rest = schema.get("properties", {}), schema.get("additionalProperties", {})
    return {name: _at(f".{name}", each, known.get(name, rest), definitions) for name, each in found.items()}


def _at(where: str, value: Any, schema: Any, definitions: Schema) -> Any:
    try:
        return _read(value, schema, definitions)
    except ConversionError as error:
        raise ConversionError(f"{error} at {where} instead of {shown_value(value)}") from error


def _decoded(text: str, kind: Any) -> Any:
    """Returns the number that the text is; the text itself if it is none."""
    try:
        return msgspec.convert(text.strip(), kind, strict=False)
    except msgspec.ValidationError:
        return text


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return text


def shown_value(value: Any) -> str:
    """Returns the value for a message: text in quotes, everything else as JSON, shortened."""
    text = repr(value) if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


_READERS: Mapping[str, Callable[[Any, Schema, Schema], Any]] = {
    "integer": _read_integer,
    "number": _read_number,
    "boolean": _read_boolean,
    "string": _read_string,
    "null": _read_null,
    "array": _read_array,
    "object": _read_object,
}
_JSON_TYPES: Mapping[str, type] = {
    "integer": int,
    "number": float,
    "boolean": bool,
    "string": str,
    "null": type(None),
    "array": list,
    "object": dict,
}
