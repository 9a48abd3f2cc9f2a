"""``turnout runs``: lists, shows and controls runs."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from turnout.cli import run_control
from turnout.cli.format import MARKS, format_duration, format_time, one_line, short_id, workflow_name
from turnout.cli.options import Database, Group, Json, Run, default_command
from turnout.cli.output import Span, plain, print_json, print_line, print_result, print_rows

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
def ls(
    workflow: Annotated[str | None, typer.Option("--workflow", help="Only runs of this workflow.")] = None,
    state: Annotated[
        list[State] | None, typer.Option("--state", help="Only runs in this state; may be repeated.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many.")] = 20,
    as_json: Json = False,
    database: Database = None,
) -> None:
    """List runs, newest first."""
    from turnout.cli.database import store_if_there
    from turnout.model.states import RunState
    from turnout.runner.open_runs import drivers_of
    from turnout.runner.views import run_view

    states = [RunState(each.value) for each in state or ()]
    with store_if_there(database) as store:
        stored = [] if store is None else store.runs(workflow=workflow, states=states, limit=limit)
        drivers = [] if store is None else drivers_of(store, stored)
    found = [run_view(run) for run in stored]
    if as_json:
        print_json([{**plain(view), "driver": str(known)} for view, known in zip(found, drivers, strict=True)])
    elif found:
        print_rows([run_cells(view, known) for view, known in zip(found, drivers, strict=True)], RUN_HEADER)
    else:
        print_line("no runs" if store is not None else "no runs: the first `turnout run` makes the database")


default_command(app, ls, "Look at runs, control them, run them again. Without a command, list them.")


@app.command()
def show(
    run: Run,
    attempts: Annotated[
        bool, typer.Option("--attempts", help="Also print the error and the last lines of each failed attempt.")
    ] = False,
    as_json: Json = False,
    database: Database = None,
) -> None:
    """Show a run: its result, its tasks, where each ran, what went wrong."""
    from turnout.cli.database import open_store
    from turnout.cli.run_report import print_run, read_run
    from turnout.runner.run_reader import find_run

    with open_store(database) as store:
        known = read_run(store, find_run(store, run), lines=attempts)
    if as_json:
        print_json(known.as_json())
    else:
        print_run(known)


@app.command()
def output(
    run: Run,
    task: Annotated[str | None, typer.Argument(metavar="TASK", help="The output of this task.")] = None,
    as_json: Json = False,
    database: Database = None,
) -> None:
    """Print what a run returned, or one of its tasks.

    \b
    turnout runs output last
    turnout runs output last charge
    turnout runs output last "price[3]"
    """
    from turnout.cli.database import open_store
    from turnout.runner.run_reader import find_run, read_output

    with open_store(database) as store:
        stored = find_run(store, run)
        value = read_output(store, stored, task)
    if as_json:
        print_json({"run_id": stored.new.run_id, "task": task, "output": value})
    else:
        print_result(value)


@app.command()
def history(run: Run, as_json: Json = False, database: Database = None) -> None:
    """Print every move of a run and its tasks, in order."""
    from turnout.cli.database import open_store
    from turnout.cli.run_report import print_history, read_history
    from turnout.runner.run_reader import find_run

    with open_store(database) as store:
        stored = find_run(store, run)
        found = read_history(store, stored)
    if as_json:
        print_json({"run_id": stored.new.run_id, "moves": found})
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
