"""Composes the parts of one orchestrator, and starts and stops them.

The parts run on the orchestrator's own event loop; only store calls run in threads.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from turnout.authoring.registry import Registry
from turnout.authoring.triggers import defined_triggers
from turnout.contracts.dispatcher import Dispatcher
from turnout.contracts.store import Store
from turnout.dispatcher.admission import Admission
from turnout.dispatcher.no_dispatcher import NoDispatcher
from turnout.errors import StoreError
from turnout.model.limits import LimitSize
from turnout.model.rows import RunWrite
from turnout.model.values import MAX_BYTES
from turnout.orchestration.active_runs import ActiveRuns, RunTimers
from turnout.orchestration.background import Background, StoreThreads, Wakeups
from turnout.orchestration.children.child_runs import ChildRuns
from turnout.orchestration.children.propagation import Propagation
from turnout.orchestration.children.requests import ChildRequests
from turnout.orchestration.coordination.coordinator import OrchestrationLoopCoordinator
from turnout.orchestration.coordination.pool import ExecutorPool
from turnout.orchestration.coordination.status import StatusReader, StatusSnapshot
from turnout.orchestration.ledger import Ledger
from turnout.orchestration.loaders.stored_runs import GraphCache
from turnout.orchestration.run_requests import NO_SIZES, RunRequests
from turnout.orchestration.schedules.effects import ScheduleEffects
from turnout.orchestration.schedules.evaluation import Schedules
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.settings import EngineSettings
from turnout.orchestration.stages.affinity import RunAffinity
from turnout.orchestration.stages.capacity import CapacityQueue, Reservations
from turnout.orchestration.stages.claims import Claims, ClaimScope
from turnout.orchestration.stages.commands import Commands, Withdrawal
from turnout.orchestration.stages.commits import Commits
from turnout.orchestration.stages.exclusive_tasks import ExclusiveTasks
from turnout.orchestration.stages.limit_queue import LimitQueue
from turnout.orchestration.stages.pending_submissions import PendingSubmissions, SubmissionReplies, Throttle
from turnout.orchestration.stages.results import ResultCheck, ResultIntake, Shadows
from turnout.orchestration.stages.scheduler import Scheduler
from turnout.orchestration.stages.stage import Stage, WorkQueue
from turnout.orchestration.stages.submission import StoredVersions, SubmissionStage
from turnout.orchestration.stages.takeover import Takeover
from turnout.orchestration.stages.task_starter import TaskStarter
from turnout.orchestration.stages.waiters import Waiters
from turnout.orchestration.upkeep.dead_sessions import DeadSessions
from turnout.orchestration.upkeep.definitions import DefinitionUpdates, Refresh
from turnout.orchestration.upkeep.inbox import Inbox
from turnout.orchestration.upkeep.lost_attempts import LostAttempts, Redelivery, UnknownRuns
from turnout.orchestration.upkeep.pruner import Pruner
from turnout.orchestration.upkeep.rebalance import Rebalance
from turnout.orchestration.upkeep.shared_state import SharedState
from turnout.orchestration.upkeep.sweeper import Notifications, Sweeper
from turnout.orchestration.upkeep.triggers import TriggerPolls

log = logging.getLogger("turnout.engine")

NO_SCOPE = ClaimScope()


class EngineOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The role of an orchestrator."""

    drives: bool = True
    """False: it starts nothing and claims nothing by itself. What is submitted to it is stored for others."""
    polled: frozenset[str] = frozenset()
    """Executor keys that pollers serve: their tasks are never dispatched from here."""
    scope: ClaimScope = NO_SCOPE
    refresh: Refresh | None = None
    """Puts changes of what orchestrators share in force here; None: nothing of it is used."""
    max_output_bytes: int = MAX_BYTES
    schedules: bool = False
    """True: it decides the due times of the schedules of its workflows."""
    admission: Admission | None = None
    """Checks where the tasks of new runs go; None: it is not known here."""
    limits: Mapping[str, LimitSize] = NO_SIZES
    """The sizes of limits in the configuration, by their declared names."""


