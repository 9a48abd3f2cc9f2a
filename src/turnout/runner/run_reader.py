"""What is known of stored runs: their state, tasks, results and logs."""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial
from typing import Any

from turnout.authoring.registry import Registry
from turnout.contracts.store import Store
from turnout.errors import RunNotFound
from turnout.model.graph import Graph
from turnout.model.rows import StoredRun, TaskRow
from turnout.model.spec import WorkflowSpec
from turnout.model.states import RunState
from turnout.orchestration.engine import Engine
from turnout.orchestration.loading.results import run_result
from turnout.orchestration.messages import FinishedRun
from turnout.orchestration.upkeep.log_writer import LogWriter
from turnout.runner.engine_loop import EngineLoop
from turnout.runner.logs import LogReader
from turnout.runner.task_detail import TaskDetail, task_detail
from turnout.runner.views import failure_of


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

    def task_detail(self, run_id: str, name: str) -> TaskDetail:
        """One task with its output and attempts, as it is stored."""
        return task_detail(self._store, self.stored(run_id), name)

    def spec_of(self, run_id: str) -> WorkflowSpec:
        """The workflow as the run knows it, whatever the code says today."""
        return self._engine.graphs.stored(self.stored(run_id).new.version).spec

    def _stored(self, run_id: str) -> tuple[StoredRun, Graph, dict[int, TaskRow]]:
        run = self.stored(run_id)
        graph = self._engine.graphs.stored(run.new.version)
        return run, graph, {row.pos: row for row in self._store.tasks(run_id, outputs=False)}

    def look(self, run_id: str) -> list[TaskRow]:
        """The run's tasks as they are now, without outputs: from memory while it is driven here, else from the store.

        Called from any thread: the rows are frozen, and a copy of their list is made in one step.
        """
        owned = self._engine.runs.get(run_id)
        return list(owned.machine.tasks) if owned is not None else self._store.tasks(run_id, outputs=False)

    def watch(self, run_id: str, future: Future[FinishedRun]) -> None:
        """Resolves the future when the run ends."""
        self._loop.check_open()
        self._loop.call_soon(self._engine.waiters.watch, run_id, future)

    def result(self, final: FinishedRun) -> Any:
        """What the run returned, or the exception that tells how it ended. Reads large outputs from the store."""
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
