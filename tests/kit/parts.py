"""The parts of an orchestrator put together as the engine does it, on a store, a dispatcher and a loop in memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from types import SimpleNamespace
from typing import Any, cast

from kit.dispatcher import FakeDispatcher
from kit.loop import LoopLanes, ManualLoop
from kit.runs import RunTable, new_run
from kit.store import MemoryStore
from turnout.authoring.registry import Registry
from turnout.model.events import ExecutionResult
from turnout.model.graph import Graph
from turnout.model.limits import LimitSize
from turnout.model.retention import KeepRule
from turnout.model.rows import RunRow, Session, TaskRow
from turnout.model.run_machine import RunMachine
from turnout.model.states import RunState, TaskState
from turnout.model.transition import Transition
from turnout.model.values import MAX_BYTES
from turnout.orchestration.active_runs import ActiveRun, ActiveRuns, RunTimers
from turnout.orchestration.background import Background, StoreThreads, Wakeups
from turnout.orchestration.children.child_runs import ChildRuns
from turnout.orchestration.children.propagation import Propagation
from turnout.orchestration.children.requests import ChildRequests
from turnout.orchestration.ledger import Ledger
from turnout.orchestration.loaders.stored_runs import GraphCache
from turnout.orchestration.messages import Submission
from turnout.orchestration.reply import Reply
from turnout.orchestration.run_requests import RunRequests
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
from turnout.orchestration.stages.pending_submissions import PendingSubmissions, SubmissionReplies
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
from turnout.orchestration.upkeep.limit_declarations import DeclaredLimits
from turnout.orchestration.upkeep.lost_attempts import LostAttempts, Redelivery, UnknownRuns
from turnout.orchestration.upkeep.pruner import Pruner
from turnout.orchestration.upkeep.rebalance import Rebalance
from turnout.orchestration.upkeep.shared_state import SharedState
from turnout.orchestration.upkeep.stuck_runs import StuckRuns
from turnout.orchestration.upkeep.sweeper import Notifications, Sweeper

ME, OTHER = "session-1", "session-2"


class HeldSession(OrchestratorSession):
    """A session whose lease no thread keeps: a test says whether it stands."""

    def __init__(self, *, drives: bool = True) -> None:
        self.drives = drives
        self.stopping = False
        lease = SimpleNamespace(session=Session(id=ME), peers=0, fenced=False, begin_by=math.inf)
        lease.peer_opened = lambda: setattr(lease, "peers", max(1, lease.peers))
        self.keeper = cast("Any", lease)


class Workflows(Registry):
    """A registry that also knows workflows by their graphs alone."""

    def __init__(self, *graphs: Graph) -> None:
        super().__init__()
        self.graphs = {graph.spec.full_name: graph for graph in graphs}

    @property
    def workflows(self) -> Any:
        return {**self.graphs, **super().workflows}

    def spec_of(self, workflow_full_name: str) -> Any:
        graph = self.graphs.get(workflow_full_name)
        return super().spec_of(workflow_full_name) if graph is None else graph.spec


class Parts:
    """Each part is made when it is first used, with the others that it uses."""

    def __init__(
        self,
        loop: ManualLoop,
        *graphs: Graph,
        settings: EngineSettings | None = None,
        scope: ClaimScope | None = None,
        polled: frozenset[str] | None = frozenset(),
        drives: bool = True,
        store: MemoryStore | None = None,
        refresh: Refresh | None = None,
        schedules: bool = False,
        limit_sizes: Mapping[str, LimitSize] | None = None,
        **capacity: int,
    ) -> None:
        self.loop = loop
        self.refresh = refresh
        self.has_schedules = schedules
        self.limit_sizes = limit_sizes or {}
        self.keep_rules: dict[str, KeepRule] = {}
        self.store: Any = store or MemoryStore()
        self.journal: list[str] = self.store.journal
        """Reservations, commits and dispatches in their order."""
        self.dispatcher = FakeDispatcher(self.journal, **capacity)
        self.registry = Workflows(*graphs)
        self.settings = settings or EngineSettings()
        self.scope = scope or ClaimScope()
        self.polled = polled
        self.session = HeldSession(drives=drives)
        self.queues = {stage: WorkQueue() for stage in Stage}
        self.background = Background(loop, StoreThreads(4, 1.0))
        self.runs = ActiveRuns(self.registry, self.dispatcher, self.queues)
        self.graphs = GraphCache(self.store)
        self.ledger = Ledger(
            self.store, max_commit=512, topics_of=lambda writes: frozenset(), lanes=LoopLanes(self.loop)
        )
        self.wakeups = Wakeups()
        self.shadows = Shadows()
        self.capacity_queue = CapacityQueue()
        self.timers = RunTimers(self.runs, self.background, self.settings.cancel_grace)
        self.reservations = Reservations(self.dispatcher, self.session)
        self.exclusive_tasks = ExclusiveTasks(self.dispatcher, self.session, self.capacity_queue)
        self.submissions = PendingSubmissions(self.queues[Stage.SUBMIT], self.ledger)
        self.intake = ResultIntake(self.runs, self.dispatcher, self.shadows)

    # -- the stages ---------------------------------------------------------------------------------------------
    @cached_property
    def takeover(self) -> Takeover:
        return Takeover(
            self.store,
            self.dispatcher,
            self.session,
            self.runs,
            ledger=self.ledger,
            graphs=self.graphs,
            timers=self.timers,
            background=self.background,
            limits=self.settings.limits,
        )

    @cached_property
    def claims(self) -> Claims:
        return Claims(
            self.store,
            self.registry,
            self.session,
            self.runs,
            takeover=self.takeover,
            background=self.background,
            queue=self.queues[Stage.CLAIM],
            settings=self.settings,
            scope=self.scope,
        )

    @cached_property
    def waiters(self) -> Waiters:
        return Waiters(self.store, self.runs, self.claims, self.background, self.settings.max_owned_runs)

    @cached_property
    def commands(self) -> Commands:
        return Commands(self.store, self.runs, self.claims, self.background)

    @cached_property
    def child_requests(self) -> ChildRequests:
        return ChildRequests(
            self.store,
            self.registry,
            self.graphs,
            self.session,
            self.runs,
            background=self.background,
            requests=RunRequests(self.registry, None, MAX_BYTES),
            max_depth=self.settings.limits.depth,
            max_output_bytes=MAX_BYTES,
        )

    @cached_property
    def propagation(self) -> Propagation:
        return Propagation(self.session, self.runs, self.claims, self.commands, self.child_requests, self.background)

    @cached_property
    def child_runs(self) -> ChildRuns:
        return ChildRuns(
            self.store,
            self.registry,
            self.session,
            self.runs,
            submissions=self.submissions,
            requests=self.child_requests,
            propagation=self.propagation,
            background=self.background,
            wakeups=self.wakeups,
        )

    @cached_property
    def replies(self) -> SubmissionReplies:
        return SubmissionReplies(self.runs, self.submissions, self.waiters, self.claims, self.timers, self.limits)

    @cached_property
    def limits(self) -> LimitQueue:
        return LimitQueue(
            self.store,
            self.session,
            self.runs,
            claims=self.claims,
            background=self.background,
            configured=self.limit_sizes,
        )

    @cached_property
    def commits(self) -> Commits:
        return Commits(
            self.ledger,
            self.dispatcher,
            self.runs,
            reservations=self.reservations,
            claims=self.claims,
            children=self.child_runs,
            replies=self.replies,
            shadows=self.shadows,
            limits=self.limits,
            timers=self.timers,
            background=self.background,
        )

    @cached_property
    def starter(self) -> TaskStarter:
        return TaskStarter(
            self.dispatcher,
            self.session,
            self.runs,
            reservations=self.reservations,
            capacity_queue=self.capacity_queue,
            exclusive_tasks=self.exclusive_tasks,
            affinity=RunAffinity(self.store, self.dispatcher, self.runs, self.background),
            children=self.child_runs,
            limits=self.limits,
            polled=self.polled,
        )

    @cached_property
    def withdrawal(self) -> Withdrawal:
        return Withdrawal(self.dispatcher, self.runs, self.background, self.settings.lease)

    @cached_property
    def scheduler(self) -> Scheduler:
        return Scheduler(
            self.dispatcher,
            self.session,
            self.runs,
            commits=self.commits,
            starter=self.starter,
            checks=ResultCheck(self.registry, self.exclusive_tasks),
            withdrawal=self.withdrawal,
            children=self.child_runs,
            commands=self.commands,
            background=self.background,
        )

    @cached_property
    def versions(self) -> StoredVersions:
        return StoredVersions(self.store, self.graphs, self.background)

    @cached_property
    def submission(self) -> SubmissionStage:
        return SubmissionStage(
            self.registry,
            self.session,
            self.runs,
            submissions=self.submissions,
            versions=self.versions,
            starter=self.starter,
            commits=self.commits,
            children=self.child_runs,
            settings=self.settings,
        )

    # -- upkeep -------------------------------------------------------------------------------------------------
    @cached_property
    def rebalance(self) -> Rebalance:
        return Rebalance(
            self.store,
            self.registry,
            self.dispatcher,
            self.session,
            self.runs,
            capacity_queue=self.capacity_queue,
            background=self.background,
            settings=self.settings,
            receives=self.scope.only is None,
        )

    @cached_property
    def dead_sessions(self) -> DeadSessions:
        return DeadSessions(self.store, self.dispatcher, self.session, self.background, self.settings.lease)

    @cached_property
    def unknown_runs(self) -> UnknownRuns:
        return UnknownRuns(self.store, self.session, self.runs, self.claims, self.background)

    @cached_property
    def inbox(self) -> Inbox:
        return Inbox(self.store, self.session, self.runs, self.child_runs, self.background)

    @cached_property
    def redelivery(self) -> Redelivery:
        return Redelivery(self.dispatcher, self.session)

    @cached_property
    def lost_attempts(self) -> LostAttempts:
        return LostAttempts(self.store, self.dispatcher, self.session, self.runs, self.redelivery, self.background)

    @cached_property
    def notifications(self) -> Notifications:
        return Notifications(
            self.store,
            self.wakeups,
            self.runs,
            claims=self.claims,
            dead_sessions=self.dead_sessions,
            unknown_runs=self.unknown_runs,
            inbox=self.inbox,
            waiters=self.waiters,
            shared=SharedState(self.definitions, self.schedules, self.limits, self.declared_limits, self.stuck_runs),
            background=self.background,
        )

    @cached_property
    def declared_limits(self) -> DeclaredLimits:
        return DeclaredLimits(self.store, self.registry, self.background, configured=self.limit_sizes, enabled=False)

    @cached_property
    def stuck_runs(self) -> StuckRuns:
        return StuckRuns(
            self.store,
            self.registry,
            self.graphs,
            self.session,
            requests=RunRequests(self.registry, None, MAX_BYTES),
            submissions=self.submissions,
            background=self.background,
        )

    @cached_property
    def schedules(self) -> Schedules:
        effects = ScheduleEffects(
            self.store,
            self.registry,
            requests=RunRequests(self.registry, None, MAX_BYTES),
            submissions=self.submissions,
            commands=self.commands,
            background=self.background,
        )
        return Schedules(
            self.store,
            self.registry,
            self.session,
            effects=effects,
            background=self.background,
            enabled=self.has_schedules,
        )

    @cached_property
    def definitions(self) -> DefinitionUpdates:
        return DefinitionUpdates(self.store, self.refresh, self.claims, self.background)

    def sweeper(self, *sweeps: Any) -> Sweeper:
        return Sweeper(
            self.store,
            self.runs,
            claims=self.claims,
            dead_sessions=self.dead_sessions,
            unknown_runs=self.unknown_runs,
            inbox=self.inbox,
            notifications=self.notifications,
            background=self.background,
            sweeps=sweeps,
            interval=self.settings.sweep,
        )

    @cached_property
    def pruner(self) -> Pruner:
        return Pruner(
            self.store, self.session, self.commands, self.background, self.settings.retention, lambda: self.keep_rules
        )

    # -- for tests ----------------------------------------------------------------------------------------------
    def drive(self) -> None:
        """What the stage executors do: takes what is in the queues until they are empty. Claims are left to tests."""
        process: dict[Stage, Any] = {
            Stage.SUBMIT: self.submission.process,
            Stage.START: self.scheduler.process,
            Stage.RESULT: self.scheduler.process,
            Stage.FINISH: self.waiters.process,
        }
        self.loop.settle()
        while any(self.queues[stage] for stage in process):
            for stage, work in process.items():
                if batch := self.queues[stage].take(100):
                    self.loop.run(work(batch))

    def request(self, graph: Graph, **new: Any) -> Submission:
        full = {"workflow": graph.spec.full_name, "version": graph.version, **new}
        return Submission(graph, new_run(**full), Reply(), Reply())

    def submit(self, graph: Graph, **new: Any) -> Submission:
        """A submission that has gone through its stage."""
        request = self.request(graph, **new)
        self.submissions.put([request])
        self.drive()
        return request

    def stored(self, graph: Graph, owner: str | None = None, **new: Any) -> RunTable:
        """A run as another session left it: in the store, not driven here."""
        request = self.request(graph, **new)
        transition = Transition(RunMachine.create(graph, request.new, self.settings.limits), 0.0)
        if owner is not None:
            transition.begin()
        table = RunTable()
        table.insert(transition.insert(owner))
        self.store.keep(graph, request.new, table)
        return table

    def held_by(self, graph: Graph, holder: str, owner: str | None = OTHER, **new: Any) -> RunTable:
        """The same, with all roots running in the hands of this holder."""
        table = self.stored(graph, owner or OTHER, **new)
        for pos, row in table.tasks.items():
            if row.state is TaskState.READY:
                table.tasks[pos] = TaskRow(
                    pos=pos, name=row.name, state=TaskState.RUNNING, attempt=1, holder=holder, executor="default"
                )
        table.owner = owner
        return table

    def idle_run(self, graph: Graph, state: RunState = RunState.RUNNING, **new: Any) -> ActiveRun:
        """A run that is driven here, with its roots ready and nothing queued."""
        table = self.stored(graph, ME, **new)
        run_id = self.request(graph, **new).new.run_id
        rows = [table.tasks[pos] for pos in sorted(table.tasks)]
        table.run = RunRow(state=state)
        owned = ActiveRun(
            RunMachine(
                graph,
                self.store.new[run_id],
                table.run,
                rows,
                epoch=table.epoch,
                seq=table.seq,
                limits=self.settings.limits,
            )
        )
        self.runs.add(owned)
        return owned

    def answer(self, name: str, output: Any = None, **more: Any) -> ExecutionResult:
        """The newest dispatched attempt of this task completes."""
        result = ExecutionResult.success(self.event(name), output, **more)
        self.end(name, result)
        return result

    def end(self, name: str, result: ExecutionResult) -> None:
        """The newest dispatched attempt of this task ends so."""
        self.dispatcher.answered(self.event(name))
        self.intake.deliver([result])

    def event(self, name: str) -> Any:
        """The newest attempt of this task that was dispatched."""
        events = [each for _, each in self.dispatcher.dispatched if each.task_name.endswith(f"::{name}")]
        return events[-1]

    def states(self, run_id: str = "run-1") -> dict[str, str]:
        return {row.name: row.state.value for row in self.store.tables[run_id].tasks.values()}
