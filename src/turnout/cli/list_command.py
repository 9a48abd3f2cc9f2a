"""Makes the command ``ls`` of a group: it lists what a database or a server has, as a table or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import typer

from turnout.cli.options import Json, default_command
from turnout.cli.output import Span, print_list
from turnout.cli.place import HERE, Place, placed

if TYPE_CHECKING:
    from turnout.cli.service import Service

T = TypeVar("T")


def add_list(
    app: typer.Typer,
    header: Sequence[str],
    found: Callable[[Service], Sequence[T]],
    row: Callable[[T], Sequence[Span]],
    *,
    empty: str,
    help: str,
    group: str,
) -> None:
    """Adds the command to the group, which does the same without a command. ``empty`` is printed if there are none."""

    @placed
    def ls(as_json: Json = False, place: Place = HERE) -> None:
        from turnout.cli.service import service_at

        with service_at(place) as service:
            listed = found(service)
        print_list(listed, row, header, empty=empty, as_json=as_json)

    app.command(help=help)(ls)
    default_command(app, ls, group)
