"""Loads what an attempt needs, its body and arguments, from the owner's memory, else from the store."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from turnout.authoring.invocation import caller
from turnout.authoring.registry import Registry
from turnout.contracts.clock import boot_time
from turnout.contracts.executor import RunWork, Work
from turnout.contracts.store import ReadStore
from turnout.errors import RunNotFound, StoreUnreachable
from turnout.model.bindings import ABSENT, context_for, resolve
from turnout.model.deferral import Memo, read_memo
from turnout.model.events import TaskReadyEvent
from turnout.model.graph import Graph
from turnout.model.hooks import hook_arguments
from turnout.model.info import Output
from turnout.model.mapping import Outputs, rows_near
from turnout.model.names import split_task_id
from turnout.model.rows import NewRun, RunRow, TaskRow
from turnout.model.run_machine import begun_before
from turnout.model.run_outcome import RowOf
from turnout.model.states import TaskState
from turnout.orchestration.active_run import ActiveRun
from turnout.orchestration.loading.arguments import Call
from turnout.orchestration.loading.graph_cache import GraphCache
from turnout.orchestration.loading.split_lists import SplitLists
from turnout.runtime.conditions import once_met
from turnout.runtime.execution import is_async

MAX_REMEMBERED_RUNS = 256
"""Runs of which a loader remembers where their items are."""

HANDLER = "handler"

_decode = msgspec.json.Decoder().decode


class StoreLoader:
    """Reads everything from the store: for executors in a process that does not own the run."""

    def __init__(
        self,
        store: ReadStore,
        registry: Registry,
        graphs: GraphCache,
        output: Output | None = None,
        runner: RunWork | None = None,
    ) -> None:
        self._store = store
        self._registry = registry
        self._output = output
        self._runner = runner
        self._graphs = graphs
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
        graph, call = self._graphs.stored(stored.new.version), None
        if graph.mapped:
            outputs, row = self._rows_near(run_id, graph, pos)
            row_of, call = outputs.row_of, Call(run_id, stored.new.input, outputs, row, self._lists)
            needed = call.needed
        else:
            row_of = {row.pos: row for row in self._store.tasks(run_id, outputs=False)}.__getitem__
            needed = graph.inputs(pos, lambda dep: row_of(dep).state is TaskState.COMPLETED)
        self._read(event, stored.row, row_of(pos))
        # Who claims an attempt in the store is told its ordinal only.
        event = msgspec.structs.replace(event, begun=begun_before(row_of(pos)))
        texts = self._store.outputs(run_id, needed) if needed else {}
        return prepare(
            event,
            graph,
            pos,
            stored.new,
            texts,
            self._registry,
            stored.row,
            row_of,
            call=call,
            output=self._output,
            runner=self._runner,
        )

    def _read(self, event: TaskReadyEvent, run: RunRow, row: TaskRow) -> None:
        """What the store says of an attempt that is being loaded; to be refused by raising."""

    def _rows_near(self, run_id: str, graph: Graph, pos: int) -> tuple[Outputs, TaskRow]:
        items = self._items(run_id, graph, pos)
        rows = {row.pos: row for row in self._store.tasks_at(run_id, rows_near(graph, items, pos))}
        return Outputs(graph, rows.__getitem__, items), rows[pos]

    def _items(self, run_id: str, graph: Graph, pos: int) -> Mapping[int, range]:
        """Where items are; once it is known for those that this task asks about, it does not change."""
        known = self._items_known.get(run_id, {})
        own = next((group for group, some in known.items() if pos in some), pos)
        if own >= len(graph.tasks) or any(dep in graph.mapped and dep not in known for dep in graph.sources(own)):
            if len(self._items_known) >= MAX_REMEMBERED_RUNS:
                self._items_known.clear()
            known = self._items_known[run_id] = self._store.items(run_id)
        return known


class MemoryLoader(StoreLoader):
    """Takes what the owner has in memory; only large outputs are read from the store."""

    def __init__(
        self,
        store: ReadStore,
        registry: Registry,
        graphs: GraphCache,
        runs: Mapping[str, ActiveRun],
        begin_by: Callable[[], float] = lambda: math.inf,
        output: Output | None = None,
        runner: RunWork | None = None,
    ) -> None:
        super().__init__(store, registry, graphs, output, runner)
        self._runs = runs
        self._begin_by = begin_by
        """Until when this orchestrator may start anything, by ``boot_time``."""

    def load_now(self, event: TaskReadyEvent) -> Work | None:
        return self._from_memory(event, None)

    def load_blocking(self, event: TaskReadyEvent) -> Work:
        work = self._from_memory(event, self._store.outputs)
        return work if work is not None else super().load_blocking(event)

    def _from_memory(
        self, event: TaskReadyEvent, fetch: Callable[[str, list[int]], dict[int, str]] | None
    ) -> Work | None:
        """``fetch`` reads outputs that are not in memory; without it there is no answer if one is needed."""
        if boot_time() > self._begin_by():
            # It was handed to its executor before the contact was lost; by now somebody else may have it.
            raise StoreUnreachable("out of contact with the database: nothing is started here")
        run_id, pos = split_task_id(event.task_id)
        owned = self._runs.get(run_id)
        if owned is None:
            return None
        machine, call = owned.machine, None
        tasks, graph, input = machine.tasks, machine.graph, machine.new.input
        if graph.mapped:
            call = Call(run_id, input, machine.outputs(), tasks[pos], self._lists)
            needed = call.needed
        else:
            needed = graph.inputs(pos, machine.completed)
        texts: dict[int, str] = {}
        large: list[int] = []
        for dep in needed:
            output = tasks[dep].output
            if output is None:
                large.append(dep)
            else:
                texts[dep] = output
        if large:
            if fetch is None:
                return None
            texts.update(fetch(run_id, large))
        work = prepare(
            event,
            graph,
            pos,
            machine.new,
            texts,
            self._registry,
            machine.row,
            tasks.__getitem__,
            call=call,
            output=self._output,
            fence=partial(self._fence, run_id, pos, event),
            runner=self._runner,
        )
        if owned.ends_at is None or work.task.hook is not None:
            return work  # hooks are called after the end, also of a run that took too long
        return msgspec.structs.replace(work, time_left=max(0.0, owned.ends_at - time.monotonic()))

    def _fence(self, run_id: str, pos: int, event: TaskReadyEvent) -> float:
        """Until when an attempt may begin here. The owner is the only one that writes to the run: what it has in memory
        decides, for as long as it is in contact."""
        # Before the look at the run: it is dropped before there is a new session, with a new time.
        until = self._begin_by()
        owned = self._runs.get(run_id)
        if owned is None or owned.dropped:
            return -math.inf
        row = owned.machine.tasks[pos]
        stands = event.shadow or (row.state is TaskState.RUNNING and row.attempt == event.attempt)
        return until if stands else -math.inf


def prepare(  # noqa: PLR0913 - every option has a name and a default
    event: TaskReadyEvent,
    graph: Graph,
    pos: int,
    new: NewRun,
    texts: Mapping[int, str],
    registry: Registry,
    run: RunRow,
    row_of: RowOf,
    *,
    call: Call | None = None,
    output: Output | None = None,
    fence: Callable[[], float] | None = None,
    runner: RunWork | None = None,
) -> Work:
    """The attempt's work, its values freshly decoded so that a body may change what it is given."""
    task = graph.tasks[pos] if call is None else call.task
    found, input = registry.find(new, task), new.input
    body = None if found is None else found.function

    def output_of(name: str) -> Any:
        if call is not None:
            return call.value(name, texts)
        text = texts.get(graph.position[name])
        return ABSENT if text is None else _decode(text)

    params: dict[str, Any] = _decode(input) if input != "{}" and call is None else {}
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    context = None
    if task.hook is not None:
        args = hook_arguments(graph, pos, event.run_id, run, row_of, output_of)
    elif task.uses_context:
        context = context_for(graph.spec, task, params, output_of)
    elif call is not None:
        args, kwargs = call.arguments(texts)
    else:
        args = tuple([resolve(template, params, output_of) for template in task.args])
        if task.kwargs:
            kwargs = {name: resolve(template, params, output_of) for name, template in task.kwargs.items()}
    previous: dict[str, Any] = {}
    if task.body.kind == HANDLER:
        values = {name: output_of(name) for name in task.depends_on}
        previous = {name: value for name, value in values.items() if value is not ABSENT}
        params = params or _decode(input)
    row = row_of(pos)
    key = f"{event.task_id}.shadow" if event.shadow else event.task_id
    work = Work(
        event=event,
        task=task,
        body=body,
        workflow=graph.full_name,
        args=args,
        kwargs=kwargs,
        context=context,
        run_input=params if task.body.kind == HANDLER else {},
        previous=previous,
        index=None if call is None else call.index,
        timeout=task.timeout,
        labels=row.labels or {},
        idempotency_key=key,
        token=f"{key}:{event.attempt}",
        retry_predicate=None if found is None else found.retry_if,
        bind_body=caller(body, args, kwargs, context) if body is not None else None,
        fence=fence,
        output=output,
        runner=runner,
    )
    memo = row.memo
    return work if memo is None else _going_on(work, read_memo(memo), {} if found is None else found.conditions)


def _going_on(work: Work, memo: Memo, declared: Mapping[str, Callable[..., Any]]) -> Work:
    """The work of a task that was deferred: with what it saved, and behind the condition that it waits for."""
    saved = None if memo.saved is None else _decode(memo.saved)
    if memo.condition is None or work.body is None:
        # A handler's condition is asked where the handler runs.
        return msgspec.structs.replace(work, saved=saved, condition=memo.condition)
    predicate = declared.get(memo.condition.ref)
    call = once_met(memo.condition, predicate, work.invoke, is_async=is_async(work))
    return msgspec.structs.replace(work, saved=saved, condition=memo.condition, predicate=predicate, call=call)
