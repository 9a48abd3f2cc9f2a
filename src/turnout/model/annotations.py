"""Makes converters for annotations: each checks a JSON value, builds the Python value, and names its JSON schema.

Where msgspec cannot tell the members of a union apart, they are tried in the order in which they are written.
"""

from __future__ import annotations

import collections.abc
import types
import typing
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, TypeVar, Union, get_args, get_origin

import msgspec

from turnout.model.types import load_hook, schema_hook, to_json_value

Converter: TypeAlias = Callable[[Any], Any]

_JSON_TYPES = (Any, object, None, type(None), bool, int, float, str, dict, list)
_JSON_CONTAINERS = frozenset(
    {
        list,
        dict,
        collections.abc.Sequence,
        collections.abc.MutableSequence,
        collections.abc.Collection,
        collections.abc.Iterable,
        collections.abc.Mapping,
        collections.abc.MutableMapping,
    }
)


class ConversionError(ValueError):
    """Raised when a JSON value does not fit the annotation; the message names the part and the reason."""


class TypeAdapter(NamedTuple):
    """The annotation of a parameter or result, with its text and its converter."""

    text: str
    """The annotation as source text."""
    convert: Converter | None
    """Checks a JSON value and builds the annotated type; None if every value is accepted."""
    is_json: bool
    """True if the annotated type is a JSON type: values are checked at most, never built."""
    annotation: Any
    reads_text: bool = False
    """True if ``convert`` takes a text for every type."""


def type_adapter(annotation: Any) -> TypeAdapter:
    return TypeAdapter(type_text(annotation), converter_of(annotation), is_json(annotation), annotation)


def converter_of(annotation: Any) -> Converter | None:
    """Returns the converter of JSON values to the annotated type; None if every value is accepted.

    The converter raises ``ConversionError``.
    """
    annotation = strip_annotation(annotation)
    if annotation in (Any, object) or isinstance(annotation, TypeVar):
        return None
    try:
        msgspec.json.Decoder(annotation, dec_hook=load_hook)
    except Exception as error:
        return _composed(annotation, str(error))
    return lambda value: _by_msgspec(value, annotation)


def _by_msgspec(value: Any, annotation: Any) -> Any:
    try:
        return msgspec.convert(value, annotation, dec_hook=load_hook, str_keys=True)
    except (msgspec.ValidationError, ValueError, TypeError) as error:
        raise ConversionError(str(error)) from error
    except Exception as error:
        # Raised by a registered load function, or by the constructor of the annotated class.
        raise ConversionError(f"{type(error).__qualname__}: {error}") from error


