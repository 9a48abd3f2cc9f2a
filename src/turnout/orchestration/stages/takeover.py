"""Takes over runs that the store has just given to this session: rebuilds their state and checks their attempts."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence

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
from turnout.model.states import RUN_CANCELLING, TASK_PENDING, TASK_READY, TASK_RUNNING
from turnout.model.verdict import Limits
from turnout.orchestration.active_runs import ActiveRun, ActiveRuns, PendingResult, RunTimers, failure_site
from turnout.orchestration.background import Background
from turnout.orchestration.ledger import Ledger
from turnout.orchestration.loaders.stored_runs import GraphCache
from turnout.orchestration.messages import unreadable
from turnout.orchestration.session import OrchestratorSession, process_is_gone

AWAY_KINDS = frozenset({"worker", "poller"})
"""Sessions that hold attempts without driving runs. They may be alive although their lease was not renewed."""
MIN_GRACE = 8.0
"""Seconds, however short the lease: a worker may try to reach its hub every 5 s only."""
NO_RUNS: frozenset[str] = frozenset()
log = logging.getLogger("turnout.claims")


def grace(holder: Holder | None, *, gone: bool) -> float:
    """Returns for how many seconds after a claim an attempt of this holder is not lost, whatever its lease says.
    ``gone``: its process is known to have died. What an orchestrator or an unknown session held gets none.

    >>> grace(None, gone=False)
    0.0
    """
    if holder is None or gone or holder.session.kind not in AWAY_KINDS:
        return 0.0
    return max(holder.lease, MIN_GRACE)


class Takeover:
    """Rebuilds the machines of claimed runs, and declares attempts of dead holders lost."""

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
        self._failures: dict[str, str] = {}
        """By the id of a run that could not be taken over: what raised, and where."""

    async def take_over(self, claimed: Sequence[LoadedRun]) -> None:
        """Becomes the driver of runs that the store has just given to this session."""
        if not claimed:
            return
        held = {row.holder for run in claimed for row in run.tasks if row.state is TASK_RUNNING and row.holder}
        held -= {self._session.id, CHILD}
        holders = await self._background.in_thread(self._store.holders, sorted(held)) if held else {}
        complete: list[LoadedRun] = []
        for loaded in claimed:
            try:
                complete.append(await self._with_kept_outputs(loaded) if loaded.large else loaded)
            except StoreError:
                raise
            except Exception as error:
                self._failed(loaded, error)
        gated = await self._without_slots(complete)
        in_flight = self._delivery.in_flight()
        for loaded in complete:
            try:
                self._activate(loaded, holders, in_flight, gated)
                self._failures.pop(loaded.run.new.run_id, None)
            except Exception as error:
                self._failed(loaded, error)

    def _failed(self, loaded: LoadedRun, error: Exception) -> None:
        """Keeps a failure to its run: the sweep retries it once, and the second time the run fails."""
        run_id, site = loaded.run.new.run_id, failure_site(error)
        if self._failures.pop(run_id, None) != site:
            log.exception("run %s cannot be taken over and will be retried", run_id)
            self._failures[run_id] = site
            return
        log.error("run %s fails, since it cannot be taken over: %s", run_id, error)
        written = self._ledger.write([unreadable(loaded, error)])
        written.add_done_callback(lambda done: done.cancelled() or done.exception())  # the sweep finds it otherwise

    async def _without_slots(self, claimed: Sequence[LoadedRun]) -> frozenset[str]:
        """Returns the runs that were claimed before they had the slots of their limits."""
        limited = [loaded.run.new.run_id for loaded in claimed if self._has_limits(loaded)]
        return await self._background.in_thread(self._store.runs_without_slots, limited) if limited else NO_RUNS

    def _has_limits(self, loaded: LoadedRun) -> bool:
        try:
            return bool(self._graph_of(loaded).run_limits)
        except Exception:  # it fails in the same way when it is activated
            return False

    async def _with_kept_outputs(self, loaded: LoadedRun) -> LoadedRun:
        wanted = wanted_outputs(self._graph_of(loaded), loaded.tasks, sorted(loaded.large))
        if not wanted:
            return loaded
        outputs = await self._background.in_thread(self._store.outputs, loaded.run.new.run_id, wanted)
        tasks = [msgspec.structs.replace(row, output=outputs.get(row.pos, row.output)) for row in loaded.tasks]
        return msgspec.structs.replace(loaded, tasks=tasks)

    def _graph_of(self, loaded: LoadedRun) -> Graph:
        return self._graphs.decoded(loaded.run.new.version, loaded.spec)

    def _activate(
        self,
        loaded: LoadedRun,
        holders: Mapping[str, Holder],
        in_flight: Mapping[tuple[str, int], TaskReadyEvent],
        gated: Collection[str],
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
            owned.results, owned.commands, owned.last_failure = before.results, before.commands, before.last_failure
            before.dropped = True
        self._runs.add(owned)
        if run.new.run_id in gated:
            owned.awaits_slots = True
            self._runs.gated.add(run.new.run_id)
        graph = machine.graph
        for row in loaded.tasks:
            if row.losses:
                owned.has_lost_attempts = True
            if row.state is TASK_PENDING:
                continue
            if row.state is TASK_RUNNING and row.pos not in graph.mapped:
                self._check_holder(owned, row, holders, in_flight)
            elif row.state is TASK_READY and row.retry_in:
                self._timers.retry(owned, row)
        if run.new.timeout is not None:
            self._timers.deadline(owned, run.age if not graph.run_limits else loaded.active)
        if graph.stuck_hooks:
            self._timers.stuck(owned, run.age)
        self._runs.enqueue(owned)

    def _check_holder(
        self,
        owned: ActiveRun,
        row: TaskRow,
        holders: Mapping[str, Holder],
        in_flight: Mapping[tuple[str, int], TaskReadyEvent],
    ) -> None:
        """Leaves an attempt to its holder if that is alive, or a worker or poller that may still reconnect, and to its
        executor if that can reattach. Else the attempt is lost."""
        event = owned.machine.event(row.pos, row)
        if row.holder == self._session.id:
            reported = any((pending.pos, pending.result.attempt) == (row.pos, row.attempt) for pending in owned.results)
            if (event.task_id, row.attempt) in in_flight or reported:
                return
            reason = "it never reached its executor"
        elif row.holder == CHILD:
            return
        else:
            holder = holders.get(row.holder or "")
            seconds = grace(holder, gone=holder is not None and process_is_gone(holder.session))
            if seconds:
                owned.grace[row.pos, row.attempt] = boot_time() + seconds
            if seconds or (holder is not None and holder.alive):
                return
            if self._delivery.reattach(row.executor or "", event):
                if owned.machine.row.state is RUN_CANCELLING:
                    self._delivery.cancel(event)
                return
            reason = f"its holder {row.holder} died"
        owned.has_lost_attempts = True
        owned.results.append(PendingResult(row.pos, ExecutionResult.lost(event, reason)))
