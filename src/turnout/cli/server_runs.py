"""Runs through the API of a server."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from turnout.cli.api_client import ApiClient, segment, workflow_of
from turnout.cli.event_stream import followed
from turnout.cli.logs import check_attempt
from turnout.cli.remote_report import PAGE, entries_of, facts_of, tasks_of, view_of
from turnout.cli.remote_run import RemoteRun, input_of, print_stored
from turnout.cli.run_report import MAX_ATTEMPTS, MAX_LINES, HistoryEntry, RunFacts
from turnout.cli.service import Rerun, Start
from turnout.errors import InvalidInput, RunNotFound
from turnout.model.driver import Driver
from turnout.model.durations import seconds
from turnout.model.logs import LogLine
from turnout.model.retention import Deleted
from turnout.model.states import RunState, TaskState
from turnout.model.validation import check_run_priority
from turnout.runner.run_reader import LAST, several_runs
from turnout.runner.task_detail import TaskDetail
from turnout.runner.views import AttemptView, RunView
from turnout.server.api.types.limits import RunLimits
from turnout.server.api.types.logs import LogPage
from turnout.server.api.types.runs import (
    CancelRequest,
    DeletedRuns,
    RerunRequest,
    Run,
    RunInput,
    RunPage,
    RunResult,
    StartedRun,
    StartRequest,
)
from turnout.server.api.types.tasks import Move, MovePage, RunGraph

MAX_SEARCHED_RUNS = 10_000
"""The newest runs among which the beginning of an id is looked for."""


class ServerRuns:
    """Runs of a server."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    def list(
        self, workflow: str | None, states: Sequence[RunState], limit: int
    ) -> builtins.list[tuple[RunView, Driver]] | None:
        query = {"workflow": workflow, "state": [str(state) for state in states]}
        return [(view_of(run), run.driver or Driver.DRIVEN) for run in self._pages(limit, query)]

    def _pages(self, limit: int, query: Mapping[str, Any]) -> Iterator[Run]:
        cursor, left = None, limit
        while left > 0:
            page = self._client.get("/runs", RunPage, {**query, "limit": min(left, PAGE), "cursor": cursor})
            yield from page.runs
            cursor, left = page.next, left - len(page.runs)
            if cursor is None or not page.runs:
                return

    def find(self, wanted: str) -> RunView:
        return view_of(self._find(wanted))

    def _find(self, wanted: str) -> Run:
        """Returns the run with this id, or the only one whose id begins so; for ``last`` the newest, no child run."""
        if wanted == LAST:
            for run in self._pages(1, {"top_level": True}):
                return run
            raise RunNotFound("there is no run yet", run_id=LAST)
        try:
            return self._client.get(f"/runs/{segment(wanted)}", Run)
        except RunNotFound:
            digits = wanted.lower().replace("-", "")
            runs = self._pages(MAX_SEARCHED_RUNS, {})
            found = [run for run in runs if digits and run.id.replace("-", "").startswith(digits)]
        if not found:
            raise RunNotFound(f"there is no run {wanted}", run_id=wanted)
        if len(found) > 1:
            raise several_runs(wanted, [(run.id, run.workflow) for run in found])
        return found[0]

    def facts(self, wanted: str, *, lines: bool) -> RunFacts:
        client, run = self._client, self._find(wanted)
        path = f"/runs/{run.id}"
        result = client.get(f"{path}/result", RunResult).result if run.state is RunState.COMPLETED else None
        tasks, progress = tasks_of(client, run.id)
        known = facts_of(
            run,
            client.get(f"{path}/input", RunInput).input,
            client.get(f"{path}/graph", RunGraph),
            tasks,
            builtins.list(self._moves(run.id)),
            result,
            progress,
            [] if run.state.terminal else client.get(f"{path}/limits", RunLimits).limits,
        )
        if not lines:
            return known
        failed = [attempt for attempt in known.attempts if attempt.failed][-MAX_ATTEMPTS:]
        read = {(one.task, one.attempt): self._last_lines(run.id, one) for one in failed}
        return msgspec.structs.replace(known, lines=read)

    def _moves(self, run_id: str) -> Iterator[Move]:
        cursor = None
        while True:
            page = self._client.get(f"/runs/{run_id}/history", MovePage, {"limit": PAGE, "cursor": cursor})
            yield from page.moves
            if (cursor := page.next) is None:
                return

    def _last_lines(self, run_id: str, attempt: AttemptView) -> builtins.list[LogLine]:
        lines = self._stored_lines(run_id, attempt.task, attempt.attempt)
        return [line for line in lines if line.task == attempt.task][-MAX_LINES:]

    def output(self, wanted: str, task: str | None) -> tuple[str, Any]:
        run_id = self._find(wanted).id
        if task is None:
            return run_id, self._client.get(f"/runs/{run_id}/result", RunResult).result
        detail = self._client.get(f"/runs/{run_id}/tasks/{segment(task)}", TaskDetail)
        if detail.state is not TaskState.COMPLETED:
            raise InvalidInput(f"task {task!r} is {detail.state}: it has no output", code="no_output", task=task)
        return run_id, detail.output

    def history(self, wanted: str) -> tuple[str, builtins.list[HistoryEntry]]:
        run_id = self._find(wanted).id
        return run_id, entries_of(self._moves(run_id))

    def logs(self, wanted: str, task: str | None, attempt: int | None, *, follow: bool) -> Iterator[LogLine]:
        run_id, empty = self._find(wanted).id, True
        read = self._followed_lines if follow else self._stored_lines
        for line in read(run_id, task, attempt):
            empty = False
            yield line
        if empty and attempt is not None:
            check_attempt(run_id, self.facts(run_id, lines=False).attempts, task, attempt)

    def _stored_lines(self, run_id: str, task: str | None, attempt: int | None) -> Iterator[LogLine]:
        of_task = "" if task is None else f"/tasks/{segment(task)}"
        path, cursor = f"/runs/{run_id}{of_task}/logs", None
        while True:
            page = self._client.get(path, LogPage, {"limit": PAGE, "cursor": cursor})
            yield from (line for line in page.lines if attempt in (None, line.attempt))
            if (cursor := page.next) is None:
                return

    def _followed_lines(self, run_id: str, task: str | None, attempt: int | None) -> Iterator[LogLine]:
        query = {"task": task, "attempt": attempt}
        for event in followed(self._client, f"/runs/{run_id}/logs/stream", query):
            if event.name == "log":
                yield msgspec.json.decode(event.data, type=LogLine)

    def command(self, wanted: str, kind: str, reason: str | None = None) -> tuple[RunView, Driver]:
        body = CancelRequest(reason=reason) if kind == "cancel" and reason is not None else None
        changed = self._client.post(f"/runs/{self._find(wanted).id}/{kind}", Run, body)
        return view_of(changed), changed.driver or Driver.DRIVEN

    def delete(self, run_id: str, *, force: bool) -> Deleted:
        gone = self._client.delete(f"/runs/{run_id}", DeletedRuns, {"force": force})
        return Deleted(runs=gone.runs, rows=gone.rows)

    def start(self, start: Start, *, as_json: bool, quiet: bool = False) -> int:
        check_run_priority(start.priority)
        request = StartRequest(
            workflow=workflow_of(start.target),
            input=input_of(self._client, start.target, start.parameters, start.arguments, start.file),
            priority=start.priority,
            timeout=None if start.timeout is None else seconds(start.timeout, "--timeout"),
        )
        headers = {} if start.key is None else {"Idempotency-Key": start.key}
        path = "/runs" if start.waits else "/runs/enqueue"
        started = self._client.post(path, StartedRun, request, headers=headers)
        return self._display(started, waits=start.waits, as_json=as_json, quiet=quiet)

    def rerun(self, rerun: Rerun, *, as_json: bool) -> int:
        if rerun.target is not None:
            raise InvalidInput("--target names code for this process: the server has its own", field="target")
        run = self._find(rerun.run)
        request = RerunRequest(from_task=rerun.from_task, input=input_of(self._client, run.workflow, rerun.parameters))
        started = self._client.post(f"/runs/{run.id}/rerun", StartedRun, request)
        return self._display(started, waits=rerun.waits, as_json=as_json)

    def _display(self, started: StartedRun, *, waits: bool, as_json: bool, quiet: bool = False) -> int:
        if not waits:
            return print_stored(started, as_json=as_json, quiet=quiet)
        return RemoteRun(self._client, started, as_json=as_json).follow()
