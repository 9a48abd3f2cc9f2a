"""Options that several commands share, and command groups whose help is never truncated."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from turnout.cli.plain_values import plain_parameters

Target = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="A configured workflow's name, module:workflow, file.py:workflow or a YAML file; :workflow if there "
        "are several.",
    ),
]
Run = Annotated[str, typer.Argument(metavar="RUN", help="A run's id, the beginning of one, or `last`.")]
Database = Annotated[
    str | None,
    typer.Option("--database", "-d", metavar="URL", help="sqlite:///path or postgresql://…; else as configured."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Parameters = Annotated[
    list[str] | None,
    typer.Option("--param", "-p", metavar="KEY=VALUE", help="A parameter of the workflow; may be repeated."),
]
ParametersFile = Annotated[
    str | None,
    typer.Option("--input", "-i", metavar="FILE|JSON", help="JSON object of parameters; - is standard input."),
]
Key = Annotated[str | None, typer.Option(help="Idempotency key: the same key and input give the same run.")]
Priority = Annotated[int, typer.Option(help="Higher goes first.")]
Timeout = Annotated[str | None, typer.Option(help="Fail the run after this long, as 30s, 5m or 1h30m.")]
Arguments = Annotated[
    list[str] | None,
    typer.Argument(metavar="[-- VALUE…]", help="Values of the parameters in their order, or NAME=value."),
]
Code = Annotated[
    str | None,
    typer.Option("--target", "-t", metavar="TARGET", help="Where the workflow's code is, if it is not configured."),
]
LogLevel = Annotated[
    str | None,
    typer.Option(
        metavar="LEVEL",
        help="The lowest level of log records that are kept with their tasks and shown here; by default warning.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
NoWait = Annotated[
    bool, typer.Option("--no-wait", help="Only store the run, for another orchestrator, and print its id.")
]


MAX_HELP_LENGTH = 1000
"""Characters; longer than the first sentence of any help."""


class Group(TyperGroup):
    """A group whose help wraps the lines of commands on a narrow screen instead of truncating them."""

    def get_params(self, ctx: Any) -> list[Any]:
        return plain_parameters(super().get_params(ctx))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        names = self.list_commands(ctx)
        commands = [(name, command) for name in names if (command := self.get_command(ctx, name)) is not None]
        rows = [(name, command.get_short_help_str(MAX_HELP_LENGTH)) for name, command in commands if not command.hidden]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


def default_command(app: typer.Typer, command: Callable[..., Any], help: str) -> None:
    """Makes this command run when the group is called without one; the group takes its options."""

    def group(context: typer.Context, **options: Any) -> None:
        refuse_group_options(context)
        if context.invoked_subcommand is None:
            command(**options)

    own = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    options = inspect.signature(command, eval_str=True).parameters.values()
    cast("Any", group).__signature__ = inspect.Signature([own, *options])
    app.callback(help=help)(group)


def refuse_group_options(context: typer.Context) -> None:
    """Raises BadParameter for options of the group before a command, where they would be ignored."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    if context.invoked_subcommand is not None and given:
        raise typer.BadParameter(
            f"options go after the command: {context.command_path} {context.invoked_subcommand} …", ctx=context
        )
