"""Reports how a run has ended: its result, or its failures with the next commands, as text or as JSON."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from turnout.cli.failure import exit_code, report
from turnout.cli.format import format_count, short_id
from turnout.cli.output import Line, print_json, print_line, print_result
from turnout.cli.watch import summary
from turnout.errors import RunError, RunFailed, TaskFailure
from turnout.runner.views import MAX_SHOWN_FAILURES, RunView
from turnout.store.database import shown_url


class Hints(msgspec.Struct, frozen=True):
    """Suggests the next commands, with the options that select the same code and database."""

    target: str | None = None
    database: str | None = None

    def rerun(self, run_id: str) -> str:
        return self._command("turnout", "runs", "rerun", short_id(run_id), *self._code())

    def logs(self, run_id: str, *task: str) -> str:
        return self._command("turnout", "logs", short_id(run_id), *task)

    def _code(self) -> tuple[str, ...]:
        return () if self.target is None else ("--target", self.target)

    def _command(self, *words: str) -> str:
        """Returns the command line. A database URL that holds a password is not repeated."""
        if self.database is None:
            return shlex.join(words)
        if shown_url(self.database) != self.database:
            return f"{shlex.join(words)}  (with the same --database)"
        return shlex.join((*words, "--database", self.database))


NO_HINTS = Hints()


def print_success(view: RunView, result: Any, warnings: Sequence[str], *, as_json: bool) -> None:
    """Prints what a completed run returned."""
    if as_json:
        print_json({**outcome(view), "result": result, "failures": [], "error": None, "warnings": warnings})
        return
    print_line(_summary(view))
    if result is not None:
        print_result(result)


def print_failure(
    view: RunView, error: RunError, warnings: Sequence[str], *, as_json: bool, hints: Hints = NO_HINTS
) -> int:
    """Prints why a run did not complete, and returns the exit code."""
    failures: Sequence[TaskFailure] = error.fields.get("failures", ())
    first = error.message.splitlines()[0].removesuffix(":")
    if as_json:
        document = {"code": error.code, "message": first}
        print_json({**outcome(view), "result": None, "failures": failures, "error": document, "warnings": warnings})
        report(error.code, first, None, as_json=True)
        return exit_code(error)
    print_line(_summary(view))
    for failure in failures[:MAX_SHOWN_FAILURES]:
        _print_task(failure)
    if len(failures) > MAX_SHOWN_FAILURES:
        print_line(
            f"\n… and {format_count(len(failures) - MAX_SHOWN_FAILURES, 'more task')} that failed", to=sys.stderr
        )
    report(error.code, first, None, as_json=False)
    if not failures and type(error) is RunFailed:
        print_line(f"  {error.message.partition(chr(10))[2].strip() or view.reason or ''}", to=sys.stderr)
    task = (failures[0].task,) if len(failures) == 1 else ()
    for command in (hints.logs(view.id, *task), hints.rerun(view.id)):
        print_line(f"hint: {command}", to=sys.stderr)
    return exit_code(error)


def print_warnings(warnings: Iterable[str]) -> None:
    """Prints warnings to stderr."""
    for warning in warnings:
        print_line([(f"warning: {warning}", "yellow")], to=sys.stderr)


def outcome(view: RunView) -> dict[str, Any]:
    """Returns the first fields of every JSON document about the end of a run."""
    return {"run_id": view.id, "workflow": view.workflow, "state": str(view.state), "reason": view.reason}


def _summary(view: RunView) -> Line:
    took = None if view.finished_at is None else view.finished_at - view.created_at
    return summary(view.id, view.workflow, view.state, took)


def _print_task(failure: TaskFailure) -> None:
    attempts = f" after {failure.attempts} attempts" if failure.attempts > 1 else ""
    print_line([(f"\n✗ {failure.task}{attempts}: {failure.type}: {failure.message}", "red")], to=sys.stderr)
    for line in failure.traceback.rstrip().splitlines():
        print_line([(f"  {line}", "dim")], to=sys.stderr)
