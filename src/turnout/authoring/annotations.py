"""Resolves the annotations of functions, and converts the JSON arguments of a call to the annotated types.

Text annotations (``from __future__ import annotations``, quotes) are resolved in the function's module and closure, one
by one. One that cannot be resolved, such as a name imported for type checkers only, is treated as absent.
"""

from __future__ import annotations

import functools
import inspect
import threading
import typing
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

from turnout.errors import WrongType
from turnout.model.annotations import ConversionError, TypeAdapter, type_adapter

RETURN = "return"


@functools.lru_cache(maxsize=4096)
def annotations_of(function: Callable[..., Any]) -> MappingProxyType[str, Any]:
    """Returns the annotations that could be resolved, by parameter; ``"return"`` is the result's."""
    plain = _plain_function(function)
    given: dict[str, Any] = getattr(plain, "__annotations__", {})
    known, local = getattr(plain, "__globals__", {}), _closure(plain)
    try:
        return MappingProxyType(_resolved(given, known, local))
    except Exception:
        found: dict[str, Any] = {}
        for name, annotation in given.items():
            try:
                found.update(_resolved({name: annotation}, known, local))
            except Exception as error:
                import logging

                logging.getLogger("turnout.types").info(
                    "annotation %r of %r in %s cannot be resolved (%s): its values stay plain JSON",
                    *(annotation, name, getattr(plain, "__qualname__", plain), error),
                )
        return MappingProxyType(found)


def types_of(function: Callable[..., Any]) -> MappingProxyType[str, TypeAdapter]:
    """Returns the converters of annotated parameters, by name; ``"return"`` is the result's."""
    # msgspec inspects a class when it is first used, and two threads that do so at the same moment crash the process;
    # bodies of one task start in many threads at once.
    with _one_at_a_time:
        return _types_of(function)


_one_at_a_time = threading.RLock()


@functools.lru_cache(maxsize=4096)
def _types_of(function: Callable[..., Any]) -> MappingProxyType[str, TypeAdapter]:
    return MappingProxyType({name: type_adapter(annotation) for name, annotation in annotations_of(function).items()})


def _plain_function(function: Any) -> Any:
    function = inspect.unwrap(function)
    while isinstance(function, functools.partial):
        function = inspect.unwrap(function.func)
    if inspect.isroutine(function) or isinstance(function, type):
        return function
    return getattr(type(function), "__call__", function)  # noqa: B004 - an instance has the annotations of its call


def _closure(function: Any) -> dict[str, Any]:
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
    if code is None or cells is None:
        return {}
    found: dict[str, Any] = {}
    for name, cell in zip(code.co_freevars, cells, strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found


def _resolved(given: dict[str, Any], known: dict[str, Any], local: dict[str, Any]) -> dict[str, Any]:
    holder: Any = SimpleNamespace(__annotations__=given)
    return typing.get_type_hints(holder, globalns=known, localns=local, include_extras=True)


class Conversions(NamedTuple):
    """The conversions of the arguments that a workflow passes to a function. Most functions need none."""

    positional: tuple[tuple[int, str, TypeAdapter], ...]
    """Position among the open parameters, name and type."""
    named: Mapping[str, TypeAdapter]
    rest: tuple[int, str, TypeAdapter] | None
    """Of ``*args``: the position of the first."""
    others: TypeAdapter | None
    """Of ``**kwargs``."""


def conversions_for(types: Mapping[str, TypeAdapter], parameters: Iterable[inspect.Parameter]) -> Conversions | None:
    """Returns the conversions for these parameters; None if all of them take JSON values unchanged."""
    types = {name: each for name, each in types.items() if not each.is_json and each.convert is not None}
    if not types:
        return None
    positional: list[tuple[int, str, TypeAdapter]] = []
    named: dict[str, TypeAdapter] = {}
    rest = others = None
    for index, parameter in enumerate(parameters):
        known = types.get(parameter.name)
        if known is None:
            continue
        match parameter.kind:
            case inspect.Parameter.VAR_POSITIONAL:
                rest = (index, parameter.name, known)
            case inspect.Parameter.VAR_KEYWORD:
                others = known
            case kind:
                if kind is not inspect.Parameter.KEYWORD_ONLY:
                    positional.append((index, parameter.name, known))
                named[parameter.name] = known
    if not (named or rest or others):
        return None
    return Conversions(tuple(positional), named, rest, others)


def converted(
    conversions: Conversions, args: tuple[Any, ...], kwargs: Mapping[str, Any], task: str
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns the arguments as the body annotates them; raises an error that names the task and the argument."""
    made, named = list(args), dict(kwargs)
    for index, name, known in conversions.positional:
        if index < len(made):
            made[index] = _convert(known, made[index], name, task)
    if conversions.rest is not None:
        start, name, known = conversions.rest
        made[start:] = [_convert(known, value, name, task) for value in made[start:]]
    for name, value in kwargs.items():
        known = conversions.named.get(name, conversions.others)
        if known is not None:
            named[name] = _convert(known, value, name, task)
    return tuple(made), named


def _convert(known: TypeAdapter, value: Any, name: str, task: str) -> Any:
    assert known.convert is not None
    if type(value) is known.annotation:
        return value  # a handler's step is no JSON value
    try:
        return known.convert(value)
    except ConversionError as error:
        way_out = (
            f"annotate it {known.text} | None if what it comes from may be skipped"
            if value is None
            else "let the task before return what fits, or change the annotation"
        )
        raise WrongType(
            f"argument {name!r} of task {task} must be {known.text}, but it got a value of type "
            f"{type(value).__name__}: {error}. Way out: {way_out}",
            task=task,
            parameter=name,
            type=type(value).__name__,
        ) from error
