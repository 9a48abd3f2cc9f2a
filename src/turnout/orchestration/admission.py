"""How does a submission become a run? Stage ``task_request_processor``."""

from __future__ import annotations

import logging
import random
import time

from turnout.authoring.registry import Registry
from turnout.errors import StoreError
from turnout.model.events import TaskReadyEvent
from turnout.model.machine import RunMachine
from turnout.model.turn import Turn
from turnout.orchestration.active_runs import ActiveRuns
from turnout.orchestration.children import Children
from turnout.orchestration.moves import Move, Request
from turnout.orchestration.owned import OwnedRun
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.settings import EngineSettings
from turnout.orchestration.settlement import Settlement
from turnout.orchestration.stored_versions import StoredVersions
from turnout.orchestration.submissions import PendingSubmissions, not_started
from turnout.orchestration.task_starter import TaskStarter

log = logging.getLogger("turnout.admission")


class Admission:
    """Stores new runs: owned from the start with their roots running, if there is room; else for any claimer."""

    def __init__(
        self,
        registry: Registry,
        session: OrchestratorSession,
        runs: ActiveRuns,
        *,
        submissions: PendingSubmissions,
        versions: StoredVersions,
        starter: TaskStarter,
        commits: Settlement,
        children: Children,
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

    async def process(self, requests: list[Request]) -> None:
        for graph in {request.graph.version: request.graph for request in not_started(requests)}.values():
            try:
                await self._versions.store(graph)
            except Exception as error:
                if not isinstance(error, StoreError):
                    log.exception("version %s of %s cannot be stored", graph.version, graph.spec.full_name)
                for request in not_started(requests):
                    if request.graph.version == graph.version:
                        request.refuse(error)
        moves = [move for request in not_started(requests) if (move := self._guarded(request)) is not None]
        if moves:
            await self._commits.write(moves)

    def _guarded(self, request: Request) -> Move | None:
        """One request's trouble is its own."""
        if request.new.run_id in self._runs:
            # A child run's id is known beforehand, so it may have been found and adopted while its request waited.
            request.accept(request.new.run_id)
            return None
        events: list[tuple[str, TaskReadyEvent]] = []
        try:
            return self._admit(request, events)
        except Exception as error:
            log.exception("run %s could not be admitted", request.new.run_id)
            self._runs.discard(request.new.run_id)
            self._commits.release(events)
            request.refuse(error)
            return None

    def _admit(self, request: Request, events: list[tuple[str, TaskReadyEvent]]) -> Move:
        settings = self._settings
        machine = RunMachine.fresh(request.graph, request.new, settings.limits, request.reuse)
        request.admitted = True
        owned = OwnedRun(machine)
        owned.busy = True
        turn = Turn(machine, time.time(), random.random)
        child = request.new.parent_run is not None
        room = len(self._runs) < settings.max_owned_runs or (child and self._children.may_exceed(request.new))
        # Who has no code for it leaves it to those that have.
        mine = room and self._session.may_start and self._registry.spec_of(request.new.workflow) is not None
        if mine:
            self._runs.add(owned)
            turn.begin()
            self._starter.start_ready(owned, turn, events)
            turn.finish()
        move = Move(owned, turn, turn.insert(self._session.id if mine else None), events, request=request)
        self._submissions.inserting(request)
        return move
