"""``turnout runs``: lists, shows and controls runs."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from turnout.cli import run_control
from turnout.cli.format import MARKS, format_duration, format_time, one_line, short_id, workflow_name
from turnout.cli.options import Group, Json, Run, default_command
from turnout.cli.output import Span, plain, print_json, print_line, print_result, print_rows
from turnout.cli.place import HERE, Place, placed

if TYPE_CHECKING:
    from turnout.model.driver import Driver
    from turnout.runner.views import RunView


app = typer.Typer(cls=Group, rich_markup_mode=None, invoke_without_command=True)


class State(StrEnum):
    """The states of a run, repeated here so that the help imports no engine."""

    pending = "pending"
    running = "running"
    paused = "paused"
    cancelling = "cancelling"
    completed = "completed"
    failed = "failed"
    cancelled = "cancelled"


@app.command()
@placed
def ls(
    workflow: Annotated[str | None, typer.Option("--workflow", help="Only runs of this workflow.")] = None,
    state: Annotated[
        list[State] | None, typer.Option("--state", help="Only runs in this state; may be repeated.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many.")] = 20,
    as_json: Json = False,
    place: Place = HERE,
) -> None:
    """List runs, newest first."""
    from turnout.cli.service import service_at
    from turnout.model.states import RunState

    with service_at(place) as service:
        found = service.runs.list(workflow, [RunState(each.value) for each in state or ()], limit)
    if as_json:
        print_json([{**plain(view), "driver": str(known)} for view, known in found or ()])
    elif found:
        print_rows([run_cells(view, known) for view, known in found], RUN_HEADER)
    else:
        print_line("no runs" if found is not None else "no runs: the first `turnout run` makes the database")


default_command(app, ls, "Look at runs, control them, run them again. Without a command, list them.")


@app.command()
@placed
def show(
    run: Run,
    attempts: Annotated[
        bool, typer.Option("--attempts", help="Also print the error and the last lines of each failed attempt.")
    ] = False,
    as_json: Json = False,
    place: Place = HERE,
) -> None:
    """Show a run: its result, its tasks, where each ran, what went wrong."""
    from turnout.cli.run_report import print_run
    from turnout.cli.service import service_at

    with service_at(place) as service:
        known = service.runs.facts(run, lines=attempts)
    if as_json:
        print_json(known.as_json())
    else:
        print_run(known)


@app.command()
@placed
def output(
    run: Run,
    task: Annotated[str | None, typer.Argument(metavar="TASK", help="The output of this task.")] = None,
    as_json: Json = False,
    place: Place = HERE,
) -> None:
    """Print what a run returned, or one of its tasks.

    \b
    turnout runs output last
    turnout runs output last charge
    turnout runs output last "price[3]"
    """
    from turnout.cli.service import service_at

    with service_at(place) as service:
        run_id, value = service.runs.output(run, task)
    if as_json:
        print_json({"run_id": run_id, "task": task, "output": value})
    else:
        print_result(value)


@app.command()
@placed
def history(run: Run, as_json: Json = False, place: Place = HERE) -> None:
    """Print every move of a run and its tasks, in order."""
    from turnout.cli.run_report import print_history
    from turnout.cli.service import service_at

    with service_at(place) as service:
        run_id, found = service.runs.history(run)
    if as_json:
        print_json({"run_id": run_id, "moves": found})
    else:
        print_history(found)


for command in (
    run_control.cancel,
    run_control.pause,
    run_control.resume,
    run_control.rerun,
    run_control.delete,
):
    app.command()(command)


RUN_HEADER = ("run", "workflow", "state", "took", "submitted", "")


def run_cells(view: RunView, driver: Driver) -> list[Span]:
    from turnout.model.driver import NOT_DRIVEN, Driver

    mark, style = MARKS[view.state]
    took = format_duration((view.finished_at or time.time()) - view.created_at)
    child = f"child of {short_id(view.parent_run)}" if view.parent_run else ""
    not_driven = NOT_DRIVEN if driver is Driver.NOT_DRIVEN else ""
    note = view.reason or not_driven or child or (f"rerun of {short_id(view.rerun_of)}" if view.rerun_of else "")
    return [
        (short_id(view.id), ""),
        (workflow_name(view.workflow), ""),
        (f"{mark} {view.state}", style),
        (took, ""),
        (format_time(view.created_at), "dim"),
        (one_line(note, max(60, len(not_driven))), "dim"),
    ]
