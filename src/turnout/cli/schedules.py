"""``turnout schedules``: lists schedules, their next due times and past decisions; pauses, fires and backfills them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from turnout.cli.format import format_count, format_time, one_line, workflow_name
from turnout.cli.options import Group, Json, default_command
from turnout.cli.output import Span, print_json, print_line, print_rows
from turnout.cli.place import HERE, Place, placed

if TYPE_CHECKING:
    from turnout.model.schedule_rows import DecisionRow
    from turnout.runner.schedules import Backfilled, NextFire, ScheduleView

app = typer.Typer(cls=Group, rich_markup_mode=None, invoke_without_command=True)

Schedule = Annotated[
    str,
    typer.Argument(metavar="SCHEDULE", help="A schedule's id, WORKFLOW/NAME, or a workflow with one schedule."),
]
Count = Annotated[int, typer.Option("--limit", "-n", min=1, max=1_000, help="How many at most.")]

HEADER = ("id", "workflow", "name", "action", "times", "zone", "overlap", "catch up", "next")
NEXT_HEADER = ("due", "workflow", "name", "action", "id")
DECISION_HEADER = ("due", "times", "outcome", "reason", "run", "decided")
OVERDUE = 60.0
"""Seconds after which a schedule that was not acted on is shown as overdue."""
OUTCOMES = {"fired": "green", "skipped": "yellow"}


@app.command()
@placed
def ls(
    workflow: Annotated[str | None, typer.Option("--workflow", "-w", metavar="NAME", help="Of this workflow.")] = None,
    as_json: Json = False,
    place: Place = HERE,
) -> None:
    """List the schedules that workflows declare."""
    from turnout.cli.service import service_at

    with service_at(place) as service:
        found = service.schedules.list(workflow)
    if as_json:
        print_json(found)
    elif found:
        print_rows([_row(each) for each in found], HEADER)
    else:
        print_line("no schedules")


default_command(app, ls, "Look at what runs by itself, and change it. Without a command, list the schedules.")


@app.command("next")
@placed
def next_(
    schedule: Annotated[
        str | None, typer.Argument(metavar="[SCHEDULE]", help="A schedule's id or WORKFLOW/NAME; else all.")
    ] = None,
    limit: Count = 20,
    as_json: Json = False,
    place: Place = HERE,
) -> None:
    """List the due times that come next.

    \b
    turnout schedules next report/nightly -n 5
    """
    from turnout.cli.service import service_at

    with service_at(place) as service:
        found = service.schedules.next(schedule, limit)
    if as_json:
        print_json(found)
    elif found:
        print_rows([_next_row(each) for each in found], NEXT_HEADER)
    else:
        print_line("nothing is due")


@app.command()
@placed
def decisions(
    schedule: Schedule,
    outcome: Annotated[str | None, typer.Option(metavar="OUTCOME", help="Only fired, or only skipped.")] = None,
    limit: Count = 20,
    as_json: Json = False,
    place: Place = HERE,
) -> None:
    """List what was decided about due times that have come, and why; newest first."""
    from turnout.cli.service import service_at

    with service_at(place) as service:
        found = service.schedules.decisions(schedule, limit, outcome)
    if as_json:
        print_json(found)
    elif found:
        print_rows([_decision_row(each) for each in found], DECISION_HEADER)
    else:
        print_line("no decisions")


@app.command()
@placed
def pause(schedule: Schedule, as_json: Json = False, place: Place = HERE) -> None:
    """Pause a schedule: its due times start nothing until it is resumed."""
    from turnout.cli.service import service_at

    with service_at(place) as service:
        _changed(service.schedules.pause(schedule), as_json=as_json)


@app.command()
@placed
def resume(schedule: Schedule, as_json: Json = False, place: Place = HERE) -> None:
    """Resume a schedule. Due times of the pause are skipped."""
    from turnout.cli.service import service_at

    with service_at(place) as service:
        _changed(service.schedules.resume(schedule), as_json=as_json)


@app.command()
@placed
def fire(schedule: Schedule, as_json: Json = False, place: Place = HERE) -> None:
    """Start a run of a schedule now, with its parameters. A server that has the workflow starts it."""
    from turnout.cli.service import service_at

    with service_at(place) as service:
        found = service.schedules.fire(schedule)
    if as_json:
        print_json(found)
    else:
        print_line(found.run_id)


@app.command()
@placed
def backfill(
    schedule: Schedule,
    first: Annotated[str, typer.Option("--from", metavar="TIME", help="The first time, as 2026-12-01 or with hours.")],
    last: Annotated[str | None, typer.Option("--to", metavar="TIME", help="The last time; else now.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would start.")] = False,
    as_json: Json = False,
    place: Place = HERE,
) -> None:
    """Start runs for past due times that have not fired. Times are local times of the schedule.

    \b
    turnout schedules backfill report --from 2026-12-01 --to 2026-12-07 --dry-run
    """
    from turnout.cli.service import service_at

    with service_at(place) as service:
        found = service.schedules.backfill(schedule, first, last, dry_run=dry_run)
    if as_json:
        print_json(found)
    else:
        _print_backfill(found)


def _row(schedule: ScheduleView) -> Sequence[Span]:
    overdue = schedule.next_at is not None and schedule.next_at < time.time() - OVERDUE
    following = "paused" if schedule.paused else format_time(schedule.next_at) or "none"
    following += " overdue: no server has the workflow" if overdue else ""
    return [
        (str(schedule.id), ""),
        (workflow_name(schedule.workflow), ""),
        (schedule.name, ""),
        (schedule.action, ""),
        (schedule.expression, ""),
        (schedule.timezone, "dim"),
        (schedule.overlap, "dim"),
        (schedule.catch_up, "dim"),
        (following, "yellow" if schedule.paused or overdue else ""),
    ]


def _next_row(fire: NextFire) -> Sequence[Span]:
    return [
        (fire.local, ""),
        (workflow_name(fire.workflow), ""),
        (fire.name, ""),
        (fire.action, ""),
        (str(fire.schedule_id), "dim"),
    ]


def _decision_row(row: DecisionRow) -> Sequence[Span]:
    return [
        (format_time(row.due_at), ""),
        (f"{row.due_times:,}", "dim"),
        (row.outcome, OUTCOMES[row.outcome]),
        (one_line(row.reason, 60), ""),
        (row.run_id or "", ""),
        (format_time(row.decided_at), "dim"),
    ]


def _changed(schedule: ScheduleView, *, as_json: bool) -> None:
    if as_json:
        print_json(schedule)
    elif schedule.paused:
        print_line(f"schedule {workflow_name(schedule.workflow)}/{schedule.name} is paused")
    else:
        following = format_time(schedule.next_at) or "never"
        print_line(f"schedule {workflow_name(schedule.workflow)}/{schedule.name} acts next at {following}")


def _print_backfill(found: Backfilled) -> None:
    for each in found.due_times:
        note = "has fired before" if each.fired_before else each.run_id or "would start a run"
        print_line(f"{each.local}  {note}")
    print_line(f"{format_count(found.runs, 'run')} {'would start' if found.dry_run else 'will start'}")
