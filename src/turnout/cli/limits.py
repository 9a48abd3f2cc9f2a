"""``turnout limits``: lists limits and queues, and shows the holders and waiters of one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from turnout.cli.format import format_duration, format_time, one_line, short_id, workflow_name
from turnout.cli.list_command import add_list
from turnout.cli.options import Group, Json
from turnout.cli.output import Line, Span, print_json, print_line, print_rows
from turnout.cli.place import HERE, Place, placed

if TYPE_CHECKING:
    from turnout.model.limit_declarations import LimitDeclaration
    from turnout.model.slots import LimitDetail, LimitHolder, LimitView

app = typer.Typer(cls=Group, rich_markup_mode=None, invoke_without_command=True)

HEADER = ("limit", "size", "held", "waiting", "", "")

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="A limit's name with its parameters filled in, or a queue's.")
]


def _cells(view: LimitView) -> list[Span]:
    full = view.at_most is not None and view.held >= view.at_most
    return [
        (one_line(view.name, 60), ""),
        (size_of(view), ""),
        (f"{view.held:,}", "yellow" if full else ""),
        (f"{view.waiting:,}", "yellow" if view.waiting else "dim"),
        ("configured" if view.configured else "", "dim"),
        (_warning(view), "yellow"),
    ]


add_list(
    app,
    HEADER,
    lambda service: service.limits.list(),
    _cells,
    empty="no limits",
    help="List the limits and queues that are configured, declared, held or waited for.",
    group="Look at limits and queues. Without a command, list them.",
)


@app.command()
@placed
def show(name: Name, as_json: Json = False, place: Place = HERE) -> None:
    """Show a limit: what holds its slots, and what waits for one, in order.

    \b
    turnout limits show customer-17
    turnout limits show nightly
    """
    from turnout.cli.service import service_at

    with service_at(place) as service:
        found = service.limits.find(name)
    if as_json:
        print_json(found)
    else:
        print_limit(found)


def _warning(view: LimitView) -> str:
    if view.deadlock:
        return "! deadlock: its holders wait for one another"
    return "! declared with different sizes" if view.conflict else ""


def size_of(view: LimitView) -> str:
    """Returns the size as people read it."""
    from turnout.model.limits import LimitSize, shown_size

    return shown_size(LimitSize(view.at_most, view.rate, view.per or 1.0))


def print_limit(found: LimitDetail) -> None:
    print_rows([_cells(found.limit)], HEADER)
    if found.begun is not None:
        print_line()
        print_line(rate_of(found, time.time()))
    if found.limit.conflict:
        print_line()
        print_rows([_declaration_cells(each) for each in found.declarations], ("declared by", "size", "workflow", ""))
    _print_part("holders", found.holders)
    _print_part("waiters", found.waiters)


def rate_of(found: LimitDetail, now: float) -> str:
    """Returns how many have begun within the period of a rate, and when the next one may."""
    counted = f"{found.begun:,} of {found.limit.rate:,} have begun within the period"
    if found.next_at is None or found.next_at <= now:
        return f"{counted}; the next may begin now"
    return f"{counted}; the next may begin in {format_duration(found.next_at - now)}, at {format_time(found.next_at)}"


def _print_part(title: str, part: Sequence[LimitHolder]) -> None:
    if part:
        print_line()
        print_rows([_holder_cells(one) for one in part], (title, "workflow", "task", "priority", "since", "", "", ""))


def _declaration_cells(each: LimitDeclaration) -> Line:
    from turnout.model.limits import shown_size

    return [
        (each.place, ""),
        (shown_size(each.size), ""),
        (workflow_name(each.workflow), "dim"),
        ("uploaded" if each.uploaded else "", "dim"),
    ]


def _holder_cells(one: LimitHolder) -> Line:
    position = "" if one.position is None else f"{one.position}. "
    return [
        (f"{position}{short_id(one.run_id)}", ""),
        (workflow_name(one.workflow), ""),
        (one.task or "", ""),
        (f"{one.priority}", "dim"),
        (format_time(one.since), "dim"),
        (format_duration(max(0.0, time.time() - one.since)), ""),
        (f"shared with {short_id(one.shared_with)}" if one.shared_with else "", "dim"),
        (f"deadlock with {', '.join(map(short_id, one.deadlocked_with[:3]))}" if one.deadlocked_with else "", "yellow"),
    ]
