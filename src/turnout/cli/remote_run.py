"""Displays a run that a server drives until it ends, and reports it with an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from turnout.cli.api_client import ApiClient, segment
from turnout.cli.event_stream import followed
from turnout.cli.failure import Exit
from turnout.cli.format import MARKS, format_duration, short_id, workflow_name
from turnout.cli.logs import format_line
from turnout.cli.outcome import print_failure, print_success, print_warnings
from turnout.cli.output import print_json, print_line
from turnout.cli.remote_report import view_of
from turnout.cli.run_input import input_file, untyped_parameters
from turnout.errors import InputError, RunError, WorkflowNotFound
from turnout.model.inputs import named_values
from turnout.model.logs import LogLine, Stream
from turnout.model.states import TaskState
from turnout.server.api.types.runs import Run, RunResult, StartedRun
from turnout.server.api.types.tasks import Move
from turnout.server.api.types.workflows import WorkflowParameter


class Declared(msgspec.Struct, frozen=True):
    """The parameters of a workflow."""

    parameters: list[WorkflowParameter]


class RemoteRun:
    """One run of a server, watched from here."""

    def __init__(self, client: ApiClient, started: StartedRun, *, as_json: bool) -> None:
        self._client = client
        self._started = started
        self._as_json = as_json
        self._began: dict[str, float] = {}
        """When the newest attempt of a task began."""

    def follow(self) -> int:
        """Prints lines and ended tasks until the run has ended, then its result or failures. Returns the exit code."""
        run = self._started.run
        if not self._as_json:
            print_warnings(self._started.warnings)
            if not self._started.created:
                mark, style = MARKS[run.state]
                text = f"run {run.id} exists already with key {run.key!r}: "
                print_line([(text, "yellow"), (f"{mark} {run.state}", style)], to=sys.stderr)
            print_line(f"run {run.id} of {workflow_name(run.workflow)}")
        try:
            self._watch(run.id)
        except KeyboardInterrupt:
            print_line(f"the run goes on: turnout logs {short_id(run.id)} --follow", to=sys.stderr)
            raise
        return self._report(run.id)

    def _watch(self, run_id: str) -> None:
        for event in followed(self._client, f"/runs/{run_id}/events"):
            if not self._as_json:
                self._print(event.name, event.data)

    def _print(self, name: str, data: bytes) -> None:
        if name == "log":
            line = msgspec.json.decode(data, type=LogLine)
            if line.stream != Stream.PROGRESS:
                print_line(format_line(line.task, line.stream, line.text, attempt=line.attempt))
        elif name == "task":
            self._print_move(msgspec.json.decode(data, type=Move))

    def _print_move(self, move: Move) -> None:
        task = move.task or ""
        if move.new == TaskState.RUNNING:
            self._began[task] = move.at
        elif TaskState(move.new).terminal:
            mark, style = MARKS[TaskState(move.new)]
            took = format_duration(move.at - self._began[task]) if task in self._began else ""
            print_line([(f"{mark} {task}", style), (f"  {took}", "dim")])

    def _report(self, run_id: str) -> int:
        view = view_of(self._client.get(f"/runs/{run_id}", Run))
        try:
            result = self._client.get(f"/runs/{run_id}/result", RunResult).result
        except RunError as error:
            return print_failure(view, error, self._started.warnings, as_json=self._as_json)
        print_success(view, result, self._started.warnings, as_json=self._as_json)
        return Exit.OK


def print_stored(started: StartedRun, *, as_json: bool, quiet: bool) -> int:
    """Prints the id of a run that the server has stored, or of one that existed already."""
    run = started.run
    if as_json:
        print_json({"run_id": run.id, "state": str(run.state), "warnings": started.warnings})
        return Exit.OK
    print_warnings(started.warnings)
    print_line(run.id)
    if started.created and not quiet:
        print_line("stored; an orchestrator that has this workflow starts it", to=sys.stderr)
    return Exit.OK


def input_of(
    client: ApiClient, workflow: str, pairs: Sequence[str], arguments: Sequence[str] = (), file: str | None = None
) -> dict[str, Any]:
    """Returns the parameters of a run that a server starts, read by the types that it declares; the server checks
    them."""
    given = dict(input_file(file))
    if pairs or arguments:
        try:
            declared = client.get(f"/workflows/{segment(workflow)}", Declared).parameters
        except (InputError, WorkflowNotFound):  # the start is answered with what is wrong
            declared = []
        texts = [each.name for each in declared if each.schema.get("type") == "string" or each.type == "str"]
        names = [each.name for each in declared]
        given |= untyped_parameters([*named_values(names, arguments), *pairs], texts)
    return given
