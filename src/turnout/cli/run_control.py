"""Commands of ``turnout runs`` that change runs: cancel, pause, resume, rerun and delete."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from turnout.cli.failure import Exit
from turnout.cli.format import MARKS, workflow_name
from turnout.cli.options import Code, Json, NoWait, Parameters, Run, Yes
from turnout.cli.output import confirmed, print_json, print_line
from turnout.cli.place import HERE, Place, placed
from turnout.errors import InvalidInput


@placed
def cancel(
    run: Run,
    reason: Annotated[str, typer.Option(help="Why; it is kept with the run.")] = "cancelled",
    as_json: Json = False,
    place: Place = HERE,
) -> None:
    """Cancel a run, wherever it runs."""
    _command(run, "cancel", place, reason=reason, as_json=as_json)


@placed
def pause(run: Run, as_json: Json = False, place: Place = HERE) -> None:
    """Pause a run: what runs goes on to its end, nothing new starts."""
    _command(run, "pause", place, as_json=as_json)


@placed
def resume(
    run: Run,
    here: Annotated[bool, typer.Option("--here", help="Also drive it in this process until it ends.")] = False,
    target: Code = None,
    as_json: Json = False,
    place: Place = HERE,
) -> int:
    """Let a paused run go on. With --here, also take up a run whose process has died.

    \b
    turnout runs resume last
    turnout runs resume last --here --target flows.py
    """
    if not here:
        _command(run, "resume", place, as_json=as_json)
        return Exit.OK
    from turnout.runner.settings import server_of

    if server_of(place.server, place.token_file, place.database) is not None:
        raise InvalidInput("--here drives a run in this process, which needs its database: leave --server out")
    from turnout.cli.local_start import resume_run

    return resume_run(run, target, place.database, as_json=as_json)


@placed
def rerun(
    run: Run,
    from_task: Annotated[
        str | None, typer.Option("--from", metavar="TASK", help="Start at this task, instead of at what failed.")
    ] = None,
    parameters: Parameters = None,
    target: Code = None,
    no_wait: NoWait = False,
    as_json: Json = False,
    place: Place = HERE,
) -> int:
    """Run it again as a new run that keeps what was finished.

    Where its tasks run is decided anew.

    \b
    turnout runs rerun last
    turnout runs rerun last --from charge -p card=new
    """
    from turnout.cli.service import Rerun, service_at

    with service_at(place) as service:
        wanted = Rerun(run, from_task, parameters or (), target, not no_wait)
        return service.runs.rerun(wanted, as_json=as_json)


@placed
def delete(
    run: Run,
    force: Annotated[bool, typer.Option("--force", help="Cancel it first if it has not ended.")] = False,
    yes: Yes = False,
    as_json: Json = False,
    place: Place = HERE,
) -> int:
    """Delete a run that has ended, with its child runs.

    All that was kept of them goes too. On a terminal it asks first; --yes does not.
    """
    from turnout.cli.service import service_at

    with service_at(place) as service:
        view = service.runs.find(run)
        question = f"delete run {view.id} of {workflow_name(view.workflow)}, {view.state}?"
        if not confirmed(question, yes=yes or as_json):
            print_line("nothing was deleted", to=sys.stderr)
            return Exit.FAILED
        gone = service.runs.delete(view.id, force=force)
    if as_json:
        print_json({"run_id": view.id, "runs": gone.runs, "rows": gone.rows})
    else:
        print_line(f"deleted run {view.id}")
    return Exit.OK


def _command(run: str, kind: str, place: Place, *, as_json: bool, reason: str | None = None) -> None:
    from turnout.cli.service import service_at
    from turnout.model.driver import NOT_DRIVEN, Driver

    with service_at(place) as service:
        view, driver = service.runs.command(run, kind, reason)
    if as_json:
        print_json({"run_id": view.id, "state": str(view.state), "reason": view.reason, "driver": str(driver)})
    else:
        mark, style = MARKS[view.state]
        print_line([(f"{mark} {view.state}", style), (f"  run {view.id}", "dim")])
        if driver is Driver.NOT_DRIVEN:
            print_line([(f"  {NOT_DRIVEN}", "yellow")])
