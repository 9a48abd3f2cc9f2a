"""What does an attempt need to run? Its body and arguments, from the owner's memory, else from the store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from turnout.authoring.calling import caller
from turnout.authoring.registry import Registry
from turnout.contracts.executor import Work
from turnout.contracts.store import Store
from turnout.errors import RunNotFound, StoreUnreachable
from turnout.model.bindings import ABSENT, context_for, resolve
from turnout.model.events import TaskReadyEvent
from turnout.model.graph import Graph
from turnout.model.names import split_task_id
from turnout.model.spec import decode_spec
from turnout.model.states import TaskState
from turnout.orchestration.owned import OwnedRun

_decode = msgspec.json.Decoder().decode


class StoreLoader:
    """Reads everything from the store: for executors in a process that does not own the run."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store = store
        self._registry = registry
        self._graphs: dict[str, Graph] = {}

    async def load(self, event: TaskReadyEvent) -> Work:
        return await asyncio.to_thread(self.load_blocking, event)

    def load_now(self, event: TaskReadyEvent) -> Work | None:
        return None

    def load_blocking(self, event: TaskReadyEvent) -> Work:
        run_id, pos = split_task_id(event.task_id)
        stored = self._store.run(run_id)
        if stored is None:
            raise RunNotFound(f"there is no run {run_id}", run_id=run_id)
        graph = self._graph(stored.new.version)
        rows = {row.pos: row for row in self._store.tasks(run_id, outputs=False)}
        needed = graph.inputs(pos, lambda dep: rows[dep].state is TaskState.COMPLETED)
        outputs = self._store.outputs(run_id, needed) if needed else {}
        return prepare(event, graph, pos, stored.new.input, outputs, self._registry)

    def _graph(self, version: str) -> Graph:
        graph = self._graphs.get(version)
        if graph is None:
            text = self._store.workflow(version)
            if text is None:
                raise RunNotFound(f"workflow version {version} is not stored", version=version)
            graph = self._graphs[version] = Graph(decode_spec(text), version)
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
        outputs: dict[int, str] = {}
        large: list[int] = []
        for dep in machine.graph.inputs(pos, lambda dep: machine.tasks[dep].state is TaskState.COMPLETED):
            output = machine.tasks[dep].output
            if output is None:
                large.append(dep)
            else:
                outputs[dep] = output
        fetched = fetch(run_id, large)
        if fetched is None:
            return None
        return prepare(event, machine.graph, pos, machine.new.input, {**outputs, **fetched}, self._registry)


def prepare(
    event: TaskReadyEvent, graph: Graph, pos: int, input: str, outputs: Mapping[int, str], registry: Registry
) -> Work:
    """The attempt's work, its values freshly decoded so that a body may change what it is given."""
    task = graph.tasks[pos]
    workflow = graph.spec.full_name
    body = registry.body_of(workflow, task)

    def output_of(name: str) -> Any:
        text = outputs.get(graph.position[name])
        return ABSENT if text is None else _decode(text)

    params: dict[str, Any] = _decode(input) if input != "{}" else {}
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    context = None
    if task.uses_context:
        context = context_for(graph.spec, task, params, output_of)
    else:
        args = tuple(resolve(template, params, output_of) for template in task.args)
        kwargs = {name: resolve(template, params, output_of) for name, template in task.kwargs.items()}
    key = f"{event.task_id}.shadow" if event.shadow else event.task_id
    return Work(
        event=event,
        task=task,
        body=body,
        workflow=workflow,
        args=args,
        kwargs=kwargs,
        context=context,
        timeout=task.timeout,
        idempotency_key=key,
        token=f"{key}:{event.attempt}",
        retry_predicate=registry.predicate_of(workflow, task),
        call=caller(body, args, kwargs, context) if body is not None else None,
    )
