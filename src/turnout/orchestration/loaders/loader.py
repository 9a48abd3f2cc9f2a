"""Loads what an attempt needs, its body and arguments, from the owner's memory, else from the store."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from functools import partial

import msgspec

from turnout.authoring.registry import Registry
from turnout.contracts.clock import boot_time
from turnout.contracts.executor import BEGIN_WITHIN, RunWork, Work
from turnout.contracts.store import ReadStore
from turnout.contracts.telemetry import TraceSource
from turnout.errors import AttemptFenced, RunNotFound, StoreUnreachable
from turnout.model.events import TaskReadyEvent
from turnout.model.graph import Graph
from turnout.model.info import Output
from turnout.model.names import position_in, split_task_id
from turnout.model.rows import RunRow, TaskRow
from turnout.model.run_machine import begun_before
from turnout.model.states import TASK_COMPLETED, TASK_RUNNING, RunState, TaskState
from turnout.orchestration.active_runs import ActiveRun
from turnout.orchestration.loaders.arguments import Call, SplitLists
from turnout.orchestration.loaders.stored_calls import read_call
from turnout.orchestration.loaders.stored_runs import GraphCache
from turnout.orchestration.loaders.work_builder import WorkBuilder

MAX_REMEMBERED_RUNS = 256
"""Runs of which a loader remembers where their items are."""
FINISHED = frozenset({RunState.COMPLETED, RunState.FAILED})
"""How runs end by themselves. Shadow copies of their last attempts may begin afterwards."""


class StoreLoader:
    """Reads everything from the store, for executors in a process that does not own the run."""

    def __init__(
        self,
        store: ReadStore,
        registry: Registry,
        graphs: GraphCache,
        output: Output | None = None,
        runner: RunWork | None = None,
        traces: TraceSource | None = None,
    ) -> None:
        self._store = store
        self._graphs = graphs
        self._builder = WorkBuilder(registry, output, runner)
        self._traces = traces
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
        graph = self._graphs.stored(stored.new.version)
        items = self._items(run_id, graph, pos) if graph.mapped else {}
        run, call, needed = read_call(self._store, stored, graph, pos, items, self._lists)
        self._read(event, stored.row, run.row_of(pos))
        # A claim of an attempt in the store returns its ordinal only.
        event = msgspec.structs.replace(event, begun=begun_before(run.row_of(pos)))
        texts = self._store.outputs(run_id, needed) if needed else {}
        traces, attempt = self._traces, event.attempt
        traceparent = None if traces is None else traces.traceparent(stored.new, pos, attempt, read=True)
        return self._builder.build(event, pos, run, texts, call=call, traceparent=traceparent)

    def _read(self, event: TaskReadyEvent, run: RunRow, row: TaskRow) -> None:
        """Called with what the store has of an attempt that is being loaded. Raises to refuse it."""

    def _items(self, run_id: str, graph: Graph, pos: int) -> Mapping[int, range]:
        """Returns the positions of items by their mapped task. Those that this task needs do not change once known."""
        known = self._items_known.get(run_id, {})
        own = next((group for group, positions in known.items() if pos in positions), pos)
        if own >= len(graph.tasks) or any(dep in graph.mapped and dep not in known for dep in graph.sources(own)):
            if len(self._items_known) >= MAX_REMEMBERED_RUNS:
                self._items_known.clear()
            known = self._items_known[run_id] = self._store.items(run_id)
        return known


class MemoryLoader(StoreLoader):
    """Reads what the owner has in memory; only large outputs are read from the store. An attempt of a run that is not
    there is read from the store, and never begins, unless it is a shadow copy and the run has finished."""

    def __init__(
        self,
        store: ReadStore,
        registry: Registry,
        graphs: GraphCache,
        runs: Mapping[str, ActiveRun],
        begin_by: Callable[[], float] = lambda: math.inf,
        output: Output | None = None,
        runner: RunWork | None = None,
        traces: TraceSource | None = None,
    ) -> None:
        super().__init__(store, registry, graphs, output, runner, traces)
        self._runs = runs
        self._begin_by = begin_by
        """Returns the ``boot_time`` until which this orchestrator may start attempts."""

    def load_now(self, event: TaskReadyEvent) -> Work | None:
        return self._from_memory(event, None)

    def load_blocking(self, event: TaskReadyEvent) -> Work:
        work = self._from_memory(event, self._store.outputs)
        if work is not None:
            return work
        # The run was dropped here, or another hub gave the step: it can be read for its result, and never begins.
        fence = self._begin_by if event.shadow and self._finished(event.run_id) else _at(-math.inf)
        return msgspec.structs.replace(super().load_blocking(event), fence=fence)

    def _finished(self, run_id: str) -> bool:
        stored = self._store.run(run_id)
        return stored is not None and stored.row.state in FINISHED

    def _from_memory(
        self, event: TaskReadyEvent, fetch: Callable[[str, list[int]], dict[int, str]] | None
    ) -> Work | None:
        """Returns the work; None if the run is not in memory, or without ``fetch`` if an output or an ancestor that
        names the trace would have to be read."""
        if boot_time() > self._begin_by():
            # It was dispatched before the contact was lost; by now another session may have it.
            raise StoreUnreachable("out of contact with the database: nothing is started here")
        run_id = event.run_id
        owned = self._runs.get(run_id)
        if owned is None:
            return None
        machine, call, pos = owned.machine, None, position_in(run_id, event.task_id)
        tasks, graph = machine.tasks, machine.graph
        fence, traceparent = partial(self._fence, owned, pos, event), None
        if self._traces is not None:
            traceparent = self._traces.traceparent(machine.new, pos, event.attempt, read=fetch is not None)
            if traceparent is None:
                return None
        if not graph.mapped and (outputs := graph.output_arguments[pos]) is not None and owned.ends_at is None:
            values = [text for at in outputs if (text := tasks[at].output) is not None]
            if len(values) == len(outputs):
                return self._builder.build_from_outputs(event, pos, machine, tasks[pos], values, fence, traceparent)
        if graph.mapped:
            call = Call(run_id, machine.new.input, machine.outputs(), tasks[pos], self._lists)
            needed = call.needed
        else:
            context = graph.tasks[pos].uses_context
            needed = graph.inputs(pos, machine.completed) if context else graph.sources(pos)
        texts: dict[int, str] = {}
        large: list[int] = []
        for dep in needed:
            row = tasks[dep]
            if row.output is not None:
                texts[dep] = row.output
            elif row.state is TASK_COMPLETED:
                large.append(dep)
        if large:
            if fetch is None:
                return None
            texts.update(fetch(run_id, large))
        work = self._builder.build(event, pos, machine, texts, call=call, fence=fence, traceparent=traceparent)
        if owned.ends_at is None or work.task.hook is not None:
            return work  # hooks are called after the end, also of a run that took too long
        return msgspec.structs.replace(work, time_left=max(0.0, owned.ends_at - time.monotonic()))

    def _fence(self, owned: ActiveRun, pos: int, event: TaskReadyEvent) -> float:
        """Returns until when an attempt may begin here. Only the owner writes to the run, so its memory decides while
        it is in contact. A run that was dropped and claimed again is another one: its attempts of before are lost."""
        # Read before the run: a run is dropped before a new session, with a new time, is opened.
        until = self._begin_by()
        if owned.dropped:
            return until if event.shadow and owned.machine.row.state in FINISHED else -math.inf
        row = owned.machine.tasks[pos]
        stands = event.shadow or (row.state is TASK_RUNNING and row.attempt == event.attempt)
        if not stands:
            return -math.inf
        return until if owned.slots is None else min(until, owned.slots.begin_by(pos, event.attempt))


class ClaimedLoader(StoreLoader):
    """Loads attempts that a poller has claimed. Raises AttemptFenced for one that has ended or whose run is paused. The
    work begins within ``BEGIN_WITHIN`` of that read, or not at all: a pause that has waited for so long holds."""

    def load_blocking(self, event: TaskReadyEvent) -> Work:
        read_at = boot_time()
        work = super().load_blocking(event)
        if boot_time() - read_at > BEGIN_WITHIN / 2:
            # Reading large values took long: what was read before may have changed.
            read_at = boot_time()
            run_id, pos = split_task_id(event.task_id)
            stored, rows = self._store.run(run_id), self._store.tasks_at(run_id, [pos])
            if stored is None or not rows:
                raise AttemptFenced("its run is gone")
            self._read(event, stored.row, rows[0])
        return msgspec.structs.replace(work, fence=_at(read_at + BEGIN_WITHIN))

    def _read(self, event: TaskReadyEvent, run: RunRow, row: TaskRow) -> None:
        if run.state is RunState.PAUSED:
            raise AttemptFenced("its run is paused")
        if row.state is not TaskState.RUNNING or row.attempt != event.attempt:
            raise AttemptFenced("it has ended")


def _at(time: float) -> Callable[[], float]:
    return lambda: time
