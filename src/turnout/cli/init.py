"""``turnout init``: a project to start from."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from turnout.cli.options import Json


def init(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where; it is made if it does not exist.")] = Path(),
    as_json: Json = False,
) -> None:
    """Write a workflow, its test, a turnout.toml and a README.

    Also a .gitignore. Files that exist are left as they are.

    \b
    turnout init shop && cd shop
    turnout run flows.py -p name=Ada
    """
    from turnout.cli.output import say, say_json
    from turnout.cli.starter import write_starter

    written, kept = write_starter(folder)
    if as_json:
        say_json({"folder": str(folder), "written": written, "kept": kept})
        return
    for name in written:
        say([("✓ ", "green"), (f"{folder / name}", "")])
    for name in kept:
        say([("· ", "dim"), (f"{folder / name} exists: left as it is", "dim")])
    say("\nnext:")
    if folder.resolve() != Path.cwd():
        say(f"  {shlex.join(('cd', str(folder)))}")
    say("  turnout run flows.py -p name=Ada")
