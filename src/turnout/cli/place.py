"""Where a command goes: the options ``--database``, ``--server`` and ``--token-file`` as one value."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, cast

import msgspec
import typer

from turnout.cli.options import Database

Server = Annotated[
    str | None,
    typer.Option("--server", metavar="URL", help="Use this server instead of a database; else TURNOUT_SERVER."),
]
TokenFile = Annotated[
    str | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help="The file with the token for the server; else TURNOUT_TOKEN or TURNOUT_TOKEN_FILE.",
    ),
]
OPTIONS = {"database": Database, "server": Server, "token_file": TokenFile}


class Place(msgspec.Struct, frozen=True):
    """A database or a server, as the options name it."""

    database: str | None = None
    server: str | None = None
    token_file: str | None = None


HERE = Place()
"""The configured database, or the server that the environment names."""


def placed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the command with the three options in place of its parameter ``place``."""

    @functools.wraps(function)
    def command(*args: Any, **options: Any) -> Any:
        place = Place(**{name: options.pop(name, None) for name in OPTIONS})
        return function(*args, **options, place=place)

    own = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in OPTIONS.items()
    ]
    signature = inspect.signature(function, eval_str=True)
    others = [each for each in signature.parameters.values() if each.name != "place"]
    cast("Any", command).__signature__ = signature.replace(parameters=[*others, *own])
    return command
