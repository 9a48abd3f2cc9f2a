"""Reads ``-p key=value`` from a command line by the annotations of the workflow's parameters."""

from __future__ import annotations

import collections.abc
import contextlib
from collections.abc import Iterable, Mapping
from datetime import timedelta
from enum import Enum
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from turnout.authoring.workflow import Workflow
from turnout.errors import InvalidWorkflow
from turnout.model.annotations import converter_of, strip_annotation
from turnout.model.durations import seconds
from turnout.model.inputs import Problem, examine, input_error
from turnout.model.types import to_json_value
from turnout.model.values import load_json

TRUE = frozenset({"true", "yes", "on", "1"})
FALSE = frozenset({"false", "no", "off", "0"})
LISTS = frozenset(
    {
        list,
        tuple,
        set,
        frozenset,
        collections.abc.Sequence,
        collections.abc.MutableSequence,
        collections.abc.Collection,
        collections.abc.Iterable,
        collections.abc.Set,
    }
)


def parse_parameters(
    workflow: Workflow[..., Any], pairs: Iterable[str], base: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Returns the parameters that are given as ``["key=value", …]``, checked by the workflow.

    A ``str`` is the text itself; numbers, booleans (true/false, yes/no, on/off), dates, durations (``5m``) and enums
    (by value or name) are written plainly; lists as ``a,b``, as JSON, or by giving the key several times; types with
    fields as JSON. ``null`` is None if that is allowed. Without an annotation, JSON if it is JSON, else text.
    ``base`` are JSON values from another source, such as a file; the pairs override them.
    Raises ``InvalidInput`` with all errors, missing parameters included.
    """
    spec, types = workflow.spec, workflow.source.types
    texts: dict[str, list[str]] = {}
    problems: list[Problem] = []
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.strip():
            message = f"parameter {pair!r} of workflow {spec.name!r} has no value: write key=value"
            problems.append(Problem("bad_parameter", name, message))
        else:
            texts.setdefault(name.strip(), []).append(text)
    given: dict[str, Any] = dict(base or {})
    for name, some in texts.items():
        annotation = types[name].annotation if name in types else Any
        if len(some) == 1:
            given[name] = _read(some[0], annotation)
        elif (item := _item_of(annotation)) is not None:
            given[name] = [_read(text, item) for text in some]
        else:
            message = f"parameter {name!r} of workflow {spec.name!r} is given {len(some)} times: it takes one value"
            problems.append(Problem("duplicate_parameter", name, message))
            given[name] = _read(some[0], annotation)
    values, found = examine(spec, given, types)
    if problems or found:
        raise input_error(spec.name, [*problems, *found])
    return {name: value for name, value in values.items() if name in given}


def _read(text: str, annotation: Any) -> Any:
    """Returns the most likely value of the text, not yet checked."""
    annotation = strip_annotation(annotation)
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation is str:
        return text
    if origin in (Union, UnionType):
        return _read_union(text, args)
    if annotation in (bool, int, float, timedelta):
        return _read_scalar(text, annotation)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _read_enum(text, annotation)
    if origin is Literal:
        return next((each for each in args if str(each) == text), text)
    item = _item_of(annotation)
    if item is not None and not text.lstrip().startswith("["):
        return [_read(part.strip(), item) for part in text.split(",")] if text.strip() else []
    return _json_or_text(text, annotation)


def _read_scalar(text: str, kind: Any) -> Any:
    if kind is bool:
        return True if text.lower() in TRUE else False if text.lower() in FALSE else text
    if kind is timedelta:
        with contextlib.suppress(InvalidWorkflow):
            return timedelta(seconds=seconds(text))
        return text
    with contextlib.suppress(msgspec.ValidationError):
        return msgspec.convert(text, kind, strict=False)
    return text


def _read_union(text: str, members: tuple[Any, ...]) -> Any:
    if text == "null" and type(None) in members:
        return None
    for member in members:
        if member is not type(None):
            value = _read(text, member)
            if _fits(value, member):
                return value
    return text


def _read_enum(text: str, kind: type[Enum]) -> Any:
    by_value = (member for member in kind if str(member.value) == text)
    return next(by_value, kind.__members__.get(text, text))


def _json_or_text(text: str, annotation: Any) -> Any:
    """Returns the value of valid JSON, unless the annotation accepts the text itself."""
    try:
        value = load_json(text, "the parameter")
    except (msgspec.DecodeError, UnicodeEncodeError):
        return text
    if annotation is Any or not _fits(text, annotation):
        return value
    return text


def _fits(value: Any, annotation: Any) -> bool:
    convert = converter_of(annotation)
    if convert is None:
        return True
    try:
        convert(to_json_value(value))
    except ValueError:
        return False
    return True


def _item_of(annotation: Any) -> Any:
    """Returns the type of the items of a list, set or tuple; None for other types."""
    annotation = strip_annotation(annotation)
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        found = [_item_of(each) for each in args if each is not type(None)]
        return found[0] if len(found) == 1 else None
    if annotation in LISTS:
        return Any
    if origin in LISTS and args and (len(args) == 1 or args[1] is ...):
        return args[0]
    return None