class Engine:
    """One orchestrator. Without a dispatcher all tasks are offered to pollers."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        store: Store,
        registry: Registry,
        dispatcher: Dispatcher | None,
        settings: EngineSettings,
        options: EngineOptions,
    ) -> None:
        settings.check()
        self.store = store
        self.dispatcher = dispatcher or NoDispatcher()
        self.settings = settings
        self._polled: Collection[str] | None = options.polled if dispatcher is not None else None
        self._answered_at = -math.inf
        """The monotonic time at which a commit succeeded after others had failed."""
        self._loops: list[asyncio.Task[None]] = []
        queues = {stage: WorkQueue() for stage in Stage}

        # Shared by the stages.
        self.store_threads = StoreThreads(settings.connections, settings.coordinator.max_db_pool_usage)
        self.background = Background(loop, self.store_threads)
        self.session = OrchestratorSession(
            store,
            settings,
            workflows=lambda: tuple(registry.workflows),
            drives=options.drives,
            on_lost=lambda: self.background.call_soon(self._session_lost),
            health=self._health,
        )
        self.runs = ActiveRuns(registry, self.dispatcher, queues)
        self.graphs = GraphCache(store)
        self.ledger = Ledger(
            store,
            max_commit=settings.max_commit,
            topics_of=self._topics,
            width=lambda: max(len(pool.executors) for pool in self.pools.values()),
            on_outage=lambda failing: self.background.call_soon(
                self._store_failed if failing else self._store_answered
            ),
        )
        self.wakeups = Wakeups()
        self.shadows = Shadows()
        self.throttle = Throttle(settings.request_high_water)
        capacity_queue = CapacityQueue()
        timers = RunTimers(self.runs, self.background, settings.cancel_grace)
        reservations = Reservations(self.dispatcher, self.session)
        self.submissions = PendingSubmissions(queues[Stage.SUBMIT], self.ledger)
        self._intake = ResultIntake(self.runs, self.dispatcher, self.shadows)

        # The stages.
        self.claims = Claims(
            store,
            registry,
            self.session,
            self.runs,
            takeover=Takeover(
                store,
                self.dispatcher,
                self.session,
                self.runs,
                ledger=self.ledger,
                graphs=self.graphs,
                timers=timers,
                background=self.background,
                limits=settings.limits,
            ),
            background=self.background,
            queue=queues[Stage.CLAIM],
            settings=settings,
            scope=options.scope,
        )
        self.waiters = Waiters(store, self.runs, self.claims, self.background, settings.max_owned_runs)
        self.commands = Commands(store, self.runs, self.claims, self.background)
        self.requests = RunRequests(registry, options.admission, options.max_output_bytes, options.limits)
        self.limits = LimitQueue(
            store, self.session, self.runs, claims=self.claims, background=self.background, configured=options.limits
        )
        requests = ChildRequests(
            store,
            registry,
            self.graphs,
            self.session,
            self.runs,
            background=self.background,
            requests=self.requests,
            max_depth=settings.limits.depth,
            max_output_bytes=options.max_output_bytes,
        )
        children = ChildRuns(
            store,
            registry,
            self.session,
            self.runs,
            submissions=self.submissions,
            requests=requests,
            propagation=Propagation(self.session, self.runs, self.claims, self.commands, requests, self.background),
            background=self.background,
            wakeups=self.wakeups,
        )
        commits = Commits(
            self.ledger,
            self.dispatcher,
            self.runs,
            reservations=reservations,
            claims=self.claims,
            children=children,
            replies=SubmissionReplies(self.runs, self.submissions, self.waiters, self.claims, timers, self.limits),
            shadows=self.shadows,
            limits=self.limits,
            timers=timers,
            background=self.background,
        )
        exclusive_tasks = ExclusiveTasks(self.dispatcher, self.session, capacity_queue)
        self._starter = TaskStarter(
            self.dispatcher,
            self.session,
            self.runs,
            reservations=reservations,
            capacity_queue=capacity_queue,
            exclusive_tasks=exclusive_tasks,
            affinity=RunAffinity(store, self.dispatcher, self.runs, self.background),
            children=children,
            limits=self.limits,
            polled=self._polled,
        )
        self._scheduler = Scheduler(
            self.dispatcher,
            self.session,
            self.runs,
            commits=commits,
            starter=self._starter,
            checks=ResultCheck(registry, exclusive_tasks),
            withdrawal=Withdrawal(self.dispatcher, self.runs, self.background, settings.lease),
            children=children,
            commands=self.commands,
            background=self.background,
        )
        self._versions = StoredVersions(store, self.graphs, self.background)
        self._admission = SubmissionStage(
            registry,
            self.session,
            self.runs,
            submissions=self.submissions,
            versions=self._versions,
            starter=self._starter,
            commits=commits,
            children=children,
            settings=settings,
        )

        # Coordination and upkeep.
        self.rebalance = Rebalance(
            store,
            registry,
            self.dispatcher,
            self.session,
            self.runs,
            capacity_queue=capacity_queue,
            background=self.background,
            settings=settings,
            receives=options.scope.only is None,
        )
        self.pools = self._make_pools(queues)
        self.coordinator = OrchestrationLoopCoordinator(
            self.pools, settings.coordinator, store_use=store.use, slow_down=self.store_threads.apply_backpressure
        )
        self.status = StatusReader(
            self.session,
            self.dispatcher,
            self.runs,
            pools=self.pools,
            coordinator=self.coordinator,
            ledger=self.ledger,
            capacity_queue=capacity_queue,
            rebalance=self.rebalance,
            throttle=self.throttle,
        )
        self.snapshot = StatusSnapshot(self.status.read)
        dead_sessions = DeadSessions(store, self.dispatcher, self.session, self.background, settings.lease)
        unknown_runs = UnknownRuns(store, self.session, self.runs, self.claims, self.background)
        inbox = Inbox(store, self.session, self.runs, children, self.background)
        redelivery = Redelivery(self.dispatcher, self.session)
        lost_attempts = LostAttempts(store, self.dispatcher, self.session, self.runs, redelivery, self.background)
        self.schedules = Schedules(
            store,
            registry,
            self.session,
            effects=ScheduleEffects(
                store,
                registry,
                requests=self.requests,
                submissions=self.submissions,
                commands=self.commands,
                background=self.background,
            ),
            background=self.background,
            enabled=options.schedules and options.drives,
        )
        self.sweeper = Sweeper(
            store,
            self.runs,
            claims=self.claims,
            dead_sessions=dead_sessions,
            unknown_runs=unknown_runs,
            inbox=inbox,
            notifications=Notifications(
                store,
                self.wakeups,
                claims=self.claims,
                dead_sessions=dead_sessions,
                unknown_runs=unknown_runs,
                inbox=inbox,
                waiters=self.waiters,
                shared=SharedState(
                    DefinitionUpdates(store, options.refresh, self.claims, self.background), self.schedules, self.limits
                ),
                background=self.background,
            ),
            background=self.background,
            sweeps=(
                lost_attempts.sweep,
                unknown_runs.sweep,
                children.sweep,
                self._starter.sweep,
                self.rebalance.share,
            ),
            interval=settings.sweep,
        )
        self.trigger_polls = TriggerPolls(
            store,
            registry,
            self.session,
            requests=self.requests,
            submissions=self.submissions,
            background=self.background,
            # An orchestrator that drives single runs only, or none, starts nothing of its own.
            triggers=defined_triggers if options.drives and options.scope.only is None else lambda: (),
        )
        self.pruner = Pruner(
            store, self.session, self.commands, self.background, settings.retention, registry.keep_rules
        )

    def _make_pools(self, queues: dict[Stage, WorkQueue]) -> dict[Stage, ExecutorPool]:
        # Two stages share one function: they differ in what brings a run to them, and in their metrics.
        process = {
            Stage.SUBMIT: self._admission.process,
            Stage.CLAIM: self.claims.process,
            Stage.START: self._scheduler.process,
            Stage.RESULT: self._scheduler.process,
            Stage.FINISH: self._finish,
        }
        return {
            stage: ExecutorPool(
                stage,
                queues[stage],
                process[stage],
                getattr(self.settings.executor_pools, stage.config_name),
                self.settings.coordinator,
                idle=self.claims.request if stage is Stage.CLAIM else lambda: None,
                store_outage=self._store_outage,
            )
            for stage in Stage
        }

    async def _finish(self, ended: list[Any]) -> None:
        await self.waiters.process(ended)
        self.schedules.run_ended()

    # -- life ---------------------------------------------------------------------------------------------------
    async def start(self) -> None:
        """Opens the session, the executors and the pools."""
        in_thread = self.background.in_thread
        await in_thread(self.session.open)
        try:
            await self.dispatcher.open()
            self.dispatcher.start(self._intake.deliver, self._starter.on_capacity)
        except BaseException:
            await in_thread(self.session.stop_renewing)
            await in_thread(self.session.end)
            raise
        await self.coordinator.start()
        self._loops = [
            self.background.spawn(self.snapshot.keep_fresh()),
            self.background.spawn(self.ledger.heap.keep_trimmed()),
        ]

    async def start_upkeep(self) -> None:
        """Starts to claim runs, to sweep and to prune."""
        await self.schedules.start()
        await self.sweeper.start()
        self.pruner.start()
        self.trigger_polls.start()

    async def stop_upkeep(self) -> None:
        await self.trigger_polls.stop()
        await self.pruner.stop()
        await self.sweeper.stop()
        await self.schedules.stop()

    async def stop(self, timeout: float) -> None:
        """Hands over: nothing new starts, running bodies get the timeout, other orchestrators get the runs."""
        self.session.begin_stopping()
        deadline = time.monotonic() + timeout
        stopping = asyncio.ensure_future(self.dispatcher.stop(timeout))
        while not stopping.done() or (self._has_work_in_flight and time.monotonic() < deadline):
            await self._release_idle()
            await asyncio.sleep(0.01)
        await self.coordinator.stop(max(0.1, deadline - time.monotonic()))
        for loop in self._loops:
            loop.cancel()
        self.submissions.close()
        self.session.stop_renewing()
        self.ledger.close()
        try:
            await asyncio.wait_for(self.background.in_thread(self.session.end), 5.0)
        except (StoreError, TimeoutError) as error:
            log.warning("the session was not ended, its lease will expire: %s", error)
        self.submissions.abandon()
        self.store_threads.close()
        self.waiters.close()

    @property
    def _has_work_in_flight(self) -> bool:
        return any(run.busy or run.queued for run in self.runs.values())

    async def _release_idle(self) -> None:
        """Releases runs that have nothing in flight here, so that other orchestrators claim them at once."""
        in_flight = {event.run_id for event in self.dispatcher.in_flight().values()}
        idle = [
            owned
            for owned in self.runs.values()
            if not (owned.busy or owned.queued or owned.results or owned.run_id in in_flight)
        ]
        if not idle:
            return
        for owned in idle:
            self.runs.release(owned)
        try:
            run_ids = [owned.run_id for owned in idle]
            await self.background.in_thread(self.store.release_runs, self.session.id, run_ids)
        except StoreError as error:
            log.warning("%d runs are handed over with the session: %s", len(idle), error)

    def _health(self) -> str | None:
        return self.snapshot.text()

    # -- the session --------------------------------------------------------------------------------------------
    def _session_lost(self) -> None:
        """Drops all runs and opens a new session: others have declared this one dead, and may own its runs."""
        log.error("session %s was declared dead: its runs are dropped here", self.session.id)
        self._versions.forget()
        for owned in list(self.runs.values()):
            self.runs.release(owned)
        self.dispatcher.disown()
        for event in list(self.dispatcher.in_flight().values()):
            self.dispatcher.cancel(event)
        if not self.session.stopping:
            self.background.spawn(self._reopen())

    async def _reopen(self) -> None:
        while not self.session.stopping:
            try:
                await self.background.in_thread(self.session.open)
            except StoreError as error:
                log.warning("no new session yet: %s", error)
                await asyncio.sleep(0.5)
            else:
                if self.session.stopping:
                    await self.background.in_thread(self.session.end)
                return self.claims.request()

    # -- the database -------------------------------------------------------------------------------------------
    def _store_outage(self) -> str | None:
        """Returns why batches may take long: during an outage, and until the backlog of one is written."""
        if self.ledger.outage is not None:
            return "the database does not answer"
        recent = time.monotonic() - self._answered_at < self.settings.coordinator.degraded_after_seconds
        return "the database has just come back" if recent else None

    def _store_failed(self) -> None:
        self.coordinator.store_failed()
        if (outage := self.ledger.outage) is not None:
            self.submissions.refuse_all(outage)

    def _store_answered(self) -> None:
        self._answered_at = time.monotonic()
        self.coordinator.store_answered()

    def _topics(self, writes: Sequence[RunWrite]) -> frozenset[str]:
        """Topics to announce to other processes with a commit; empty if no other session is alive."""
        # Pollers may have come since the lease was last renewed, so what is offered to them is always announced.
        if not self.session.peers and self._polled is not None and not self._polled:
            return frozenset()
        topics: set[str] = set()
        for write in writes:
            if write.insert is not None and write.owner is None:
                topics.add("queued" if write.limits else "runs")
            if write.run is not None and write.run.state.terminal:
                topics.add("finished")
                if write.answer is not None and write.answer.run_id not in self.runs:
                    topics.add("inbox")
            if any(row.poll_key for row in (*write.tasks, *write.items)):
                topics.add("ready")
        return frozenset(topics)
