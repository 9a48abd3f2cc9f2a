"""Commands of ``turnout runs`` that change runs: cancel, pause, resume, rerun and delete."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from turnout.cli.failure import Exit
from turnout.cli.format import MARKS, workflow_name
from turnout.cli.options import Code, Database, Json, NoWait, Parameters, Run, Yes
from turnout.cli.output import confirmed, print_json, print_line
from turnout.errors import InvalidTarget, TurnoutError, WaitTimedOut

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
    from turnout.cli.foreground import Hints, foreground_runner
    from turnout.runner.run_commands import check_open
    from turnout.runner.run_reader import find_run
    from turnout.runner.settings import configuration

    config = configuration()
    with open_store(database) as store:
        stored = find_run(store, run)
        check_open(stored, "resume")
        workflows = workflows_of(config, target, store, stored)
    with foreground_runner(config, database, workflows, as_json=as_json) as foreground:
        runner = foreground.runner
        run_id = stored.new.run_id
        runner.core.admin.command(run_id, "resume").result()
        runner.core.admin.take(run_id)
        spec = runner.core.reader.spec_of(run_id)
        return foreground.drive(runner.get(run_id), spec, Hints(target, database))


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
    from turnout.cli.foreground import Hints, foreground_runner, print_submitted
    from turnout.runner.run_reader import find_run
    from turnout.runner.settings import configuration

    config = configuration()
    with open_store(database) as store:
        stored = find_run(store, run)
        # The types of the parameters are in the code.
        workflows = [] if no_wait and not parameters else workflows_of(config, target, store, stored)
    if parameters and not workflows:
        raise InvalidTarget(
            "the types of the parameters are not known",
            code="no_code",
            hint="say where the workflow is: --target file.py, --target file.yaml or --target module",
        )
    input = parse_parameters(workflows[0], parameters, json.loads(stored.new.input)) if parameters else None
    with foreground_runner(config, database, workflows, as_json=as_json, drives=not no_wait) as foreground:
        runner = foreground.runner
        handle = runner.get(stored.new.run_id).rerun(from_task, input)
        if no_wait:
            return print_submitted(runner, handle, as_json=as_json)
        if not workflows:
            runner.core.admin.take(handle.id)  # a workflow that is not registered here is stored for any orchestrator
        spec = runner.core.reader.spec_of(handle.id)
        return foreground.drive(handle, spec, Hints(target, database))


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
    from turnout.runner.run_reader import find_run

    with open_store(database) as store:
        stored = find_run(store, run)
        run_id = stored.new.run_id
    if not confirmed(
        f"delete run {run_id} of {workflow_name(stored.new.workflow)}, {stored.row.state}?", yes=yes or as_json
    ):
        print_line("nothing was deleted", to=sys.stderr)
        return Exit.FAILED
    with Runner(database, workflows=(), drives=False) as runner:
        gone = runner.delete(run_id, force=force)
    if as_json:
        print_json({"run_id": run_id, "runs": gone.runs, "rows": gone.rows})
    else:
        print_line(f"deleted run {run_id}")
    return Exit.OK


def _command(run: str, kind: str, database: str | None, *, as_json: bool, **more: Any) -> None:
    from turnout.model.driver import NOT_DRIVEN, Driver

    view, driver = apply_command(run, kind, database, **more)
    if as_json:
        print_json({"run_id": view.id, "state": str(view.state), "reason": view.reason, "driver": str(driver)})
    else:
        mark, style = MARKS[view.state]
        print_line([(f"{mark} {view.state}", style), (f"  run {view.id}", "dim")])
        if driver is Driver.NOT_DRIVEN:
            print_line([(f"  {NOT_DRIVEN}", "yellow")])


CLAIM_TIMEOUT = 3.0
"""Seconds in which a live orchestrator that can drive a released run has claimed it."""
COMMAND_TIMEOUT = 60.0
"""Seconds in which the run's owner, or its successor, must have applied a command."""


