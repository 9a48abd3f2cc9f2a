"""Groups of commands: their lists of commands are never cut off, and a bare group may do something."""

from __future__ import annotations

from typing import Any

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


def refuse_options_before(context: typer.Context) -> None:
    """Options of a bare group stand in no command's way: before one they would be ignored."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    if context.invoked_subcommand is not None and given:
        raise typer.BadParameter(
            f"options go after the command: {context.command_path} {context.invoked_subcommand} …", ctx=context
        )
