"""Runs in the foreground: driven in this process until they end, displayed, and reported with an exit code."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import msgspec

from turnout.authoring.registry import Registry, children_of
from turnout.authoring.workflow import DEFAULT_TENANT, Workflow
from turnout.cli.database import check_folder
from turnout.cli.failure import Exit
from turnout.cli.format import MARKS
from turnout.cli.interrupt import Interrupt
from turnout.cli.logs import LineQueue
from turnout.cli.outcome import Hints, print_failure, print_success, print_warnings
from turnout.cli.output import print_json, print_line, stdout_for_json
from turnout.cli.watch import follow
from turnout.cli.watched_run import WatchedRun
from turnout.errors import RunError, StoreError
from turnout.model.run_triggers import CLI
from turnout.model.spec import WorkflowSpec
from turnout.model.types import to_json_value as json_value
from turnout.orchestration.settings import EngineSettings
from turnout.runner import RunHandle, Runner, RunView
from turnout.runner.composition import Plan
from turnout.runner.config import Config
from turnout.runner.settings import url_in
from turnout.store.database import shown_url

AnyWorkflow = Workflow[..., Any]


class Foreground(msgspec.Struct, frozen=True):
    """A Runner of this process, with the output of its tasks and Ctrl-C."""

    runner: Runner
    queue: LineQueue
    interrupt: Interrupt
    as_json: bool
    warnings: list[str] = []

    def drive(self, handle: RunHandle[Any], spec: WorkflowSpec, hints: Hints) -> int:
        """Displays the run until it ends, prints its result or its failures, and returns the exit code."""
        follow(WatchedRun(self.runner.core, handle, spec, self.queue, self.interrupt), quiet=self.as_json)
        view = handle.status()
        try:
            result = json_value(handle.result(), "the result")
        except RunError as error:
            return print_failure(view, error, self.warnings, as_json=self.as_json, hints=hints)
        print_success(view, result, self.warnings, as_json=self.as_json)
        return Exit.OK


@contextmanager
def foreground_runner(
    config: Config, database: str | None, workflows: Iterable[AnyWorkflow], *, as_json: bool, drives: bool = True
) -> Iterator[Foreground]:
    """Yields a Runner that has this code and drives only the runs that it is given, and their child runs."""
    check_folder(database or url_in(config))
    known = tuple(workflows)
    tenant = config.get("tenant") or DEFAULT_TENANT
    called = {
        spec.full_name
        for workflow in known
        for child in children_of(workflow)
        for spec in Registry().family_of(child, tenant)
    }
    queue = LineQueue()
    plan = Plan(config)
    warnings = plan.hub_warnings(known[0]) if drives and known else []
    if not as_json:
        print_warnings(warnings)
    with stdout_for_json(as_json), Interrupt() as interrupt, ExitStack() as stack:
        with notice_if_slow(database_wait_notice(config, database), quiet=as_json):
            runner = stack.enter_context(
                Runner(
                    database,
                    config=config,
                    workflows=known,
                    claims=called,
                    # Another orchestrator may use the hub's address: it is opened only if a task needs workers.
                    hub=None if drives and plan.needs_hub(known) else False,
                    drives=drives,
                    settings=without_echo(config.orchestration or EngineSettings()),
                    on_output=queue.put,
                    origin=CLI,
                )
            )
        yield Foreground(runner, queue, interrupt, as_json, warnings)


def without_echo(settings: EngineSettings) -> EngineSettings:
    """Returns the settings with the echo of task output off: the display shows it."""
    logs = msgspec.structs.replace(settings.logs, echo=False)
    return msgspec.structs.replace(settings, logs=logs)


def database_wait_notice(config: Config, database: str | None) -> str:
    """Returns the notice for a run that is not stored yet."""
    return f"nothing starts yet: waiting for the database {shown_url(database or url_in(config))}"


def print_submitted(
    runner: Runner,
    handle: RunHandle[Any],
    *,
    as_json: bool,
    existing: RunView | None = None,
    quiet: bool = False,
) -> int:
    """Prints the id of a run that was stored for another orchestrator, or of one that existed already."""
    if as_json:
        state = "pending" if existing is None else str(existing.state)
        print_json({"run_id": handle.id, "state": state, "warnings": handle.warnings})
        return Exit.OK
    print_warnings(handle.warnings)
    print_line(handle.id)
    if existing is None and not quiet:
        print_line(f"stored; {_start_condition(runner)}", to=sys.stderr)
    return Exit.OK


def _start_condition(runner: Runner) -> str:
    try:
        alive = bool(runner.core.admin.orchestrators())
    except StoreError:  # The run is stored: an outage after that is no failure of the command.
        alive = False
    if alive:
        return "a live orchestrator starts it if it has this workflow"
    return "it starts when a Runner with this workflow is there"


def print_existing(view: RunView) -> None:
    """Reports that a run with this key exists, and its state."""
    mark, style = MARKS[view.state]
    print_line(
        [(f"run {view.id} exists already with key {view.key!r}: ", "yellow"), (f"{mark} {view.state}", style)],
        to=sys.stderr,
    )


NOTICE_DELAY = 1.5
"""Seconds after which the notice is printed."""


@contextmanager
def notice_if_slow(text: str, *, quiet: bool = False) -> Iterator[None]:
    """Prints the text to stderr if the block takes longer than NOTICE_DELAY."""
    timer = threading.Timer(NOTICE_DELAY, lambda: print_line([(text, "yellow")], to=sys.stderr))
    timer.daemon = True
    if not quiet:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