def apply_command(wanted: str, kind: str, database: str | None, reason: str | None = None) -> tuple[RunView, Driver]:
    """Applies the command and returns the run as it is then, and its driver.

    A run that has an owner gets a command row. A run without one is claimed meanwhile by a Runner that starts nothing.
    """
    from concurrent.futures import TimeoutError as NotYet

    from turnout.cli.database import open_store
    from turnout.runner import Runner
    from turnout.runner.run_commands import check_command
    from turnout.runner.run_reader import find_run

    with open_store(database) as store:
        stored = find_run(store, wanted)
    check_command(stored, kind)
    run_id = stored.new.run_id
    with Runner(database, workflows=(), executors={}, drives=False, routing=None) as runner:
        try:
            runner.core.admin.command(run_id, kind, reason).result(COMMAND_TIMEOUT)
        except NotYet as error:
            raise WaitTimedOut(
                f"the {kind} of run {run_id} was not applied in {COMMAND_TIMEOUT:g} s; it stays requested",
                run_id=run_id,
            ) from error
        view = runner.get(run_id).status()
    with open_store(database) as store:
        return view, _driver(store, run_id)


def _driver(store: Store, run_id: str) -> Driver:
    """Returns the run's driver after the Runner of the command has released it; waits for others to claim it."""
    from turnout.model.driver import Driver
    from turnout.runner.live_sessions import live_orchestrators
    from turnout.runner.open_runs import driver_of
    from turnout.runner.run_reader import find_run

    until = time.monotonic() + CLAIM_TIMEOUT
    while True:
        known = driver_of(store, find_run(store, run_id))
        if known is not Driver.NOT_DRIVEN or time.monotonic() > until or not live_orchestrators(store):
            return known
        time.sleep(0.1)


def workflows_of(config: Config, target: str | None, store: Store, run: StoredRun) -> list[AnyWorkflow]:
    """Returns the workflows of the target, else of the configuration, else of the modules of the run's tasks. Empty if
    they are not found and the run needs no code."""
    from turnout.runner.run_reader import spec_of_version
    from turnout.runner.targets import load_workflows

    spec = spec_of_version(store, run.new.version)
    if target is not None:
        found = _target_workflows(config, target)
        if not (matching := _with_first(found, spec)):
            raise InvalidTarget(
                f"{target} does not have the workflow {spec.name!r} of the run", code="no_such_workflow"
            )
        return matching
    configured: tuple[str, ...] = tuple(config.get("workflows") or ())
    for module in (*configured, *_modules(spec)):
        try:
            found = load_workflows(module, (config.root,), configured)
        except TurnoutError:
            continue
        if matching := _with_first(found, spec):
            return matching
    if not spec.needs_code:
        return []  # commands and handlers are stored with the run
    raise InvalidTarget(
        f"the code of workflow {spec.full_name} was not found",
        code="no_code",
        hint="say where it is: --target file.py or --target module, or `workflows` in the configuration",
    )


def _target_workflows(config: Config, target: str) -> list[AnyWorkflow]:
    """Returns all workflows of the module or file, or the configured workflow of this name."""
    from turnout.runner.targets import find_workflow, load_workflows

    try:
        return load_workflows(target, (config.root,), config.get("workflows") or ())
    except InvalidTarget as error:
        if error.code != "no_such_module":
            raise
        return [find_workflow(target, config.get("workflows") or (), (config.root,))]


def _with_first(workflows: list[AnyWorkflow], spec: WorkflowSpec) -> list[AnyWorkflow]:
    """Returns the workflows, that of the spec first; empty if it is not among them."""
    wanted = [each for each in workflows if (each.package, each.name) == (spec.package, spec.name)]
    return wanted and [*wanted, *(each for each in workflows if each not in wanted)]


def _modules(spec: WorkflowSpec) -> list[str]:
    """Returns the modules of the tasks' functions that can be imported by name."""
    refs = [task.body.ref.partition(":")[0] for task in spec.tasks if task.body.kind == "python"]
    return [module for module in dict.fromkeys(refs) if module and module != "__main__"]
