"""Reads stored runs: finds them by id, and returns their state, tasks, attempts and results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from turnout.authoring.registry import Registry
from turnout.contracts.store import ReadStore, Store
from turnout.errors import RunNotFound
from turnout.model.driver import Driver
from turnout.model.graph import Graph
from turnout.model.rows import HistoryRow, StoredRun, TaskRow
from turnout.model.spec import WorkflowSpec, decode_spec
from turnout.model.states import RunState
from turnout.orchestration.engine import Engine
from turnout.orchestration.loaders.stored_runs import run_result
from turnout.orchestration.messages import FinishedRun
from turnout.orchestration.reply import Reply
from turnout.orchestration.upkeep.log_writer import LogWriter
from turnout.runner.engine_loop import EngineLoop
from turnout.runner.log_reader import LogReader
from turnout.runner.open_runs import driver_of
from turnout.runner.task_detail import TaskDetail, task_detail
from turnout.runner.views import AttemptView, RunView, TaskView, attempts_of, failure_of, run_view, task_view

MAX_NAMED = 10
"""Runs that the message about an ambiguous id names."""


class RunReader:
    """Reads runs from the store, and from the engine's memory where it is newer."""

    def __init__(
        self, store: Store, registry: Registry, engine: Engine, log_writer: LogWriter | None, loop: EngineLoop
    ) -> None:
        self._store = store
        self._registry = registry
        self._engine = engine
        self._log_writer = log_writer
        self._loop = loop

    def stored(self, run_id: str) -> StoredRun:
        run = self._store.run(run_id)
        if run is None:
            raise RunNotFound(f"there is no run {run_id}", run_id=run_id)
        return run

    def status(self, run_id: str) -> RunView:
        return run_view(self.stored(run_id))

    def runs(self, workflow: str | None, states: Sequence[RunState], limit: int, before: str | None) -> list[RunView]:
        """Returns runs, newest first."""
        found = self._store.runs(workflow=workflow, states=states, limit=limit, before=before)
        return [run_view(run) for run in found]

    def driver(self, run_id: str) -> Driver:
        return driver_of(self._store, self.stored(run_id))

    def tasks(self, run_id: str) -> list[TaskView]:
        return [task_view(row) for row in self._store.tasks(run_id, outputs=False)]

    def task(self, run_id: str, name: str) -> TaskDetail:
        """Returns one task with its output and attempts, as it is stored."""
        return task_detail(self._store, self.stored(run_id), name)

    def history(self, run_id: str) -> list[tuple[float, HistoryRow]]:
        return self._store.history(run_id)

    def attempts(self, run_id: str) -> list[AttemptView]:
        return attempts_of(self._store.history(run_id), self._store.tasks(run_id, outputs=False))

    def children(self, run_id: str) -> list[RunView]:
        return [run_view(run) for run in self._store.children(run_id)]

    def spec_of(self, run_id: str) -> WorkflowSpec:
        """Returns the workflow as it was when the run was submitted."""
        return self._engine.graphs.stored(self.stored(run_id).new.version).spec

    def _stored(self, run_id: str) -> tuple[StoredRun, Graph, dict[int, TaskRow]]:
        run = self.stored(run_id)
        graph = self._engine.graphs.stored(run.new.version)
        return run, graph, {row.pos: row for row in self._store.tasks(run_id, outputs=False)}

    def look(self, run_id: str) -> list[TaskRow]:
        """Returns the run's tasks without outputs: from memory while it is driven here, else from the store.

        Called from any thread: the rows are frozen, and a copy of their list is made in one step.
        """
        owned = self._engine.runs.get(run_id)
        return list(owned.machine.tasks) if owned is not None else self._store.tasks(run_id, outputs=False)

    def seq_of(self, run_id: str) -> int | None:
        """Returns the seq of the newest move of a run that is driven here; None if it is not. From any thread."""
        owned = self._engine.runs.get(run_id)
        return None if owned is None else owned.machine.seq

    def final(self, run_id: str) -> Reply[FinishedRun]:
        """Returns the reply that tells the end of the run."""
        self._loop.check_open()
        reply: Reply[FinishedRun] = Reply()
        self._loop.call_soon(self._engine.waiters.watch, run_id, reply)
        return reply

    def result(self, final: FinishedRun) -> Any:
        """Returns what the run returned; raises the exception of a run that did not complete. Reads the store."""
        run = final.run
        if final.machine is not None:
            graph, rows = final.machine.graph, dict(enumerate(final.machine.tasks))
        else:
            _, graph, rows = self._stored(run.new.run_id)
        if run.row.state is not RunState.COMPLETED:
            raise failure_of(run, [row for row in rows.values() if row.pos not in graph.hooks])
        fetch = partial(self._store.outputs, run.new.run_id)
        value = run_result(graph, run.new.input, rows, fetch, one_by_one=final.machine is not None)
        definition = self._registry.definition_of(run.new)
        return value if definition is None else definition.returned(value)

    def logs(self, run_id: str, *, follow: bool = False) -> LogReader:
        return LogReader(self._store, self._log_writer, run_id, follow=follow)


LAST = "last"
RUNS_PAGE_SIZE = 100
_HEX = re.compile(r"[0-9a-f]{1,32}")


def find_run(store: ReadStore, wanted: str) -> StoredRun:
    """Returns the run with this id or the only one whose id begins so; with ``last``, the newest that is no child."""
    if wanted == LAST:
        return _last(store)
    exact = store.run(wanted)
    if exact is not None:
        return exact
    digits = wanted.lower().replace("-", "")
    if not _HEX.fullmatch(digits):
        raise RunNotFound(f"{wanted!r} is no run: give an id, the beginning of one, or {LAST!r}", run_id=wanted)
    highest = digits.ljust(32, "f")
    below = store.runs(before=highest, limit=MAX_NAMED + 1)
    found = [
        run
        for run in (store.run(highest), *below)
        if run is not None and run.new.run_id.replace("-", "").startswith(digits)
    ]
    if not found:
        raise RunNotFound(f"there is no run {wanted}", run_id=wanted)
    if len(found) > 1:
        raise several_runs(wanted, [(run.new.run_id, run.new.workflow) for run in found])
    return found[0]


def several_runs(wanted: str, found: Sequence[tuple[str, str]]) -> RunNotFound:
    """Returns the error about runs, by id and workflow, that a beginning of an id does not tell apart."""
    named = [f"{run_id} of {workflow.rpartition('::')[2]}" for run_id, workflow in found[:MAX_NAMED]]
    shown = ", ".join([*named, "…"] if len(found) > MAX_NAMED else named)
    return RunNotFound(f"several runs begin with {wanted}: {shown}", code="ambiguous_run", run_id=wanted)


def _last(store: ReadStore) -> StoredRun:
    before: str | None = None
    while page := store.runs(limit=RUNS_PAGE_SIZE, before=before):
        for run in page:
            if run.new.parent_run is None:
                return run
        before = page[-1].new.run_id
    raise RunNotFound("there is no run yet", run_id=LAST)


def spec_of_version(store: ReadStore, version: str) -> WorkflowSpec:
    """Returns the workflow as it was when the run was submitted."""
    text = store.workflow(version)
    assert text is not None, "a run's workflow version is stored before the run"
    return decode_spec(text)
