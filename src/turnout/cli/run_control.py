"""Commands of ``turnout runs`` that change runs: cancel, pause, resume, rerun and delete."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from turnout.cli.failure import Exit
from turnout.cli.format import MARKS, last_name
from turnout.cli.options import Code, Database, Json, NoWait, Parameters, Run, Yes
from turnout.cli.output import agreed, say, say_json
from turnout.errors import InvalidInput, InvalidTarget, TurnoutError, WaitTimedOut

if TYPE_CHECKING:
    from turnout.cli.foreground import AnyWorkflow
    from turnout.contracts.store import Store
    from turnout.model.driver import Driver
    from turnout.model.rows import StoredRun
    from turnout.model.spec import WorkflowSpec
    from turnout.runner import RunView
    from turnout.runner.config import Config


def cancel(
    run: Run,
    reason: Annotated[str, typer.Option(help="Why; it is kept with the run.")] = "cancelled",
    as_json: Json = False,
    database: Database = None,
) -> None:
    """Cancel a run, wherever it runs."""
    _command(run, "cancel", database, reason=reason, as_json=as_json)


def pause(run: Run, as_json: Json = False, database: Database = None) -> None:
    """Pause a run: what runs goes on to its end, nothing new starts."""
    _command(run, "pause", database, as_json=as_json)


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
    from turnout.cli.database import open_store
    from turnout.cli.foreground import Again, driving
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
    from turnout.authoring.parameters import parse_parameters
    from turnout.cli.database import open_store
    from turnout.cli.foreground import Again, driving, submitted
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
    from turnout.cli.database import open_store
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
    from turnout.model.driver import NOT_DRIVEN, Driver

    view, driver = control(run, kind, database, **more)
    if as_json:
        say_json({"run_id": view.id, "state": str(view.state), "reason": view.reason, "driver": str(driver)})
    else:
        mark, style = MARKS[view.state]
        say([(f"{mark} {view.state}", style), (f"  run {view.id}", "dim")])
        if driver is Driver.NOT_DRIVEN:
            say([(f"  {NOT_DRIVEN}", "yellow")])


CLAIMED_WITHIN = 3.0
"""Seconds in which an orchestrator that is there, and can drive it, has claimed a run that was let go."""
PATIENCE = 60.0
"""Seconds in which the run's owner, or its successor, must have carried out a command."""


def control(wanted: str, kind: str, database: str | None, reason: str | None = None) -> tuple[RunView, Driver]:
    """Carry out the command and return the run as it is then, and what is known of its driver.

    A run that has an owner gets a command row. One that has none is claimed for as long as it takes, by a Runner that
    starts nothing.
    """
    from concurrent.futures import TimeoutError as NotYet

    from turnout.cli.database import open_store
    from turnout.runner import Runner
    from turnout.runner.lookup import find_run

    with open_store(database) as store:
        stored = find_run(store, wanted)
    _check(stored, kind)
    run_id = stored.new.run_id
    with Runner(database, workflows=(), executors={}, drives=False, routing=None) as runner:
        try:
            runner.core.admin.command(run_id, kind, reason).result(PATIENCE)
        except NotYet as error:
            raise WaitTimedOut(
                f"nobody has carried out the {kind} of run {run_id} in {PATIENCE:g} s; it stays asked for",
                run_id=run_id,
            ) from error
        view = runner.get(run_id).status()
    with open_store(database) as store:
        return view, _driver(store, run_id)


def _driver(store: Store, run_id: str) -> Driver:
    """Who drives it once the Runner that may have claimed it for the command has let it go; others need a moment."""
    from turnout.model.driver import Driver
    from turnout.runner.drivers import driver_of
    from turnout.runner.lookup import find_run
    from turnout.runner.orchestrators import live_orchestrators

    until = time.monotonic() + CLAIMED_WITHIN
    while True:
        known = driver_of(store, find_run(store, run_id))
        if known is not Driver.NOT_DRIVEN or time.monotonic() > until or not live_orchestrators(store):
            return known
        time.sleep(0.1)


def _check(stored: StoredRun, kind: str) -> None:
    from turnout.model.states import RunState

    state = stored.row.state
    if state.terminal:
        raise InvalidInput(
            f"run {stored.new.run_id} is {state} already: there is nothing to {kind}",
            code="run_ended",
            hint="`turnout runs rerun RUN` makes a new run of it",
        )
    if kind in ("pause", "resume") and state is RunState.CANCELLING:
        raise InvalidInput(f"run {stored.new.run_id} is being cancelled: it cannot {kind}", code="run_cancelling")


def code_for(config: Config, target: str | None, store: Store, run: StoredRun) -> list[AnyWorkflow]:
    """The workflows of the target; else the configured ones; else those of the modules that the tasks came from."""
    from turnout.runner.stored_specs import spec_of_version
    from turnout.runner.targets import load_workflows

    spec = spec_of_version(store, run.new.version)
    if target is not None:
        found = _named(config, target)
        if not (mine := _of(found, spec)):
            raise InvalidTarget(
                f"{target} does not have the workflow {spec.name!r} of the run", code="no_such_workflow"
            )
        return mine
    for place in (*(config.get("workflows") or ()), *_modules(spec)):
        try:
            found = load_workflows(place, (config.root,))
        except TurnoutError:
            continue
        if mine := _of(found, spec):
            return mine
    raise InvalidTarget(
        f"the code of workflow {spec.full_name} was not found",
        code="no_code",
        hint="say where it is: --target file.py or --target module, or `workflows` in the configuration",
    )


def _named(config: Config, target: str) -> list[AnyWorkflow]:
    """All workflows of the module or file; or the configured one of this name, as ``turnout run`` takes it."""
    from turnout.runner.targets import find_workflow, load_workflows

    try:
        return load_workflows(target, (config.root,))
    except InvalidTarget as error:
        if error.code != "no_such_module":
            raise
        return [find_workflow(target, config.get("workflows") or (), (config.root,))]


def _of(workflows: list[AnyWorkflow], spec: WorkflowSpec) -> list[AnyWorkflow]:
    """The workflows with the wanted one first; none if it is not among them."""
    wanted = [each for each in workflows if (each.package, each.name) == (spec.package, spec.name)]
    return wanted and [*wanted, *(each for each in workflows if each not in wanted)]


def _modules(spec: WorkflowSpec) -> list[str]:
    """The modules of the tasks' functions, as far as they can be imported by their name."""
    refs = [task.body.ref.partition(":")[0] for task in spec.tasks if task.body.kind == "python"]
    return [module for module in dict.fromkeys(refs) if module and module != "__main__"]
