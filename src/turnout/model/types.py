"""Converts values of users' own types to JSON and back.

msgspec knows dataclasses, structs, enums, dates and the like. Here is what it does not know: paths, pydantic models
(pydantic is never imported for it), and the types that people register.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, NamedTuple, TypeAlias, TypeVar, get_origin

import msgspec

from turnout.errors import DefinitionError, NotJson

T = TypeVar("T")
Dump: TypeAlias = Callable[[Any], Any]
Load: TypeAlias = Callable[[Any], Any]

ALREADY_KNOWN = (msgspec.Struct, Enum, dict, list, tuple, set, frozenset, str, int, float, bytes, type(None))
PLAIN = frozenset({type(None), bool, int, float, str})


class _Registered(NamedTuple):
    dump: Dump
    load: Load


_registered: dict[type, _Registered] = {}


def register_type(kind: type[T], *, dump: Callable[[T], Any], load: Callable[[Any], T]) -> None:
    """Registers the conversion of a type: ``dump`` makes a JSON value (or one of a known type), ``load`` undoes it.

    To be called where the type is defined, so that every process that has the code knows. Registering again replaces.

    >>> from fractions import Fraction
    >>> register_type(Fraction, dump=str, load=Fraction)
    """
    if not isinstance(kind, type):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise DefinitionError(f"register_type takes a class, not {kind!r}", code="bad_type")
    if issubclass(kind, ALREADY_KNOWN) or hasattr(kind, "__dataclass_fields__") or _is_model(kind):
        raise DefinitionError(
            f"{kind.__qualname__} is converted already, by its fields or as what it derives from: "
            "there is nothing to register",
            code="bad_type",
            type=kind.__qualname__,
        )
    for name, function in (("dump", dump), ("load", load)):
        if not callable(function):
            raise DefinitionError(
                f"{name} of {kind.__qualname__} is {function!r}: give a function of one value", code="bad_type"
            )
    _registered[kind] = _Registered(dump, load)


class NoConverter(TypeError):
    """Raised when there is no conversion between a type and JSON."""

    def __init__(self, kind: Any) -> None:
        self.kind = getattr(kind, "__qualname__", str(kind))
        super().__init__(
            f"there is no way between {self.kind} and JSON: make it a dict, a dataclass, a msgspec struct or a "
            f"pydantic model, or say how with turnout.register_type({self.kind}, dump=…, load=…)"
        )


def to_json_value(value: Any, what: str = "output") -> Any:
    """Returns the value converted to JSON values: ``what`` names it in errors. Tuples become lists."""
    try:
        return _converted(value, what)
    except NotJson as error:
        raise with_path(error, value, what, _converted) from error.__cause__


def _converted(value: Any, what: str) -> Any:
    try:
        return _plain(value, what, 0)
    except NotJson:
        raise
    except NoConverter as error:
        message = f"{what} holds a value of type {error.kind}, which is not JSON: {error}"
        raise NotJson(message, type=error.kind) from error
    except Exception as error:
        kind = type(value).__qualname__
        message = f"{what} of type {kind} cannot be made JSON: {type(error).__qualname__}: {error}"
        raise NotJson(message, type=kind) from error


def _plain(value: Any, what: str, depth: int, *, field: bool = False) -> Any:
    if depth > MAX_DEPTH:
        raise NotJson(f"{what} is nested deeper than {MAX_DEPTH} levels", code="json_depth")
    if type(value) in PLAIN:
        return value
    match value:
        case Enum():
            return _plain(value.value, what, depth + 1)
        case dict():
            return {_key(key, what, field): _plain(item, what, depth + 1, field=field) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item, what, depth + 1, field=field) for item in value]
        case set() | frozenset():
            # Sets are sorted, so that equal sets have equal text.
            items = [_plain(item, what, depth + 1, field=field) for item in value]
            with contextlib.suppress(TypeError):
                items.sort()
            return items
        case str():
            return str.__str__(value)
        case int():
            return int(value)
        case float():
            return float(value)
        case _ if hasattr(type(value), "__dataclass_fields__"):
            # By its fields: the __dict__ that msgspec reads lacks defaults that were not set.
            import dataclasses

            names = [each.name for each in dataclasses.fields(value)]
            return {name: _plain(getattr(value, name), what, depth + 1, field=True) for name in names}
        case _:
            return msgspec.to_builtins(value, str_keys=True, enc_hook=dump_hook)


def _key(key: Any, what: str, field: bool) -> str:
    if isinstance(key, str):
        return str.__str__(key.value if isinstance(key, Enum) else key)
    if field:
        # The type of a field's keys is known, so they can be converted back.
        return next(iter(msgspec.to_builtins({key: None}, str_keys=True, enc_hook=dump_hook)))
    raise not_a_key(what, key)


def not_a_key(what: str, key: Any) -> NotJson:
    return NotJson(f"{what} has the key {key!r}; JSON keys are strings", code="not_json")


def dump_hook(value: Any) -> Any:
    """Returns the JSON value of a type that msgspec does not know."""
    kind = type(value)
    for each in kind.__mro__:
        found = _registered.get(each)
        if found is not None:
            return found.dump(value)
    if _is_path(kind):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if _is_model(kind):
        return value.model_dump(mode="json", by_alias=True)
    raise NoConverter(kind)


def load_hook(annotation: Any, value: Any) -> Any:
    """Builds the value of an annotation that msgspec does not know. Raises ValueError or TypeError if it cannot."""
    kind = get_origin(annotation) or annotation
    found = _registered.get(kind)
    if found is not None:
        return found.load(value)
    if isinstance(kind, type):
        if _is_path(kind):
            if not isinstance(value, str):
                raise ValueError(f"Expected a path as text, got `{type(value).__name__}`")
            return kind(value)
        if _is_model(kind):
            return _model(annotation, value)
    try:
        fits = isinstance(value, kind)
    except TypeError:
        return value  # a protocol, or another type for type checkers only
    if fits:
        return value
    raise NoConverter(kind)


def schema_hook(annotation: Any) -> dict[str, Any]:
    """Returns the JSON schema of an annotation that msgspec does not know."""
    kind = get_origin(annotation) or annotation
    if isinstance(kind, type) and _is_path(kind):
        return {"type": "string", "format": "path"}
    if isinstance(kind, type) and _is_model(kind):
        model: Any = annotation
        return model.model_json_schema()
    return {}


# A program with paths or pydantic models has imported their modules; in others they are not imported.
def _is_path(kind: type) -> bool:
    pathlib: Any = sys.modules.get("pathlib")
    return pathlib is not None and issubclass(kind, pathlib.PurePath)


def _is_model(kind: type) -> bool:
    pydantic: Any = sys.modules.get("pydantic")
    return pydantic is not None and issubclass(kind, pydantic.BaseModel)


def _model(model: Any, value: Any) -> Any:
    try:
        return model.model_validate(value)
    except ValueError as error:
        errors: Callable[[], list[dict[str, Any]]] | None = getattr(error, "errors", None)
        if errors is None:
            raise
        problems = [f"{'.'.join(map(str, each['loc'])) or 'value'}: {each['msg']}" for each in errors()]
        raise ValueError("; ".join(problems)) from error


MAX_DEPTH = 100
"""The greatest depth of nested values."""


def with_path(error: NotJson, value: Any, what: str, check: Callable[[Any, str], object]) -> NotJson:
    """Returns the error with the path to the invalid part, as in ``output['rows'][3]``; ``check`` raises it."""
    if "path" in error.fields or error.code == "json_depth":
        return error
    for path, part in _suspects(value, "", 0):
        try:
            check(part, f"{what}{path}")
        except NotJson as found:
            found.fields["path"] = path
            return found
    return error


def _suspects(value: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Yields the parts that may be invalid, in order, with their paths."""
    if depth > MAX_DEPTH:
        return
    match value:
        case None | bool() | int():
            return
        case float() | str():
            if not _harmless(value):
                yield path, value
        case dict():
            items: dict[Any, Any] = value
            for key, item in items.items():
                if not (isinstance(key, str) and _harmless(key)):
                    yield path, {key: None}
                yield from _suspects(item, f"{path}[{key!r}]", depth + 1)
        case list() | tuple():
            for index, item in enumerate(value):
                yield from _suspects(item, f"{path}[{index}]", depth + 1)
        case _:
            fields = _fields(value)
            if not fields:
                yield path, value
            for name in fields:
                yield from _suspects(getattr(value, name), f"{path}.{name}", depth + 1)


def _harmless(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str) and value.isascii() and "\0" not in value


def _fields(value: Any) -> tuple[str, ...]:
    if isinstance(value, msgspec.Struct):
        return value.__struct_fields__
    return tuple(getattr(type(value), "__dataclass_fields__", ()))
