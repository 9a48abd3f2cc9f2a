"""What do a function's annotations mean? Resolved one by one: one that cannot be resolved is as good as none.

Text annotations (``from __future__ import annotations``, quotes) are looked up in the function's module and closure. A
name that is imported for type checkers only, or a class that is local to some other function, is not to be found there.
"""

from __future__ import annotations

import functools
import inspect
import threading
import typing
from collections.abc import Callable
from types import MappingProxyType, SimpleNamespace
from typing import Any

from turnout.model.annotations import Typed, typed

RETURN = "return"


@functools.lru_cache(maxsize=4096)
def annotations_of(function: Callable[..., Any]) -> MappingProxyType[str, Any]:
    """The annotations that could be resolved, by parameter; ``"return"`` is the result's."""
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


def types_of(function: Callable[..., Any]) -> MappingProxyType[str, Typed]:
    """How values become what the annotations say, by parameter; ``"return"`` is the result's."""
    # msgspec finds out about a class when it is first asked, and two threads that ask at the same moment crash the
    # process; bodies of one task start in many threads at once.
    with _one_at_a_time:
        return _types_of(function)


_one_at_a_time = threading.RLock()


@functools.lru_cache(maxsize=4096)
def _types_of(function: Callable[..., Any]) -> MappingProxyType[str, Typed]:
    return MappingProxyType({name: typed(annotation) for name, annotation in annotations_of(function).items()})


def _plain_function(function: Any) -> Any:
    function = inspect.unwrap(function)
    while isinstance(function, functools.partial):
        function = inspect.unwrap(function.func)
    if inspect.isroutine(function) or isinstance(function, type):
        return function
    return getattr(type(function), "__call__", function)  # noqa: B004 - what an instance's call is annotated with


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
