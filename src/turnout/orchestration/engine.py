"""How is an orchestrator put together, and what comes in to it?

Everything here and in the stages runs on the engine's own event loop; only store calls leave it, for threads.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

from turnout.authoring.registry import Registry
from turnout.contracts.dispatcher import Dispatcher
from turnout.contracts.store import Store
from turnout.errors import StoreError, StoreUnreachable
from turnout.model.breaker import BreakerState
from turnout.model.events import ExecutionResult
from turnout.model.names import split_task_id
from turnout.model.rows import RunWrite
from turnout.orchestration.admission import Admission
from turnout.orchestration.adoption import Adoption
from turnout.orchestration.children import Children
from turnout.orchestration.commands import Commands
from turnout.orchestration.coordination.coordinator import OrchestrationLoopCoordinator
from turnout.orchestration.coordination.pool import ExecutorPool
from turnout.orchestration.coordination.rates import Rates
from turnout.orchestration.coordination.share import Share
from turnout.orchestration.coordination.sight import Sight
from turnout.orchestration.coordination.status import status_of
from turnout.orchestration.lease import LeaseKeeper, this_session
from turnout.orchestration.ledger import Ledger
from turnout.orchestration.moves import Request
from turnout.orchestration.owned import Answer, Order, OwnedRun
from turnout.orchestration.parking import Parking
from turnout.orchestration.rebalance import Rebalance
from turnout.orchestration.settings import EngineSettings
from turnout.orchestration.settlement import Settlement
from turnout.orchestration.shadows import Shadows
from turnout.orchestration.stages import Stage
from turnout.orchestration.throttle import Throttle
from turnout.orchestration.turns import Turns
from turnout.orchestration.waiters import Waiters
from turnout.orchestration.withdrawal import Withdrawal

log = logging.getLogger("turnout.engine")
T = TypeVar("T")

TRY, UNPARK = 16, 256
"""The fewest and the most waiting runs looked at each time an executor reports room: more than there are places,
since one or the other may not need its place any more."""


class Engine:
    """One orchestrator."""

    def __init__(
        self, store: Store, registry: Registry, dispatcher: Dispatcher | None, settings: EngineSettings
    ) -> None:
        settings.check()
        self.store = store
        self.registry = registry
        self.dispatcher = dispatcher
        self.settings = settings
        self.runs: dict[str, OwnedRun] = {}
        self.polled: frozenset[str] = frozenset()
        """Executor keys that pollers serve: their tasks are never dispatched from here."""
        self.late_results = 0
        self.stopping = False
        self.bystander = False
        """Starts nothing and claims nothing by itself: what it is handed is stored for others."""
        self.ledger = Ledger(
            store,
            max_commit=settings.max_commit,
            wake=self._topics,
            width=lambda: max(len(pool.executors) for pool in self.pools.values()),
            trouble=self._store_trouble,
        )
        self.parking = Parking()
        self.shadows = Shadows()
        self.admission = Admission(self)
        self.adoption = Adoption(self)
        self.turns = Turns(self)
        self.withdrawal = Withdrawal(self)
        self.settlement = Settlement(self)
        self.waiters = Waiters(self)
        self.rebalance = Rebalance(self)
        self.commands = Commands(self)
        self.children = Children(self)
        self.wake: Callable[[str], None] = lambda topic: None
        """Makes the sweeper look at once at what the topic says; it sets this."""
        self.share = Share(settings.connections, settings.coordinator.max_db_pool_usage)
        self.throttle = Throttle(settings.request_high_water)
        self.pools = {
            stage: ExecutorPool(
                stage,
                process,
                getattr(settings.executor_pools, stage.value),
                settings.coordinator,
                idle=self.want_claim if stage is Stage.TASK_CLAIMER else lambda: None,
                excuse=self._excuse,
            )
            for stage, process in {
                Stage.TASK_REQUEST_PROCESSOR: self.admission.process,
                Stage.TASK_CLAIMER: self.adoption.process,
                Stage.STEP_ENQUEUER: self.turns.process,
                Stage.STEP_RESULT_PROCESSOR: self.turns.process,
                Stage.TASK_FINALIZER: self.waiters.process,
            }.items()
        }
        self.coordinator = OrchestrationLoopCoordinator(
            self.pools, settings.coordinator, store_use=store.use, slow_down=self.share.apply_backpressure
        )
        self.rates = Rates()
        self.hub = ""
        """Where workers reach this orchestrator; empty: they do not."""
        self.sight = Sight(partial(status_of, self))
        self._looking: list[asyncio.Task[None]] = []
        self._answered_at = -math.inf
        """When a commit got through after others had not."""
        self._background: set[asyncio.Task[Any]] = set()
        self._loop: asyncio.AbstractEventLoop
        self.keeper: LeaseKeeper

    # -- life ---------------------------------------------------------------------------------------------------
    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self.in_thread(self._new_session)
        try:
            if self.dispatcher is not None:
                await self.dispatcher.open()
                self.dispatcher.start(self.on_results, self.on_capacity)
        except BaseException:
            await self.in_thread(self.keeper.stop)
            await self.in_thread(self.store.end_session, self.session_id)
            raise
        await self.coordinator.start()
        self._looking = [
            self._loop.create_task(self.sight.keep_looking()),
            self._loop.create_task(self.ledger.heap.keep_trimmed()),
        ]

    def _new_session(self) -> None:
        settings = self.settings
        keeper = LeaseKeeper(
            self.store,
            this_session(tuple(self.registry.workflows), kind="bystander" if self.bystander else "orchestrator"),
            heartbeat=settings.heartbeat,
            lease=settings.lease,
            self_fence=settings.self_fence,
            lost=self._hear_of_loss,
            health=None if self.bystander else self.sight.text,
        )
        keeper.start()
        self.keeper = keeper

    async def stop(self, timeout: float) -> None:
        """Hand over: nothing new starts, running bodies get the grace, what is left goes to other orchestrators."""
        self.stopping = True
        deadline = time.monotonic() + timeout
        stopping = asyncio.ensure_future(self.dispatcher.stop(timeout)) if self.dispatcher is not None else None
        while not (stopping is None or stopping.done()) or (self._unsettled and time.monotonic() < deadline):
            await self._let_go()
            await asyncio.sleep(0.01)
        await self.coordinator.stop(max(0.1, deadline - time.monotonic()))
        for looking in self._looking:
            looking.cancel()
        self.admission.close()
        self.keeper.stop()
        self.ledger.close()
        try:
            await asyncio.wait_for(self.in_thread(self.store.end_session, self.session_id), 5.0)
        except (StoreError, TimeoutError) as error:
            log.warning("could not hand over, the lease will run out instead: %s", error)
        self.admission.abandon()
        self.share.close()
        self.waiters.close()

    @property
    def _unsettled(self) -> bool:
        return any(run.busy or run.queued for run in self.runs.values())

    async def _let_go(self) -> None:
        """Give the runs that have nothing under way here to other orchestrators, at once."""
        flying = {event.run_id for event in self.dispatcher.in_flight().values()} if self.dispatcher else set[str]()
        idle = [
            owned
            for owned in self.runs.values()
            if not (owned.busy or owned.queued or owned.results or owned.run_id in flying)
        ]
        if not idle:
            return
        for owned in idle:
            self.drop(owned)
        try:
            await self.in_thread(self.store.release_runs, self.session_id, [owned.run_id for owned in idle])
        except StoreError as error:
            log.warning("%d runs are handed over with the session: %s", len(idle), error)

    def _hear_of_loss(self) -> None:
        self._loop.call_soon_threadsafe(self._session_lost)

    def _session_lost(self) -> None:
        """Others have declared this orchestrator dead and may own its runs: forget everything and come back as new."""
        log.error("session %s was declared dead: its runs are dropped here", self.session_id)
        self.admission.forget_versions()
        for owned in list(self.runs.values()):
            self.drop(owned)
        if self.dispatcher is not None:
            self.dispatcher.disown()
            for event in list(self.dispatcher.in_flight().values()):
                self.dispatcher.cancel(event)
        if not self.stopping:
            self.spawn(self._come_back())

    async def _come_back(self) -> None:
        while not self.stopping:
            try:
                await self.in_thread(self._new_session)
            except StoreError as error:
                log.warning("no new session yet: %s", error)
                await asyncio.sleep(0.5)
            else:
                if self.stopping:
                    await self.in_thread(self.store.end_session, self.session_id)
                return self.want_claim()

    @property
    def session_id(self) -> str:
        return self.keeper.session.id

    @property
    def may_start(self) -> bool:
        """Whether new attempts may begin here."""
        return not (self.stopping or self.bystander) and not self.keeper.fenced

    def _excuse(self) -> str | None:
        """Why a batch may take long; also for a while after an outage, until all that had gathered is written."""
        if self.ledger.outage is not None:
            return "the database does not answer"
        recent = time.monotonic() - self._answered_at < self.settings.coordinator.degraded_after_seconds
        return "the database has just come back" if recent else None

    def _store_trouble(self, trouble: bool) -> None:
        """The ledger's lanes say whether commits get through; called from their threads."""
        self._loop.call_soon_threadsafe(self._store_failed if trouble else self._store_answered)

    def _store_failed(self) -> None:
        self.coordinator.store_failed()
        if (outage := self.ledger.outage) is not None:
            self.admission.store_away(outage)

    def _store_answered(self) -> None:
        self._answered_at = time.monotonic()
        self.coordinator.store_answered()

    # -- the loop -----------------------------------------------------------------------------------------------
    def in_thread(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> asyncio.Future[T]:
        """Run a store call without holding up the loop."""
        return self.share.run(partial(function, *args, **kwargs))

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = self._loop.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    def later(self, seconds: float, action: Callable[[], object]) -> asyncio.TimerHandle:
        return self._loop.call_later(seconds, action)

    # -- what comes in ------------------------------------------------------------------------------------------
    def submit(self, requests: Iterable[Request]) -> None:
        queue = self.pools[Stage.TASK_REQUEST_PROCESSOR].queue
        for request in requests:
            queue.put(request)
        if (outage := self.ledger.outage) is not None:
            self.admission.store_away(outage)

    def on_results(self, results: Sequence[ExecutionResult]) -> None:
        stage = Stage.STEP_RESULT_PROCESSOR
        settler = self.dispatcher if self.dispatcher is not None and self.dispatcher.settles else None
        for result in results:
            if result.shadow or self.shadows.expected:
                self.shadows.compare(result)
            owned = self.runs.get(result.run_id)
            if result.shadow:
                # It has been looked at, and that was all.
                if settler is not None:
                    settler.settled([result])
            elif owned is None:
                self.late_results += 1
                if settler is not None:
                    settler.unclaimed([result])
            else:
                owned.results.append(Answer(split_task_id(result.task_id)[1], result))
                self.enqueue(owned, stage)

    def on_capacity(self, key: str) -> None:
        dispatcher = self.dispatcher
        if dispatcher is None:
            return
        room = dispatcher.free_places(key)
        if room:
            limit = min(max(room, TRY), UNPARK)
        else:
            # Its breaker has just opened: all who wait shall say so. They park again at their old rank.
            limit = len(self.parking) if dispatcher.breaker(key) == BreakerState.OPEN else 0
        for line in self.parking.lines_of(key) if key in dispatcher.assigners else (key,):
            for owned in self.parking.next(line, limit):
                self.enqueue(owned, Stage.STEP_ENQUEUER)
        if dispatcher.idle(key):
            for owned in self.parking.to_be_alone(key):
                self.enqueue(owned, Stage.STEP_ENQUEUER)

    def order(self, owned: OwnedRun, order: Order) -> None:
        owned.orders.append(order)
        self.enqueue(owned, Stage.STEP_RESULT_PROCESSOR)

    def want_claim(self) -> None:
        """Look for runs to take, soon and once."""
        if not self.adoption.wanted and not self.stopping:
            self.adoption.wanted = True
            self.pools[Stage.TASK_CLAIMER].queue.put(None)

    def enqueue(self, owned: OwnedRun, stage: Stage) -> None:
        """Bring a run to a stage. One that is under way already is looked at again when it is settled."""
        if not (owned.queued or owned.busy or owned.dropped):
            owned.queued = True
            self.pools[stage].queue.put(owned)

    def drop(self, owned: OwnedRun) -> None:
        """Drive this run no longer: it has ended, or belongs to another."""
        owned.dropped = True
        if self.runs.get(owned.run_id) is owned:
            del self.runs[owned.run_id]
        if owned.machine.row.state.terminal:
            self.registry.forget(owned.run_id)
        if owned.timer is not None:
            owned.timer.cancel()
        if owned.results and self.dispatcher is not None and self.dispatcher.settles:
            self.dispatcher.unclaimed([answer.result for answer in owned.results])
        for order in owned.orders:
            if owned.machine.row.state.terminal:
                order.carried_out()
            else:
                order.failed(StoreUnreachable("the run changed hands; ask again"))

    def _topics(self, writes: Sequence[RunWrite]) -> frozenset[str]:
        """Whom a commit concerns outside of this process; nobody if nobody else is there."""
        # Pollers may have come since the lease was last renewed, so what is offered to them is always announced.
        if not self.keeper.peers and self.dispatcher is not None and not self.polled:
            return frozenset()
        topics: set[str] = set()
        for write in writes:
            if write.insert is not None and write.owner is None:
                topics.add("runs")
            if write.run is not None and write.run.state.terminal:
                topics.add("finished")
                if write.answer is not None and write.answer.run_id not in self.runs:
                    topics.add("inbox")
            if any(row.poll_key for row in (*write.tasks, *write.items)):
                topics.add("ready")
        return frozenset(topics)
