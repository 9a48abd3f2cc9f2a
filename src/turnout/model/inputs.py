"""Checks and converts a run's input. All problems are reported at once, before anything is written."""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from turnout.errors import InputError, InvalidInput, NotJson
from turnout.model.annotations import ConversionError, TypeAdapter
from turnout.model.names import suggest
from turnout.model.spec import Param, WorkflowSpec
from turnout.model.types import PLAIN, to_json_value

_short = reprlib.Repr()
_short.maxstring = _short.maxother = 60


class Problem(msgspec.Struct, frozen=True):
    """One error in an input."""

    code: str
    parameter: str
    message: str


def check_input(
    spec: WorkflowSpec, input: Mapping[str, Any], types: Mapping[str, TypeAdapter] | None = None
) -> dict[str, Any]:
    """Returns the run's input as JSON values with defaults; raises an error that names every invalid parameter.

    ``types`` are the annotations of the workflow function, by parameter. A Context takes any keys.
    """
    values, problems = examine(spec, input, types or {})
    if problems:
        raise input_error(spec.name, problems)
    return values


def examine(
    spec: WorkflowSpec, input: Mapping[str, Any], types: Mapping[str, TypeAdapter]
) -> tuple[dict[str, Any], list[Problem]]:
    """Returns the valid part of the input, and the errors."""
    problems: list[Problem] = []
    if spec.context_style:
        return {name: _value(spec, Param(name), value, None, problems) for name, value in input.items()}, problems
    names = [param.name for param in spec.params]
    for name in input:
        if name not in names:
            message = f"workflow {spec.name!r} has no parameter {name!r}{suggest(name, names)}"
            problems.append(Problem("unknown_parameter", name, message))
    values: dict[str, Any] = {}
    for param in spec.params:
        if param.name in input:
            values[param.name] = _value(spec, param, input[param.name], types.get(param.name), problems)
        elif param.required:
            message = f"workflow {spec.name!r} needs the parameter {param.name!r}"
            message += f" ({param.type})" if param.type else ""
            problems.append(Problem("missing_parameter", param.name, message))
        else:
            values[param.name] = param.default
    return values, problems


def input_error(workflow: str, problems: Sequence[Problem]) -> InputError:
    """Returns one error for all problems; with a single problem it has its code."""
    if len(problems) == 1:
        [one] = problems
        kind = NotJson if one.code.startswith(("not_json", "json_")) else InvalidInput
        return kind(one.message, code=one.code, parameter=one.parameter, problems=list(problems))
    lines = "".join(f"\n  {one.message}" for one in problems)
    return InvalidInput(
        f"the input of workflow {workflow!r} has {len(problems)} faults:{lines}", problems=list(problems)
    )


def _value(spec: WorkflowSpec, param: Param, value: Any, known: TypeAdapter | None, problems: list[Problem]) -> Any:
    if value is None and not param.required and param.default is None:
        return None  # as ``x: int = None``, whose default does not fit the annotation
    where = f"parameter {param.name!r} of workflow {spec.name!r}"
    try:
        given = value if type(value) in PLAIN else to_json_value(value, where)
        if known is None or known.convert is None:
            return given
        made = known.convert(given)
        # The stored value is complete and normalized: defaults of fields, dates, decimals.
        return given if known.is_json else to_json_value(made, where)
    except NotJson as error:
        problems.append(Problem(error.code, param.name, error.message))
    except ConversionError as error:
        assert known is not None
        message = (
            f"{where} must be {known.text}, but {_short.repr(value)} ({type(value).__qualname__}) was given: {error}"
        )
        problems.append(Problem("invalid_parameter", param.name, message))
    return None


def named_values(
    positional: Sequence[str],
    arguments: Iterable[str],
    names: Collection[str] | None = None,
    workflow: str = "the workflow",
) -> list[str]:
    """Returns arguments as ``["key=value", …]``: one without a declared key gets that of the next parameter. ``names``
    are the declared keys, if there are others than those of positional parameters.

    >>> named_values(["day", "limit"], ["monday", "limit=10"])
    ['day=monday', 'limit=10']
    """
    declared = positional if names is None else names
    left, pairs = list(positional), list[str]()
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        if equals and name in declared:
            pairs.append(argument)
            left = [each for each in left if each != name]
        elif left:
            pairs.append(f"{left.pop(0)}={argument}")
        else:
            message = f"{argument!r} is one argument too many: {workflow} takes {len(declared)}"
            raise InvalidInput(message, code="unknown_parameter", value=argument)
    return pairs
