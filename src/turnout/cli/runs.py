"""``turnout runs``: look at runs, control them, run them again."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated, Any

import typer

from turnout.cli.groups import Group, when_bare
from turnout.cli.options import Code, Database, Json, NoWait, Parameters, Run, Yes

app = typer.Typer(cls=Group, rich_markup_mode=None, invoke_without_command=True)


class State(StrEnum):
    """The states of a run, spelled out so that the help needs no engine."""

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
    from turnout.cli.opening import store_if_there
    from turnout.cli.output import plain, say, say_columns, say_json
    from turnout.cli.showing import RUN_HEADER, run_cells
    from turnout.model.states import RunState
    from turnout.runner.drivers import drivers_of
    from turnout.runner.views import run_view

    states = [RunState(each.value) for each in state or ()]
    with store_if_there(database) as store:
        stored = [] if store is None else store.runs(workflow=workflow, states=states, limit=limit)
        drivers = [] if store is None else drivers_of(store, stored)
    found = [run_view(run) for run in stored]
    if as_json:
        say_json([{**plain(view), "driver": str(known)} for view, known in zip(found, drivers, strict=True)])
    elif found:
        say_columns([run_cells(view, known) for view, known in zip(found, drivers, strict=True)], RUN_HEADER)
    else:
        say("no runs" if store is not None else "no runs: the first `turnout run` makes the database")


when_bare(app, ls, "Look at runs, control them, run them again. Without a command, list them.")


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
    from turnout.cli.opening import open_store
    from turnout.cli.output import say_json
    from turnout.cli.showing import facts, say_run
    from turnout.runner.lookup import find_run

    with open_store(database) as store:
        known = facts(store, find_run(store, run), lines=attempts)
    if as_json:
        say_json(known.as_json())
    else:
        say_run(known)


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
    from turnout.cli.opening import open_store
    from turnout.cli.output import say_json
    from turnout.cli.results import read_output, say_result
    from turnout.runner.lookup import find_run

    with open_store(database) as store:
        stored = find_run(store, run)
        value = read_output(store, stored, task)
    if as_json:
        say_json({"run_id": stored.new.run_id, "task": task, "output": value})
    else:
        say_result(value)


@app.command()
def history(run: Run, as_json: Json = False, database: Database = None) -> None:
    """Print every move of a run and its tasks, in order."""
    from turnout.cli.opening import open_store
    from turnout.cli.output import say_json
    from turnout.cli.showing import moves, say_moves
    from turnout.runner.lookup import find_run

    with open_store(database) as store:
        stored = find_run(store, run)
        found = moves(store, stored)
    if as_json:
        say_json({"run_id": stored.new.run_id, "moves": found})
    else:
        say_moves(found)


@app.command()
def cancel(
    run: Run,
    reason: Annotated[str, typer.Option(help="Why; it is kept with the run.")] = "cancelled",
    as_json: Json = False,
    database: Database = None,
) -> None:
    """Cancel a run, wherever it runs."""
    _command(run, "cancel", database, reason=reason, as_json=as_json)


@app.command()
def pause(run: Run, as_json: Json = False, database: Database = None) -> None:
    """Pause a run: what runs goes on to its end, nothing new starts."""
    _command(run, "pause", database, as_json=as_json)


@app.command()
def resume(
    run: Run,
    here: Annotated[bool, typer.Option("--here", help="Also drive it in this process until it ends.")] = False,
    target: Code = None,
    as_json: Json = False,
    database: Database = None,
) -> int:
    """Let a paused run go on. With --here, also take up a run whose process has died.

    \b
    turnout runs resume last
    turnout runs resume last --here --target flows.py
    """
    if not here:
        _command(run, "resume", database, as_json=as_json)
        return 0
    from turnout.cli.code import code_for
    from turnout.cli.opening import open_store
    from turnout.cli.running import Again, driving
    from turnout.runner.lookup import find_run
    from turnout.runner.settings import configuration

    config = configuration()
    with open_store(database) as store:
        stored = find_run(store, run)
        workflows = code_for(config, target, store, stored)
    with driving(config, database, workflows, as_json=as_json) as driver:
        runner = driver.runner
        run_id = stored.new.run_id
        runner.core.admin.command(run_id, "resume").result()
        runner.core.admin.take(run_id)
        spec = runner.core.reader.spec_of(run_id)
        return driver.drive(runner.get(run_id), spec, Again(target, database))


@app.command()
def rerun(
    run: Run,
    from_task: Annotated[
        str | None, typer.Option("--from", metavar="TASK", help="Start at this task, instead of at what failed.")
    ] = None,
    parameters: Parameters = None,
    target: Code = None,
    no_wait: NoWait = False,
    as_json: Json = False,
    database: Database = None,
) -> int:
    """Run it again as a new run that keeps what was finished.

    \b
    turnout runs rerun last
    turnout runs rerun last --from charge -p card=new
    """
    import json

    from turnout.authoring.parameters import parse_parameters
    from turnout.cli.code import code_for
    from turnout.cli.opening import open_store
    from turnout.cli.running import Again, driving, submitted
    from turnout.runner.lookup import find_run
    from turnout.runner.settings import configuration

    config = configuration()
    with open_store(database) as store:
        stored = find_run(store, run)
        # The code says what the text of a parameter means.
        workflows = [] if no_wait and not parameters else code_for(config, target, store, stored)
    input = parse_parameters(workflows[0], parameters, json.loads(stored.new.input)) if parameters else None
    with driving(config, database, workflows, as_json=as_json, drives=not no_wait) as driver:
        runner = driver.runner
        handle = runner.get(stored.new.run_id).rerun(from_task, input)
        if no_wait:
            return submitted(handle.id, as_json=as_json)
        spec = runner.core.reader.spec_of(handle.id)
        return driver.drive(handle, spec, Again(target, database))


@app.command()
def delete(
    run: Run,
    force: Annotated[bool, typer.Option("--force", help="Cancel it first if it has not ended.")] = False,
    yes: Yes = False,
    as_json: Json = False,
    database: Database = None,
) -> int:
    """Delete a run that has ended, with its child runs.

    All that was kept of them goes too. On a terminal it asks first; --yes does not.
    """
    from turnout.cli.confirmation import agreed
    from turnout.cli.failure import Exit
    from turnout.cli.opening import open_store
    from turnout.cli.output import say, say_json
    from turnout.cli.wording import last_name
    from turnout.runner import Runner
    from turnout.runner.lookup import find_run

    with open_store(database) as store:
        stored = find_run(store, run)
        run_id = stored.new.run_id
    if not agreed(f"delete run {run_id} of {last_name(stored.new.workflow)}, {stored.row.state}?", yes=yes or as_json):
        say("nothing was deleted", to=sys.stderr)
        return Exit.FAILED
    with Runner(database, workflows=(), drives=False) as runner:
        gone = runner.delete(run_id, force=force)
    if as_json:
        say_json({"run_id": run_id, "runs": gone.runs, "rows": gone.rows})
    else:
        say(f"deleted run {run_id}")
    return Exit.OK


def _command(run: str, kind: str, database: str | None, *, as_json: bool, **more: Any) -> None:
    from turnout.cli.controlling import control
    from turnout.cli.output import say, say_json
    from turnout.cli.wording import MARKS
    from turnout.model.driver import NOT_DRIVEN, Driver

    view, driver = control(run, kind, database, **more)
    if as_json:
        say_json({"run_id": view.id, "state": str(view.state), "reason": view.reason, "driver": str(driver)})
    else:
        mark, style = MARKS[view.state]
        say([(f"{mark} {view.state}", style), (f"  run {view.id}", "dim")])
        if driver is Driver.NOT_DRIVEN:
            say([(f"  {NOT_DRIVEN}", "yellow")])
