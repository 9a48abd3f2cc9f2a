"""What does an attempt need to run? Its body and arguments, from the owner's memory, else from the store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import msgspec

from turnout.authoring.calling import caller
from turnout.authoring.registry import Registry
from turnout.contracts.executor import Work
from turnout.contracts.store import Store
from turnout.errors import RunNotFound, StoreUnreachable
from turnout.model.events import TaskReadyEvent
from turnout.model.graph import Graph
from turnout.model.mapping import rows_near
from turnout.model.names import split_task_id
from turnout.model.outputs import Outputs
from turnout.model.rows import TaskRow
from turnout.model.spec import TaskSpec, WorkflowSpec
from turnout.model.states import TaskState
from turnout.orchestration.arguments import Arguments, Call, plain_arguments
from turnout.orchestration.lists import SplitLists
from turnout.orchestration.owned import OwnedRun

REMEMBERED_RUNS = 256
"""Runs of which a loader remembers where their items are."""


class StoreLoader:
    """Reads everything from the store: for executors in a process that does not own the run."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store = store
        self._registry = registry
        self._graphs: dict[str, Graph] = {}
        self._lists = SplitLists()
        self._items_known: dict[str, Mapping[int, range]] = {}

    async def load(self, event: TaskReadyEvent) -> Work:
        return await asyncio.to_thread(self.load_blocking, event)

    def load_now(self, event: TaskReadyEvent) -> Work | None:
        return None

    def load_blocking(self, event: TaskReadyEvent) -> Work:
        run_id, pos = split_task_id(event.task_id)
        stored = self._store.run(run_id)
        if stored is None:
            raise RunNotFound(f"there is no run {run_id}", run_id=run_id)
        graph, input = self._graph(stored.new.version), stored.new.input
        if graph.mapped:
            call = Call(run_id, input, *self._rows_near(run_id, graph, pos), self._lists)
            texts = self._store.outputs(run_id, call.needed) if call.needed else {}
            return prepare(event, graph, call.task, call.arguments(texts), self._registry, call.index)
        rows = {row.pos: row for row in self._store.tasks(run_id, outputs=False)}
        needed = graph.inputs(pos, lambda dep: rows[dep].state is TaskState.COMPLETED)
        texts = self._store.outputs(run_id, needed) if needed else {}
        task = graph.tasks[pos]
        return prepare(event, graph, task, plain_arguments(graph, task, input, texts), self._registry)

    def _rows_near(self, run_id: str, graph: Graph, pos: int) -> tuple[Outputs, TaskRow]:
        items = self._items(run_id, graph, pos)
        rows = {row.pos: row for row in self._store.tasks_at(run_id, rows_near(graph, items, pos))}
        return Outputs(graph, rows.__getitem__, items), rows[pos]

    def _items(self, run_id: str, graph: Graph, pos: int) -> Mapping[int, range]:
        """Where items are; once it is known for those that this task asks about, it does not change."""
        known = self._items_known.get(run_id)
        own = next((group for group, some in (known or {}).items() if pos in some), pos)
        if (
            known is None
            or own >= len(graph.tasks)
            or any(dep in graph.mapped and dep not in known for dep in graph.deps[own])
        ):
            if len(self._items_known) >= REMEMBERED_RUNS:
                self._items_known.clear()
            known = self._items_known[run_id] = self._store.items(run_id)
        return known

    def _graph(self, version: str) -> Graph:
        graph = self._graphs.get(version)
        if graph is None:
            text = self._store.workflow(version)
            if text is None:
                raise RunNotFound(f"workflow version {version} is not stored", version=version)
            graph = self._graphs[version] = Graph(msgspec.json.decode(text, type=WorkflowSpec), version)
        return graph


class MemoryLoader(StoreLoader):
    """Takes what the owner has in memory; only large outputs are read from the store."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        runs: Mapping[str, OwnedRun],
        fenced: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(store, registry)
        self._runs = runs
        self._fenced = fenced

    def load_now(self, event: TaskReadyEvent) -> Work | None:
        return self._from_memory(event, lambda run_id, large: None if large else {})

    def load_blocking(self, event: TaskReadyEvent) -> Work:
        work = self._from_memory(event, self._store.outputs)
        return work if work is not None else super().load_blocking(event)

    def _from_memory(
        self, event: TaskReadyEvent, fetch: Callable[[str, list[int]], dict[int, str] | None]
    ) -> Work | None:
        if self._fenced():
            # It was handed to its executor before the contact was lost; by now somebody else may have it.
            raise StoreUnreachable("out of contact with the database: nothing is started here")
        run_id, pos = split_task_id(event.task_id)
        owned = self._runs.get(run_id)
        if owned is None:
            return None
        machine = owned.machine
        graph, input = machine.graph, machine.new.input
        call = None
        if graph.mapped:
            call = Call(run_id, input, machine.outputs(), machine.tasks[pos], self._lists)
            needed = call.needed
        else:
            needed = graph.inputs(pos, lambda dep: machine.tasks[dep].state is TaskState.COMPLETED)
        texts: dict[int, str] = {}
        large: list[int] = []
        for dep in needed:
            output = machine.tasks[dep].output
            if output is None:
                large.append(dep)
            else:
                texts[dep] = output
        fetched = fetch(run_id, large)
        if fetched is None:
            return None
        texts.update(fetched)
        if call is not None:
            return prepare(event, graph, call.task, call.arguments(texts), self._registry, call.index)
        task = graph.tasks[pos]
        return prepare(event, graph, task, plain_arguments(graph, task, input, texts), self._registry)


def prepare(
    event: TaskReadyEvent,
    graph: Graph,
    task: TaskSpec,
    given: Arguments,
    registry: Registry,
    index: int | None = None,
) -> Work:
    """The attempt's work."""
    workflow = graph.spec.full_name
    body = registry.body_of(workflow, task)
    key = f"{event.task_id}.shadow" if event.shadow else event.task_id
    return Work(
        event=event,
        task=task,
        body=body,
        workflow=workflow,
        args=given.args,
        kwargs=given.kwargs,
        context=given.context,
        index=index,
        timeout=task.timeout,
        idempotency_key=key,
        token=f"{key}:{event.attempt}",
        retry_predicate=registry.predicate_of(workflow, task),
        call=caller(body, given.args, given.kwargs, given.context) if body is not None else None,
    )
