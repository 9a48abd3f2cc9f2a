"""``turnout keys``: pairs of keys for hubs and workers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from turnout.cli.groups import Group
from turnout.cli.options import Json

app = typer.Typer(
    cls=Group, rich_markup_mode=None, no_args_is_help=True, help="Make and show keys of hubs and workers."
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="The file with both halves.")]


@app.command()
def generate(
    file: File,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file; its keys are lost.")] = False,
    as_json: Json = False,
) -> None:
    """Make a pair of keys, and print its public half.

    Both go to a file that only you can read.

    \b
    turnout keys generate hub.key
    turnout keys generate gpu-box.key
    """
    import sys

    from turnout.cli.key_files import new_pair, to_paste, write_pair
    from turnout.cli.output import say, say_json

    pair = new_pair()
    write_pair(file, pair, force=force)
    if as_json:
        say_json({"file": str(file), "public_key": pair.public})
        return
    say(pair.public)
    for line in to_paste(file, pair.public):
        say(line, to=sys.stderr)


@app.command()
def show(
    file: File,
    env: Annotated[
        bool, typer.Option("--env", help="Print both halves, as the variables that workers in any language read.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Print the public key of a file.

    \b
    turnout keys show gpu-box.key
    turnout keys show gpu-box.key --env > worker.env     # this holds the secret key, too
    """
    from turnout.cli.key_files import variables
    from turnout.cli.output import say, say_json
    from turnout.wire.keys import read_pair

    pair = read_pair(file)
    if as_json:
        say_json({"file": str(file), "public_key": pair.public} | ({"variables": dict(variables(pair))} if env else {}))
    elif env:
        import shlex

        for name, value in variables(pair):
            say(f"{name}={shlex.quote(value)}")
    else:
        say(pair.public)
