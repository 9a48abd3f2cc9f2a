"""Starts runs on a database: driven in this process until they end, or stored for another orchestrator."""

from __future__ import annotations

import json
import time

from turnout.authoring.parameters import parse_parameters
from turnout.cli.database import open_store
from turnout.cli.foreground import (
    database_wait_notice,
    foreground_runner,
    notice_if_slow,
    print_existing,
    print_submitted,
)
from turnout.cli.outcome import Hints
from turnout.cli.run_code import workflows_of
from turnout.cli.run_input import input_file, named_values
from turnout.cli.service import Rerun, Start
from turnout.errors import InvalidTarget
from turnout.model.durations import seconds
from turnout.runner.run_commands import check_open
from turnout.runner.run_reader import find_run
from turnout.runner.settings import configuration
from turnout.runner.targets import find_workflow


def start_run(start: Start, database: str | None, *, as_json: bool, quiet: bool = False) -> int:
    """Drives the run in this process until it ends, or only stores it; returns the exit code."""
    config = configuration()
    limit = None if start.timeout is None else seconds(start.timeout, "--timeout")
    workflow = find_workflow(start.target, config.workflow_places, (config.root,))
    names = [each.name for each in workflow.spec.params]
    pairs = [*named_values(names, workflow.source.positional, start.arguments), *start.parameters]
    input = parse_parameters(workflow, pairs, input_file(start.file))
    with foreground_runner(config, database, [workflow], as_json=as_json, drives=start.waits) as foreground:
        runner = foreground.runner
        with notice_if_slow(database_wait_notice(config, database), quiet=as_json):
            submitted_at = time.time()
            handle = runner.submit_with(workflow, key=start.key, priority=start.priority, timeout=limit, input=input)
        existing = None if start.key is None or (view := handle.status()).created_at >= submitted_at else view
        if existing is not None and not as_json:
            print_existing(existing)
        if not start.waits:
            return print_submitted(runner, handle, as_json=as_json, existing=existing, quiet=quiet)
        if start.key is not None:
            runner.core.admin.take(handle.id)
        spec = runner.core.submitter.graph_of(workflow).spec
        return foreground.drive(handle, spec, Hints(start.target, database))


def rerun_run(rerun: Rerun, database: str | None, *, as_json: bool) -> int:
    """The same for a new run that keeps what was finished."""
    config = configuration()
    with open_store(database) as store:
        stored = find_run(store, rerun.run)
        # The types of the parameters are in the code.
        needs_code = rerun.waits or bool(rerun.parameters)
        workflows = workflows_of(config, rerun.target, store, stored) if needs_code else []
    given = rerun.parameters
    if given and not workflows:
        raise InvalidTarget(
            "the types of the parameters are not known",
            code="no_code",
            hint="say where the workflow is: --target file.py, --target file.yaml or --target module",
        )
    input = parse_parameters(workflows[0], given, json.loads(stored.new.input)) if given else None
    with foreground_runner(config, database, workflows, as_json=as_json, drives=rerun.waits) as foreground:
        runner = foreground.runner
        handle = runner.get(stored.new.run_id).rerun(rerun.from_task, input)
        if not rerun.waits:
            return print_submitted(runner, handle, as_json=as_json)
        if not workflows:
            runner.core.admin.take(handle.id)  # a workflow that is not registered here is stored for any orchestrator
        spec = runner.core.reader.spec_of(handle.id)
        return foreground.drive(handle, spec, Hints(rerun.target, database))


def resume_run(run: str, target: str | None, database: str | None, *, as_json: bool) -> int:
    """Resumes a run, and drives it in this process until it ends."""
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
