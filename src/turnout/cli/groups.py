"""Groups of commands: their lists of commands are never cut off, and a bare group may do something."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, cast

import typer
from typer.core import TyperGroup

WHOLE = 1000
"""Characters; no first sentence of a help is as long."""


class Group(TyperGroup):
    """Wraps the line of a command where the screen is narrow, in place of cutting it off."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        names = self.list_commands(ctx)
        commands = [(name, command) for name in names if (command := self.get_command(ctx, name)) is not None]
        rows = [(name, command.get_short_help_str(WHOLE)) for name, command in commands if not command.hidden]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


def when_bare(app: typer.Typer, command: Callable[..., Any], help: str) -> None:
    """Make the group without a command do what this one of its commands does: its options are the group's."""

    def group(context: typer.Context, **options: Any) -> None:
        refuse_options_before(context)
        if context.invoked_subcommand is None:
            command(**options)

    own = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    options = inspect.signature(command, eval_str=True).parameters.values()
    cast("Any", group).__signature__ = inspect.Signature([own, *options])
    app.callback(help=help)(group)


def refuse_options_before(context: typer.Context) -> None:
    """Options of a bare group stand in no command's way: before one they would be ignored."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    if context.invoked_subcommand is not None and given:
        raise typer.BadParameter(
            f"options go after the command: {context.command_path} {context.invoked_subcommand} …", ctx=context
        )
