"""``turnout schedules``: lists schedules, their next due times and past decisions; pauses, fires and backfills them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from turnout.cli.format import format_count, format_time, one_line, workflow_name
from turnout.cli.options import Group, Json, Parameters, default_command
from turnout.cli.output import Span, print_changed, print_json, print_line, print_list
from turnout.cli.place import HERE, Place, placed
from turnout.errors import InvalidInput, ScheduleNotFound
from turnout.model.schedule_decisions import MAX_REASON

if TYPE_CHECKING:
    from turnout.cli.service import Schedules
    from turnout.model.schedule_rows import DecisionRow
    from turnout.runner.schedule_commands import Backfilled
    from turnout.runner.schedule_views import NextFire, ScheduleView

app = typer.Typer(cls=Group, rich_markup_mode=None, invoke_without_command=True)

Schedule = Annotated[
    str,
    typer.Argument(metavar="SCHEDULE", help="A schedule's id, WORKFLOW/NAME, or a workflow with one schedule."),
]
OneSchedule = Annotated[
    str | None,
    typer.Argument(metavar="[SCHEDULE]", help="A schedule's id, WORKFLOW/NAME, or a workflow with one schedule."),
]
AllOf = Annotated[
    str | None, typer.Option("--workflow", "-w", metavar="NAME", help="All schedules of this workflow instead.")
]
Count = Annotated[int, typer.Option("--limit", "-n", min=1, max=1_000, help="How many at most.")]

HEADER = ("id", "workflow", "name", "action", "times", "zone", "overlap", "catch up", "next")
NEXT_HEADER = ("due", "workflow", "name", "action", "id")
DECISION_HEADER = ("due", "times", "outcome", "run", "decided", "reason")
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
    print_list(found, _row, HEADER, empty="no schedules: a server stores those of its workflows", as_json=as_json)


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
    print_list(found, _next_row, NEXT_HEADER, empty="nothing is due", as_json=as_json)


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
    print_list(found, _decision_row, DECISION_HEADER, empty="no decisions", as_json=as_json)


@app.command()
@placed
def pause(schedule: OneSchedule = None, workflow: AllOf = None, as_json: Json = False, place: Place = HERE) -> None:
    """Pause a schedule, or all of a workflow: their due times start nothing until they are resumed.

    \b
    turnout schedules pause report/nightly
    turnout schedules pause --workflow report
    """
    from turnout.cli.service import service_at

    with service_at(place) as service:
        wanted = _wanted(service.schedules, schedule, workflow)
        _print_changed([service.schedules.pause(each) for each in wanted], schedule, as_json=as_json)


@app.command()
@placed
def resume(schedule: OneSchedule = None, workflow: AllOf = None, as_json: Json = False, place: Place = HERE) -> None:
    """Resume a schedule, or all of a workflow. Due times of the pause are skipped."""
    from turnout.cli.service import service_at

    with service_at(place) as service:
        wanted = _wanted(service.schedules, schedule, workflow)
        _print_changed([service.schedules.resume(each) for each in wanted], schedule, as_json=as_json)


@app.command()
@placed
def fire(schedule: Schedule, parameters: Parameters = None, as_json: Json = False, place: Place = HERE) -> None:
    """Start a run of a schedule now, with its parameters. A server that has the workflow starts it.

    Parameters that are given hold for this run, instead of those of the schedule with the same names.

    \b
    turnout schedules fire report/nightly
    turnout schedules fire report/nightly -p day=2026-12-01
    """
    from turnout.cli.run_input import untyped_parameters
    from turnout.cli.service import service_at

    given = untyped_parameters(parameters or ())
    with service_at(place) as service:
        found = service.schedules.fire(schedule, given)
    print_changed(found, found.run_id, as_json=as_json)


@app.command()
@placed
def backfill(
    schedule: Schedule,
    first: Annotated[str, typer.Option("--from", metavar="TIME", help="The first time; a date begins at midnight.")],
    last: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="The last time; a date is all of that day; else now.")
    ] = None,
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
    following = "paused" if schedule.paused else format_time(schedule.next_at) or _no_time(schedule)
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


def _no_time(schedule: ScheduleView) -> str:
    """Returns why a schedule has no next due time: one with a single time has had it."""
    return "none: its time is past" if schedule.expression.startswith("at ") else "none"


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
        (row.run_id or "", ""),
        (format_time(row.decided_at), "dim"),
        (one_line(row.reason, MAX_REASON), ""),
    ]


def _wanted(schedules: Schedules, schedule: str | None, workflow: str | None) -> list[str]:
    """Returns the schedules that a command changes: one, or the ids of all of a workflow."""
    if (schedule is None) == (workflow is None):
        raise InvalidInput("write a schedule, or --workflow NAME for all of a workflow", field="schedule")
    if schedule is not None:
        return [schedule]
    found = [str(each.id) for each in schedules.list(workflow)]
    if not found:
        raise ScheduleNotFound(f"workflow {workflow!r} has no schedules")
    return found


def _print_changed(changed: Sequence[ScheduleView], schedule: str | None, *, as_json: bool) -> None:
    """Prints schedules as they are now: as JSON one of them, or a list if all of a workflow were meant."""
    if as_json:
        print_json(changed[0] if schedule is not None else list(changed))
        return
    for each in changed:
        now = "is paused" if each.paused else f"acts next at {format_time(each.next_at) or 'never'}"
        print_line(f"schedule {workflow_name(each.workflow)}/{each.name} {now}")


def _print_backfill(found: Backfilled) -> None:
    for each in found.due_times:
        note = "has fired before" if each.fired_before else each.run_id or "would start a run"
        print_line(f"{each.local}  {note}")
    print_line(f"{format_count(found.runs, 'run')} {'would start' if found.dry_run else 'will start'}")
