"""Composes the parts of one orchestrator: what is made from what.

The parts run on the orchestrator's own event loop; only store calls run in threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Any

from turnout.authoring.registry import Registry
from turnout.authoring.triggers import defined_triggers
from turnout.contracts.dispatcher import Dispatcher
from turnout.contracts.store import Store
from turnout.dispatcher.no_dispatcher import NoDispatcher
from turnout.orchestration.active_runs import ActiveRuns, RunTimers
from turnout.orchestration.announcements import Announcements
from turnout.orchestration.background import Background, StoreThreads, Wakeups
from turnout.orchestration.children.child_runs import ChildRuns
from turnout.orchestration.children.propagation import Propagation
from turnout.orchestration.children.requests import ChildRequests
from turnout.orchestration.coordination.coordinator import OrchestrationLoopCoordinator
from turnout.orchestration.coordination.pool import ExecutorPool
from turnout.orchestration.coordination.status import StatusReader, StatusSnapshot
from turnout.orchestration.engine_options import EngineCallbacks, EngineOptions
from turnout.orchestration.ledger import Ledger
from turnout.orchestration.loaders.stored_runs import GraphCache
from turnout.orchestration.run_requests import RunRequests
from turnout.orchestration.schedules.effects import ScheduleEffects
from turnout.orchestration.schedules.evaluation import Schedules
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.settings import EngineSettings
from turnout.orchestration.stages.affinity import RunAffinity
from turnout.orchestration.stages.capacity import CapacityQueue, Reservations
from turnout.orchestration.stages.claims import Claims
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
from turnout.orchestration.upkeep.definitions import DefinitionUpdates
from turnout.orchestration.upkeep.inbox import Inbox
from turnout.orchestration.upkeep.limit_declarations import DeclaredLimits
from turnout.orchestration.upkeep.lost_attempts import LostAttempts, Redelivery, UnknownRuns
from turnout.orchestration.upkeep.pruner import Pruner
from turnout.orchestration.upkeep.rebalance import Rebalance
from turnout.orchestration.upkeep.shared_state import SharedState
from turnout.orchestration.upkeep.stuck_runs import StuckRuns
from turnout.orchestration.upkeep.sweeper import Notifications, Sweeper
from turnout.orchestration.upkeep.triggers import TriggerPolls


class EngineParts:
    """Every part of an orchestrator, each made from the parts that it uses."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        store: Store,
        registry: Registry,
        dispatcher: Dispatcher | None,
        settings: EngineSettings,
        options: EngineOptions,
        callbacks: EngineCallbacks,
    ) -> None:
        settings.check()
        self.store = store
        self.dispatcher = dispatcher or NoDispatcher()
        self.settings = settings
        self._polled: Collection[str] | None = options.polled if dispatcher is not None else None
        queues = {stage: WorkQueue() for stage in Stage}

        # Shared by the stages.
        self.store_threads = StoreThreads(settings.connections, settings.coordinator.max_db_pool_usage)
        self.background = Background(loop, self.store_threads)
        self.session = OrchestratorSession(
            store,
            settings,
            workflows=lambda: tuple(registry.workflows),
            drives=options.drives,
            on_lost=lambda: self.background.call_soon(callbacks.session_lost),
            health=self._health,
        )
        self.runs = ActiveRuns(registry, self.dispatcher, queues)
        self.graphs = GraphCache(store)
        self.ledger = Ledger(
            store,
            max_commit=settings.max_commit,
            topics_of=Announcements(self.session, self.runs, self._polled).topics_of,
            width=lambda: max(len(pool.executors) for pool in self.pools.values()),
            on_outage=lambda failing: self.background.call_soon(
                callbacks.store_failed if failing else callbacks.store_answered
            ),
        )
        self.wakeups = Wakeups()
        self.shadows = Shadows()
        self.throttle = Throttle(settings.request_high_water)
        capacity_queue = CapacityQueue()
        timers = RunTimers(self.runs, self.background, settings.cancel_grace)
        reservations = Reservations(self.dispatcher, self.session)
        self.submissions = PendingSubmissions(queues[Stage.SUBMIT], self.ledger)
        self.intake = ResultIntake(self.runs, self.dispatcher, self.shadows)

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
            observer=options.observer,
        )
        exclusive_tasks = ExclusiveTasks(self.dispatcher, self.session, capacity_queue)
        self.starter = TaskStarter(
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
            starter=self.starter,
            checks=ResultCheck(registry, exclusive_tasks),
            withdrawal=Withdrawal(self.dispatcher, self.runs, self.background, settings.lease),
            children=children,
            commands=self.commands,
            background=self.background,
        )
        self.versions = StoredVersions(store, self.graphs, self.background)
        self._admission = SubmissionStage(
            registry,
            self.session,
            self.runs,
            submissions=self.submissions,
            versions=self.versions,
            starter=self.starter,
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
        self.pools = self._make_pools(queues, callbacks.store_outage)
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
        starts_runs = options.schedules and options.drives
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
            enabled=starts_runs,
        )
        self.declared_limits = DeclaredLimits(
            store, registry, self.background, configured=options.limits, enabled=options.drives
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
                self.runs,
                claims=self.claims,
                dead_sessions=dead_sessions,
                unknown_runs=unknown_runs,
                inbox=inbox,
                waiters=self.waiters,
                shared=SharedState(
                    DefinitionUpdates(store, options.refresh, self.claims, self.background),
                    self.schedules,
                    self.limits,
                    self.declared_limits,
                    StuckRuns(
                        store,
                        registry,
                        self.graphs,
                        self.session,
                        requests=self.requests,
                        submissions=self.submissions,
                        background=self.background,
                    ),
                ),
                background=self.background,
            ),
            background=self.background,
            sweeps=(
                lost_attempts.sweep,
                unknown_runs.sweep,
                children.sweep,
                self.starter.sweep,
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
            tenant=options.tenant,
            # An orchestrator that drives single runs only, or none, starts nothing of its own.
            triggers=defined_triggers if starts_runs and options.scope.only is None else lambda: (),
        )
        self.pruner = Pruner(
            store, self.session, self.commands, self.background, settings.retention, registry.keep_rules
        )

    def _make_pools(
        self, queues: dict[Stage, WorkQueue], store_outage: Callable[[], str | None]
    ) -> dict[Stage, ExecutorPool]:
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
                store_outage=store_outage,
            )
            for stage in Stage
        }

    async def _finish(self, ended: list[Any]) -> None:
        await self.waiters.process(ended)
        self.schedules.run_ended()

    def _health(self) -> str | None:
        return self.snapshot.text()
