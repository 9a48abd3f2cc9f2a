"""``turnout triggers``: lists event triggers, pauses, resumes and polls them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from turnout.cli.format import format_time
from turnout.cli.list_command import add_list
from turnout.cli.options import Group, Json
from turnout.cli.output import Span, print_changed
from turnout.cli.place import HERE, Place, placed

if TYPE_CHECKING:
    from turnout.model.triggers import TriggerRow
    from turnout.runner.triggers import TriggerVerb

app = typer.Typer(cls=Group, rich_markup_mode=None, invoke_without_command=True)

HEADER = ("name", "every", "state", "runs", "last poll", "next poll", "error")
Name = Annotated[str, typer.Argument(metavar="TRIGGER", help="The full name of a trigger, or its last part.")]


def _row(row: TriggerRow) -> list[Span]:
    failing = f"failing ({row.failures})" if row.failures else "not polled" if row.error else "active"
    state = f"paused by {row.paused_by}" if row.paused_by is not None else failing
    return [
        (row.name, ""),
        (f"{row.every:g} s", ""),
        (state, "yellow" if row.paused_by is not None else "red" if row.error else "green"),
        (str(row.runs), ""),
        (format_time(row.polled_at), "dim"),
        (format_time(row.next_poll), "dim"),
        (row.error or "", ""),
    ]


add_list(
    app,
    HEADER,
    lambda service: service.triggers.list(),
    _row,
    empty="no triggers",
    help="List the event triggers, with why the last poll failed.",
    group="Start runs by events. Without a command, list the triggers.",
)


@app.command()
@placed
def pause(name: Name, as_json: Json = False, place: Place = HERE) -> None:
    """Pause a trigger: it is not polled until it is resumed."""
    _change(name, "pause", as_json, place)


@app.command()
@placed
def resume(name: Name, as_json: Json = False, place: Place = HERE) -> None:
    """Resume a trigger."""
    _change(name, "resume", as_json, place)


@app.command()
@placed
def poll(name: Name, as_json: Json = False, place: Place = HERE) -> None:
    """Make a trigger due now: a server that has its code polls it within two seconds."""
    _change(name, "poll", as_json, place)


def _change(name: str, verb: TriggerVerb, as_json: bool, place: Place) -> None:
    from turnout.cli.service import service_at

    with service_at(place) as service:
        row = service.triggers.change(name, verb)
    done = {"pause": "is paused", "resume": "is resumed", "poll": "is due now"}
    print_changed(row, f"trigger {row.name} {done[verb]}", as_json=as_json)
