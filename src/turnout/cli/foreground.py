"""How does a command drive a run here until its end, and how does it say how that went?"""

from __future__ import annotations

import shlex
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import msgspec

from turnout.authoring.registry import Registry, children_of
from turnout.authoring.workflow import DEFAULT_TENANT, Workflow
from turnout.cli.failure import Exit, exit_code, report
from turnout.cli.format import short
from turnout.cli.interrupt import Interrupt
from turnout.cli.log_lines import Heard, heard_only
from turnout.cli.output import say, say_json, say_result, stdout_for_json
from turnout.cli.watch import Watched, follow, summary
from turnout.errors import RunError, RunFailed
from turnout.model.spec import WorkflowSpec
from turnout.model.types import plain as json_value
from turnout.orchestration.settings import EngineSettings
from turnout.runner import RunHandle, Runner, RunView, TaskFailure
from turnout.runner.config import Config
from turnout.runner.planning import Plan
from turnout.runner.settings import url_in
from turnout.runner.views import SHOWN
from turnout.store.urls import shown_url

AnyWorkflow = Workflow[..., Any]


class Driver(msgspec.Struct, frozen=True):
    """A Runner, and those who hear its bodies and the person at the keyboard."""

    runner: Runner
    heard: Heard
    interrupt: Interrupt
    as_json: bool
    warnings: list[str] = []

    def drive(self, handle: RunHandle[Any], spec: WorkflowSpec, again: Again) -> int:
        """Follow the run to its end; print its result, or what went wrong and what to do about it."""
        follow(Watched(self.runner.core, handle, spec, self.heard, self.interrupt), quiet=self.as_json)
        view = handle.status()
        try:
            result = json_value(handle.result(), "the result")
        except RunError as error:
            return self._failed(view, error, again)
        if self.as_json:
            say_json({**outcome(view), "result": result, "failures": [], "error": None, "warnings": self.warnings})
        else:
            say(_summary(view))
            if result is not None:
                say_result(result)
        return Exit.OK

    def _failed(self, view: RunView, error: RunError, again: Again) -> int:
        failures: Sequence[TaskFailure] = error.fields.get("failures", ())
        first = error.message.splitlines()[0].removesuffix(":")
        if self.as_json:
            said = {"code": error.code, "message": first}
            say_json({**outcome(view), "result": None, "failures": failures, "error": said, "warnings": self.warnings})
            report(error.code, first, None, as_json=True)
            return exit_code(error)
        say(_summary(view))
        for failure in failures[:SHOWN]:
            _say_failure(failure)
        if len(failures) > SHOWN:
            say(f"\n… and {len(failures) - SHOWN:,} more tasks that failed", to=sys.stderr)
        report(error.code, first, None, as_json=False)
        if not failures and type(error) is RunFailed:
            say(f"  {error.message.partition(chr(10))[2].strip() or view.reason or ''}", to=sys.stderr)
        _hints(view, failures, again)
        return exit_code(error)


@contextmanager
def driving(
    config: Config, database: str | None, workflows: Iterable[AnyWorkflow], *, as_json: bool, drives: bool = True
) -> Iterator[Driver]:
    """A Runner that has this code and drives only what it is asked to, and the child runs of that."""
    known = tuple(workflows)
    tenant = config.get("tenant") or DEFAULT_TENANT
    called = {
        spec.full_name
        for workflow in known
        for child in children_of(workflow)
        for spec in Registry().family_of(child, tenant)
    }
    heard = Heard()
    plan = Plan(config)
    warnings = plan.hub_warnings(known[0]) if drives and known else []
    for warning in () if as_json else warnings:
        say([(f"warning: {warning}", "yellow")], to=sys.stderr)
    with stdout_for_json(as_json), Interrupt() as interrupt, ExitStack() as stack:
        with said_if_slow(waits_for_database(config, database), quiet=as_json):
            runner = stack.enter_context(
                Runner(
                    database,
                    config=config,
                    workflows=known,
                    claims=called,
                    # The address may be another orchestrator's, whose business it is unless a task here needs workers.
                    hub=None if drives and plan.needs_hub(known) else False,
                    drives=drives,
                    settings=heard_only(config.orchestration or EngineSettings()),
                    on_output=heard.put,
                )
            )
        yield Driver(runner, heard, interrupt, as_json, warnings)


def waits_for_database(config: Config, database: str | None) -> str:
    """What to say of a run that is not stored yet."""
    return f"nothing starts yet: waiting for the database {shown_url(database or url_in(config))}"


def _summary(view: RunView) -> Any:
    took = None if view.finished_at is None else view.finished_at - view.created_at
    return summary(view.id, view.workflow, view.state, took)


def outcome(view: RunView) -> dict[str, Any]:
    """What every JSON answer about the end of a run begins with."""
    return {"run_id": view.id, "workflow": view.workflow, "state": str(view.state), "reason": view.reason}


def _say_failure(failure: TaskFailure) -> None:
    attempts = f" after {failure.attempts} attempts" if failure.attempts > 1 else ""
    say([(f"\n✗ {failure.task}{attempts}: {failure.type}: {failure.message}", "red")], to=sys.stderr)
    for line in failure.traceback.rstrip().splitlines():
        say([(f"  {line}", "dim")], to=sys.stderr)


def _hints(view: RunView, failures: Sequence[TaskFailure], again: Again) -> None:
    task = (failures[0].task,) if len(failures) == 1 else ()
    for command in (again.logs(view.id, *task), again.rerun(view.id)):
        say(f"hint: {command}", to=sys.stderr)


class Again(msgspec.Struct, frozen=True):
    """What a command must be told so that it finds the same code and the same database again."""

    target: str | None = None
    database: str | None = None

    def rerun(self, run_id: str) -> str:
        return self._typed("turnout", "runs", "rerun", short(run_id), *self._code())

    def logs(self, run_id: str, *task: str) -> str:
        return self._typed("turnout", "logs", short(run_id), *task)

    def _code(self) -> tuple[str, ...]:
        return () if self.target is None else ("--target", self.target)

    def _typed(self, *words: str) -> str:
        """As it can be typed. A database whose URL holds a password is not repeated."""
        if self.database is None:
            return shlex.join(words)
        if shown_url(self.database) != self.database:
            return f"{shlex.join(words)}  (with the same --database)"
        return shlex.join((*words, "--database", self.database))


def submitted(run_id: str, *, as_json: bool) -> int:
    """A run was stored for somebody else to drive."""
    if as_json:
        say_json({"run_id": run_id, "state": "pending"})
    else:
        say(run_id)
        say("stored; it starts when a Runner with this workflow is there", to=sys.stderr)
    return Exit.OK


SLOW = 1.5
"""Seconds after which it is said."""


@contextmanager
def said_if_slow(text: str, *, quiet: bool = False) -> Iterator[None]:
    """Say on standard error what is waited for, if this is not left soon."""
    timer = threading.Timer(SLOW, lambda: say([(text, "yellow")], to=sys.stderr))
    timer.daemon = True
    if not quiet:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
