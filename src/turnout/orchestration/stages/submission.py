"""Turns submissions into runs. Stage ``task_request_processor``."""

from __future__ import annotations

import logging
import random
import time

import msgspec

from turnout.authoring.registry import Registry
from turnout.contracts.store import LedgerStore
from turnout.errors import StoreError
from turnout.model.events import TaskReadyEvent
from turnout.model.graph import Graph
from turnout.model.reasons import LIMIT
from turnout.model.rows import RunWrite
from turnout.model.run_machine import RunMachine
from turnout.model.transition import Transition
from turnout.orchestration.active_runs import ActiveRun, ActiveRuns
from turnout.orchestration.background import Background
from turnout.orchestration.children.child_runs import ChildRuns
from turnout.orchestration.loaders.stored_runs import GraphCache
from turnout.orchestration.messages import PendingCommit, Submission
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.settings import EngineSettings
from turnout.orchestration.stages.commits import Commits
from turnout.orchestration.stages.first_starts import FirstStarts
from turnout.orchestration.stages.pending_submissions import PendingSubmissions, not_started
from turnout.orchestration.stages.task_starter import TaskStarter

log = logging.getLogger("turnout.submission")


class StoredVersions:
    """Stores each version once per session."""

    def __init__(self, store: LedgerStore, graphs: GraphCache, background: Background) -> None:
        self._store = store
        self._graphs = graphs
        self._in_thread = background.in_thread
        self._stored: set[str] = set()

    async def store(self, graph: Graph) -> None:
        if graph.version not in self._stored:
            text = msgspec.json.encode(graph.spec).decode()
            await self._in_thread(self._store.put_workflow, graph.version, graph.spec.full_name, text)
            self._stored.add(graph.version)
            self._graphs.add(graph)

    def forget(self) -> None:
        """Makes a new session store its versions again, or they might be pruned."""
        self._stored.clear()


class SubmissionStage:
    """Stores new runs: owned with their roots running, if this orchestrator has room; else unowned, to be claimed."""

    def __init__(
        self,
        registry: Registry,
        session: OrchestratorSession,
        runs: ActiveRuns,
        *,
        submissions: PendingSubmissions,
        versions: StoredVersions,
        starter: TaskStarter,
        commits: Commits,
        children: ChildRuns,
        settings: EngineSettings,
    ) -> None:
        self._registry = registry
        self._session = session
        self._runs = runs
        self._submissions = submissions
        self._versions = versions
        self._starter = starter
        self._commits = commits
        self._children = children
        self._settings = settings

    async def process(self, submissions: list[Submission]) -> None:
        for graph in {submission.graph.version: submission.graph for submission in not_started(submissions)}.values():
            try:
                await self._versions.store(graph)
            except Exception as error:
                if not isinstance(error, StoreError):
                    log.exception("version %s of %s cannot be stored", graph.version, graph.spec.full_name)
                for submission in not_started(submissions):
                    if submission.graph.version == graph.version:
                        submission.refuse(error)
        starts = FirstStarts(self._starter, time.time())
        batch = [
            pending
            for submission in not_started(submissions)
            if (pending := self._guarded_insert(submission, starts)) is not None
        ]
        if batch:
            await self._commits.write(batch)

    def _guarded_insert(self, submission: Submission, starts: FirstStarts) -> PendingCommit | None:
        """Keeps a failure to its submission."""
        if self._runs.get(submission.new.run_id) is not None:
            # A child run's id is known beforehand, so it may have been claimed while its submission waited.
            submission.accept(submission.new.run_id)
            return None
        events: list[tuple[str, TaskReadyEvent]] = []
        try:
            return self._insert(submission, starts, events)
        except Exception as error:
            log.exception("run %s could not be admitted", submission.new.run_id)
            self._runs.discard(submission.new.run_id)
            self._commits.release(events)
            submission.refuse(error)
            return None

    def _insert(
        self, submission: Submission, starts: FirstStarts, events: list[tuple[str, TaskReadyEvent]]
    ) -> PendingCommit:
        settings, new = self._settings, submission.new
        machine = RunMachine.create(submission.graph, new, settings.limits, submission.reuse)
        submission.insert_started = True
        owned = ActiveRun(machine)
        owned.busy = True
        child = new.parent_run is not None
        room = len(self._runs) < settings.max_owned_runs or (child and self._children.may_exceed(new))
        # Without the code for it the run is stored unowned, for an orchestrator that has it.
        mine = (
            room
            and not submission.unowned
            and not submission.limits
            and self._session.may_start
            and self._registry.spec_of(new.workflow) is not None
        )
        if mine:
            self._runs.add(owned)
            transition, write = starts.begin(owned, events, self._owned)
        else:
            transition = Transition(machine, starts.now, random.random)
            write = transition.insert(None, LIMIT if submission.limits else None)
            write.limits = submission.limits
        self._submissions.inserting(submission)
        return PendingCommit(owned, transition, write, events, submission=submission)

    def _owned(self, transition: Transition) -> RunWrite:
        return transition.insert(self._session.id)