def _composed(annotation: Any, reason: str) -> Converter:
    """Returns the converter of an annotation that msgspec refuses, made of the converters of its parts."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return _first_that_fits([(type_text(each), converter_of(each)) for each in args])
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return lambda value: _member(annotation, value)
    if origin in (list, set, frozenset) or (origin is tuple and len(args) == 2 and args[1] is ...):
        return _items(origin, converter_of(args[0]))
    if origin is tuple:
        return _places([converter_of(each) for each in args])
    if origin is dict and args[0] is str:
        return _values(converter_of(args[1]))

    def refuse(value: Any) -> Any:
        raise ConversionError(
            f"the annotation cannot be used for conversion: {reason}; see register_type for types of your own"
        )

    return refuse


def _first_that_fits(members: list[tuple[str, Converter | None]]) -> Converter:
    def convert(value: Any) -> Any:
        reasons: list[str] = []
        for text, member in members:
            if member is None:
                return value
            try:
                return member(value)
            except ConversionError as error:
                reasons.append(f"as {text}: {error}")
        raise ConversionError("; ".join(reasons))

    return convert


def _items(container: Any, item: Converter | None) -> Converter:
    def convert(value: Any) -> Any:
        if not isinstance(value, list):
            raise ConversionError(f"Expected `array`, got `{_name(value)}`")
        return container(value if item is None else (_at(index, item, each) for index, each in enumerate(value)))

    return convert


def _places(items: list[Converter | None]) -> Converter:
    def convert(value: Any) -> Any:
        if not isinstance(value, list) or len(value) != len(items):
            raise ConversionError(f"Expected `array` of length {len(items)}, got `{_name(value)}`")
        pairs = enumerate(zip(items, value, strict=True))
        return tuple(each if item is None else _at(index, item, each) for index, (item, each) in pairs)

    return convert


def _values(item: Converter | None) -> Converter:
    def convert(value: Any) -> Any:
        if not isinstance(value, dict):
            raise ConversionError(f"Expected `object`, got `{_name(value)}`")
        return {key: each if item is None else _at(key, item, each) for key, each in value.items()}

    return convert


def _at(where: str | int, convert: Converter, value: Any) -> Any:
    try:
        return convert(value)
    except ConversionError as error:
        raise ConversionError(f"at [{where!r}]: {error}") from error


def _member(kind: type[Enum], value: Any) -> Enum:
    for member in kind:
        if type(to_json_value(member)) is type(value) and to_json_value(member) == value:
            return member
    raise ConversionError(f"Invalid enum value {value!r}")


def is_json(annotation: Any) -> bool:
    """True if values of that annotation are JSON values and need no conversion."""
    annotation = strip_annotation(annotation)
    if isinstance(annotation, TypeVar) or any(annotation is each for each in _JSON_TYPES):
        return True
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return all(each is None or type(each) in (bool, int, str) for each in args)
    if origin in (Union, types.UnionType):
        return all(is_json(each) for each in args)
    if origin in _JSON_CONTAINERS:
        if len(args) == 2:  # noqa: SIM102 - keys and values
            if strip_annotation(args[0]) not in (str, Any):
                return False
        return all(is_json(each) for each in args)
    return origin is Annotated and is_json(args[0])


def strip_annotation(annotation: Any) -> Any:
    """Returns the annotation without new types, aliases and metadata that sets no constraint."""
    while True:
        if get_origin(annotation) is Annotated:
            if any(isinstance(each, msgspec.Meta) for each in annotation.__metadata__):
                return annotation
            annotation = annotation.__origin__
        elif isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = annotation.__value__
        elif get_origin(annotation) is collections.abc.Iterable:
            annotation = list[get_args(annotation)[0]]
        else:
            return annotation


def type_text(annotation: Any) -> str:
    """Returns the annotation as source text: ``int``, ``list[Order]``, ``datetime | None``."""
    if annotation is None or annotation is type(None):
        return "None"
    if annotation is ...:
        return "..."
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return type_text(args[0])
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(type_text(each) for each in args))
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, args))}]"
    if origin is not None and args:
        return f"{_type_name(origin)}[{', '.join(_texts(args))}]"
    return _type_name(annotation)


def _texts(args: Iterable[Any]) -> list[str]:
    return ["[" + ", ".join(_texts(each)) + "]" if isinstance(each, list) else type_text(each) for each in args]


def _type_name(kind: Any) -> str:
    name = getattr(kind, "__qualname__", None) or getattr(kind, "__name__", None) or str(kind)
    return str(name).rpartition("<locals>.")[2].removeprefix("typing.")


def schema_of(annotation: Any) -> dict[str, Any]:
    """Returns the JSON schema of the annotation; empty if it has none."""
    try:
        return msgspec.json.schema(annotation, schema_hook=schema_hook)
    except Exception:
        return _composed_schema(strip_annotation(annotation))


def _composed_schema(annotation: Any) -> dict[str, Any]:
    """Returns the schema of an annotation that msgspec refuses, made of the schemas of its parts."""
    origin, args = get_origin(annotation), get_args(annotation)
    definitions: dict[str, Any] = {}

    def part(kind: Any) -> dict[str, Any]:
        schema = {} if strip_annotation(kind) is object else schema_of(kind)
        definitions.update(schema.pop("$defs", {}))
        return schema

    if origin in (Union, types.UnionType):
        made: dict[str, Any] = {"anyOf": [part(each) for each in args]}
    elif origin in (list, set, frozenset) or (origin is tuple and len(args) == 2 and args[1] is ...):
        made = {"type": "array", "items": part(args[0])}
    elif origin is tuple:
        made = {"type": "array", "prefixItems": [part(each) for each in args]}
    elif origin is dict and args[0] is str:
        made = {"type": "object", "additionalProperties": part(args[1])}
    else:
        return {}
    return {**made, "$defs": definitions} if definitions else made


def _name(value: Any) -> str:
    return type(value).__name__
