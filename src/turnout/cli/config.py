"""``turnout config``: what is configured, and is it right?"""

from __future__ import annotations

from typing import Annotated

import typer

from turnout.cli.groups import Group
from turnout.cli.options import Json

app = typer.Typer(cls=Group, rich_markup_mode=None, no_args_is_help=True, help="Show or check the configuration.")


@app.command()
def show(
    origin: Annotated[bool, typer.Option("--origin", help="Say where each value comes from.")] = False,
    as_json: Json = False,
) -> None:
    """Print every setting with its value, secrets left out."""
    from turnout.cli.configured import settings_in_force
    from turnout.cli.output import say_columns, say_json
    from turnout.model.printable import json_text

    found = settings_in_force()
    if as_json:
        say_json([each._asdict() for each in found])
        return
    say_columns(
        [
            [(each.spelling, ""), (json_text(each.value), "cyan"), (each.origin if origin else "", "dim")]
            for each in found
        ]
    )


@app.command()
def check(as_json: Json = False) -> None:
    """Check that an orchestrator would start with this configuration.

    The file is right, the executors can be made, and the rules can work with the workflows.
    """
    from turnout.cli.configured import check_all
    from turnout.cli.output import say, say_json
    from turnout.runner.settings import configuration

    config = configuration()
    warnings = check_all(config)
    if as_json:
        say_json({"ok": True, "file": None if config.file is None else str(config.file), "warnings": warnings})
        return
    for warning in warnings:
        say([(f"warning: {warning}", "yellow")])
    say([("✓ ", "green"), (str(config.file or "no file: defaults and the environment"), "")])
