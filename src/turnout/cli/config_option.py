"""The option ``--config FILE``, which every command has."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, cast

import typer

NAME = "config_file"
ConfigFile = Annotated[
    str | None,
    typer.Option("--config", metavar="FILE", help="The configuration file; else TURNOUT_CONFIG, else as found."),
]


def add_config_option(app: typer.Typer) -> None:
    """Adds the option to all commands of the application and of its groups."""
    for command in app.registered_commands:
        if command.callback is not None:
            command.callback = _with_config(command.callback)
    for group in app.registered_groups:
        inner = group.typer_instance
        if inner is None:
            continue
        add_config_option(inner)
        called = inner.registered_callback
        if called is not None and called.callback is not None:
            called.callback = _with_config(called.callback)


def _with_config(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the command with the option; its value is in force before the command begins."""
    signature = inspect.signature(function, eval_str=True)
    if NAME in signature.parameters:  # added to a group that another application has too
        return function

    @functools.wraps(function)
    def command(*args: Any, **options: Any) -> Any:
        file = options.pop(NAME, None)
        if file is not None:
            from turnout.runner.settings import use_config_file

            use_config_file(file)
        return function(*args, **options)

    own = inspect.Parameter(NAME, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=ConfigFile)
    cast("Any", command).__signature__ = signature.replace(parameters=[*signature.parameters.values(), own])
    return command
