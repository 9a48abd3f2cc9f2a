"""``turnout workers``: who is connected, what do they have, and who is to leave?"""

from __future__ import annotations

from typing import Annotated

import typer

from turnout.cli.groups import Group, when_bare
from turnout.cli.options import Database, Json

app = typer.Typer(cls=Group, rich_markup_mode=None, invoke_without_command=True)

Worker = Annotated[str, typer.Argument(metavar="WORKER", help="A worker's name, its id, or the beginning of its id.")]


@app.command()
def ls(as_json: Json = False, database: Database = None) -> None:
    """List the workers that are connected to any hub on the database."""
    from turnout.cli.crew import WORKER_HEADER, crew_cells, workers_at
    from turnout.cli.output import say, say_columns, say_json

    with workers_at(database) as crew:
        found = crew.look()
    if as_json:
        say_json(found)
    elif found:
        say_columns(crew_cells(found), WORKER_HEADER)
    else:
        say("no workers")


when_bare(app, ls, "Look at workers, and let them leave. Without a command, list them.")


@app.command()
def show(worker: Worker, as_json: Json = False, database: Database = None) -> None:
    """Show a worker: what it can run, what it has, and since when."""
    from turnout.cli.crew import say_worker, workers_at
    from turnout.cli.output import plain, say_json

    with workers_at(database) as crew:
        view = crew.find(worker)
        held = crew.held(view)
    if as_json:
        say_json({**plain(view), "held": held})
    else:
        say_worker(view, held)


@app.command()
def drain(
    worker: Worker,
    wait: Annotated[bool, typer.Option("--wait", help="Return when it has left.")] = False,
    reason: Annotated[str, typer.Option(help="Why; the worker is told.")] = "drained",
    as_json: Json = False,
    database: Database = None,
) -> None:
    """Let a worker finish what it has and leave. It hears of it within a heartbeat, from all its hubs.

    \b
    turnout workers drain gpu-1 --wait
    """
    from turnout.cli.crew import workers_at
    from turnout.cli.output import say, say_json

    with workers_at(database) as crew:
        view = crew.find(worker)
        crew.drain(view, reason)
        left = crew.wait_for_end(view) if wait else False
    if as_json:
        say_json({"id": view.id, "name": view.name, "reason": reason, "left": left})
    else:
        say(f"worker {view.name} {'has left' if left else 'is told to finish what it has and leave'}")
