"""How are the JSON values that a task is called with made into what its parameters are annotated with?"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from turnout.errors import WrongType
from turnout.model.annotations import Typed, Unfit


class Conversions(NamedTuple):
    """What is to be done with the workflow's arguments of one function: most functions have nothing of the kind."""

    positional: tuple[tuple[int, str, Typed], ...]
    """Position among the open parameters, name and type."""
    named: Mapping[str, Typed]
    rest: tuple[int, str, Typed] | None
    """Of ``*args``: where they begin."""
    others: Typed | None
    """Of ``**kwargs``."""


def conversions_for(types: Mapping[str, Typed], parameters: Iterable[inspect.Parameter]) -> Conversions | None:
    """What these parameters ask for; None if all of them take JSON values as they are."""
    types = {name: each for name, each in types.items() if not each.is_json and each.convert is not None}
    if not types:
        return None
    positional: list[tuple[int, str, Typed]] = []
    named: dict[str, Typed] = {}
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
    """The arguments as the body is annotated, or the error that names the task, the argument and the way out."""
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


def _convert(known: Typed, value: Any, name: str, task: str) -> Any:
    assert known.convert is not None
    try:
        return known.convert(value)
    except Unfit as error:
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
