"""Runs that the store has just given to this session: their state in memory, and what became of their attempts."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import msgspec

from turnout.contracts.clock import boot_time
from turnout.contracts.dispatcher import Delivery
from turnout.contracts.store import Store
from turnout.errors import StoreError
from turnout.model.children import CHILD
from turnout.model.events import ExecutionResult, TaskReadyEvent
from turnout.model.graph import Graph
from turnout.model.groups import wanted_outputs
from turnout.model.rows import Holder, LoadedRun, TaskRow
from turnout.model.run_machine import RunMachine
from turnout.model.states import TaskState
from turnout.model.verdict import Limits
from turnout.orchestration.active_run import ActiveRun, PendingResult, place_of
from turnout.orchestration.active_runs import ActiveRuns
from turnout.orchestration.background import Background
from turnout.orchestration.lease import seen_dead
from turnout.orchestration.ledger import Ledger
from turnout.orchestration.loading.graph_cache import GraphCache
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.stages.failures import unreadable
from turnout.orchestration.stages.timers import RunTimers
from turnout.orchestration.upkeep.grace import grace

log = logging.getLogger("turnout.adoption")


class Takeover:
    """Rebuilds the machines of claimed runs, and declares lost what a dead holder had."""

    def __init__(
        self,
        store: Store,
        delivery: Delivery,
        session: OrchestratorSession,
        runs: ActiveRuns,
        *,
        ledger: Ledger,
        graphs: GraphCache,
        timers: RunTimers,
        background: Background,
        limits: Limits,
    ) -> None:
        self._store = store
        self._delivery = delivery
        self._session = session
        self._runs = runs
        self._ledger = ledger
        self._graphs = graphs
        self._timers = timers
        self._background = background
        self._limits = limits
        self._trouble: dict[str, str] = {}
        """Runs that could not be taken over, and what raised where."""

    async def take_over(self, claimed: Sequence[LoadedRun]) -> None:
        """Becomes the driver of runs that the store has just given to this session."""
        if not claimed:
            return
        held = {row.holder for run in claimed for row in run.tasks if row.state is TaskState.RUNNING and row.holder}
        held -= {self._session.id, CHILD}
        holders = await self._background.in_thread(self._store.holders, sorted(held)) if held else {}
        complete: list[LoadedRun] = []
        for loaded in claimed:
            try:
                complete.append(await self._with_kept_outputs(loaded) if loaded.large else loaded)
            except StoreError:
                raise
            except Exception as error:
                self._stumbled(loaded, error)
        in_flight = self._delivery.in_flight()
        for loaded in complete:
            try:
                self._adopt(loaded, holders, in_flight)
                self._trouble.pop(loaded.run.new.run_id, None)
            except Exception as error:
                self._stumbled(loaded, error)

    def _stumbled(self, loaded: LoadedRun, error: Exception) -> None:
        """One run that cannot be made sense of is its own trouble: the sweep tries it once more, and then it fails."""
        run_id, place = loaded.run.new.run_id, place_of(error)
        if self._trouble.pop(run_id, None) != place:
            log.exception("run %s cannot be taken over and will be tried again", run_id)
            self._trouble[run_id] = place
            return
        log.error("run %s fails, since it cannot be taken over: %s", run_id, error)
        written = self._ledger.write([unreadable(loaded, error)])
        written.add_done_callback(lambda done: done.cancelled() or done.exception())  # the sweep finds it otherwise

    async def _with_kept_outputs(self, loaded: LoadedRun) -> LoadedRun:
        wanted = wanted_outputs(self._graph_of(loaded), loaded.tasks, sorted(loaded.large))
        if not wanted:
            return loaded
        outputs = await self._background.in_thread(self._store.outputs, loaded.run.new.run_id, wanted)
        tasks = [msgspec.structs.replace(row, output=outputs.get(row.pos, row.output)) for row in loaded.tasks]
        return msgspec.structs.replace(loaded, tasks=tasks)

    def _graph_of(self, loaded: LoadedRun) -> Graph:
        return self._graphs.decoded(loaded.run.new.version, loaded.spec)

    def _adopt(
        self, loaded: LoadedRun, holders: Mapping[str, Holder], in_flight: Mapping[tuple[str, int], TaskReadyEvent]
    ) -> None:
        run = loaded.run
        machine = RunMachine(
            self._graph_of(loaded),
            run.new,
            run.row,
            loaded.tasks,
            epoch=run.epoch,
            seq=run.seq,
            limits=self._limits,
        )
        owned = ActiveRun(machine)
        owned.just_claimed = True
        before = self._runs.get(run.new.run_id)
        if before is not None:
            owned.results, owned.commands, owned.trouble = before.results, before.commands, before.trouble
            before.dropped = True
        self._runs.add(owned)
        owned.has_lost_attempts = any(row.losses for row in loaded.tasks)
        for row in loaded.tasks:
            if row.state is TaskState.RUNNING and row.pos not in machine.graph.mapped:
                self._check_holder(owned, row, holders, in_flight)
            elif row.state is TaskState.READY and row.retry_in:
                self._timers.retry(owned, row)
        self._timers.deadline(owned, run.age)
        self._runs.enqueue(owned)

    def _check_holder(
        self,
        owned: ActiveRun,
        row: TaskRow,
        holders: Mapping[str, Holder],
        in_flight: Mapping[tuple[str, int], TaskReadyEvent],
    ) -> None:
        """An attempt goes on if somebody alive has it, or a worker or poller that may still come back; else it is lost,
        here and now."""
        event = owned.machine.event(row.pos, row)
        if row.holder == self._session.id:
            reported = any((one.pos, one.result.attempt) == (row.pos, row.attempt) for one in owned.results)
            if (event.task_id, row.attempt) in in_flight or reported:
                return
            reason = "it never reached its executor"
        elif row.holder == CHILD:
            return
        else:
            holder = holders.get(row.holder or "")
            seconds = grace(holder, gone=holder is not None and seen_dead(holder.session))
            if seconds:
                owned.grace[row.pos, row.attempt] = boot_time() + seconds
            if seconds or (holder is not None and holder.alive):
                return
            reason = f"its holder {row.holder} died"
        owned.has_lost_attempts = True
        owned.results.append(PendingResult(row.pos, ExecutionResult.lost(event, reason)))
