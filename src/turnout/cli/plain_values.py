"""Values of the command line that need no conversion. Typer converts with pydantic, whose import takes long."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, get_args, get_origin

import typer
from typer.core import TyperCommand


class PlainCommand(TyperCommand):
    """A command that takes texts and whole numbers as they were given."""

    def get_params(self, ctx: Any) -> list[Any]:
        return plain_parameters(super().get_params(ctx))


def use_plain_commands(app: typer.Typer) -> None:
    """Makes all commands of the application and of its groups plain."""
    for command in app.registered_commands:
        command.cls = PlainCommand
    for group in app.registered_groups:
        if group.typer_instance is not None:
            use_plain_commands(group.typer_instance)


def plain_parameters(parameters: Iterable[Any]) -> list[Any]:
    """Returns the parameters; they convert only what is not plain. Their class is the choice of Typer alone."""
    found = list(parameters)
    for parameter in found:
        # Older versions of Typer describe no types, and convert without pydantic.
        if hasattr(parameter, "type_descriptor") and "process_value" not in vars(parameter):
            parameter.process_value = partial(_processed, parameter, parameter.process_value)
    return found


def _processed(parameter: Any, convert: Callable[[Any, Any], Any], context: Any, value: Any) -> Any:
    several = parameter.multiple or parameter.nargs == -1
    kind = parameter.type_descriptor.annotation
    if value is None and not parameter.required:
        taken = () if several else None
    elif several and value and get_origin(kind) is list and get_args(kind) == (str,):
        taken = list(value)
    elif kind is str and isinstance(value, str):
        taken = value
    elif kind is int and (number := _number(parameter.type_descriptor.parameter_info, value)) is not None:
        taken = number
    else:
        return convert(context, value)
    return taken if parameter.callback is None else parameter.callback(context, parameter, taken)


def _number(option: Any, value: object) -> int | None:
    """Returns a whole number, given as one or as text; None if it is none, or out of the bounds of the option."""
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdecimal() else None
    if type(value) is not int or (option.min is not None and value < option.min):
        return None
    return value if option.max is None or value <= option.max else None
