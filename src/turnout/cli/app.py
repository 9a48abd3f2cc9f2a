"""Assembles the commands of ``turnout`` and their common help."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Annotated

import typer

from turnout.cli.config_option import add_config_option
from turnout.cli.options import Group
from turnout.cli.plain_values import use_plain_commands

HELP = """Durable workflows for Python.

\b
turnout init                               a project to start from
turnout run flows.py -p name=Ada           run a workflow and watch it
turnout enqueue flows.py -p name=Ada       store a run for an orchestrator
turnout runs ls                            what has run
turnout runs show last                     how it went, task by task
turnout logs last                          what its tasks printed
turnout runs rerun last                    again, from what failed
turnout validate nightly.yaml              every problem of a workflow file, with its line
turnout explain flows.py                   where each task goes, and why
turnout top                                watch the orchestrators work
turnout dev flows.py                       a server for one developer
turnout server flows.py                    drive runs and serve the API
turnout schedules next                     what runs by itself, and when
turnout tokens create ci --role operator   access to the API
turnout hooks create shop fulfil           an address that starts runs
turnout orchestrate flows.py               drive runs, as a process of its own
turnout worker --connect tcp://…           run tasks for a hub elsewhere
turnout workers ls                         the connected workers and their load
turnout limits ls                          limits and queues, and what waits for them
"""

COMMANDS = {
    "run": "run",
    "enqueue": "enqueue",
    "logs": "logs",
    "graph": "graph",
    "explain": "explain",
    "validate": "validate",
    "schema": "schema",
    "init": "init",
    "health": "health",
    "top": "top",
    "metrics": "health",
    "doctor": "doctor",
    "prune": "prune",
    "server": "server",
    "dev": "dev",
    "orchestrate": "orchestrate",
    "worker": "worker",
    "conformance": "conformance",
    "demo": "demo",
}
"""The commands in the order of the help, each a function of its name, with the module that has it."""
GROUPS = ("runs", "workers", "limits", "schedules", "tokens", "hooks", "triggers", "config", "keys")
"""The groups of commands, each the ``app`` of a module of its name."""
NAMES = (*COMMANDS, *GROUPS)


def names_of(given: Sequence[str]) -> Sequence[str]:
    """Returns the names of the commands that this command line needs: the one that it has, else all."""
    name = next((each for each in given if not each.startswith("-")), None)
    return (name,) if name in NAMES else NAMES


def application(names: Iterable[str] = NAMES) -> typer.Typer:
    """Returns ``turnout`` with these commands. Their modules are imported and their options read, and no others."""
    app = typer.Typer(
        cls=Group,
        rich_markup_mode=None,
        no_args_is_help=False,
        invoke_without_command=True,
        pretty_exceptions_enable=False,
    )
    app.callback(help=HELP)(turnout)
    for name in names:
        module = import_module(f"turnout.cli.{COMMANDS.get(name, name)}")
        if name in COMMANDS:
            app.command()(getattr(module, name))
        else:
            app.add_typer(module.app, name=name)
    add_config_option(app)
    use_plain_commands(app)
    return app


def turnout(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"turnout {installed('turnout')}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())
