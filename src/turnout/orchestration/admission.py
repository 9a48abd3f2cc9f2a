"""How does a submission become a run? Stage ``task_request_processor``."""

from __future__ import annotations

import logging
import random
import time
from typing import TYPE_CHECKING

import msgspec

from turnout.errors import IdempotencyConflict, StoreError, StoreRejected, TurnoutError
from turnout.model.children import PARENT_GONE
from turnout.model.events import TaskReadyEvent
from turnout.model.graph import Graph
from turnout.model.machine import RunMachine
from turnout.model.rows import WriteOutcome
from turnout.model.turn import Turn
from turnout.orchestration.moves import Move, Request
from turnout.orchestration.owned import OwnedRun
from turnout.orchestration.stages import Stage

if TYPE_CHECKING:
    from turnout.orchestration.engine import Engine

log = logging.getLogger("turnout.admission")


class Admission:
    """Stores new runs: owned from the start with their roots running, if there is room; else for any claimer."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._stored_versions: set[str] = set()

    async def process(self, requests: list[Request]) -> None:
        engine = self._engine
        try:
            if engine.ledger.outage is not None:
                raise engine.ledger.outage
            for graph in {request.graph.version: request.graph for request in requests}.values():
                await self._keep_version(graph)
        except StoreError as error:
            for request in requests:
                if not request.accepted.done():
                    request.accepted.set_exception(error)
            return
        # A batch comes again if the stage executor that had it was replaced: what is under way from then stays so.
        fresh = [request for request in requests if not (request.admitted or request.accepted.done())]
        moves = [move for request in fresh if (move := self._guarded(request)) is not None]
        if moves:
            await engine.settlement.write(moves)

    def close(self) -> None:
        """Answer the requests that nobody will take any more."""
        queue = self._engine.pools[Stage.TASK_REQUEST_PROCESSOR].queue
        for request in queue.take(len(queue)):
            request.accepted.set_exception(TurnoutError("the Runner was closed meanwhile", code="runner_closed"))

    def forget_versions(self) -> None:
        """A new session has to say anew which versions it uses, or they might be pruned under it."""
        self._stored_versions.clear()

    async def _keep_version(self, graph: Graph) -> None:
        if graph.version not in self._stored_versions:
            engine = self._engine
            text = msgspec.json.encode(graph.spec).decode()
            await engine.in_thread(engine.store.put_workflow, graph.version, graph.spec.full_name, text)
            self._stored_versions.add(graph.version)
            engine.adoption.graphs[graph.version] = graph

    def _guarded(self, request: Request) -> Move | None:
        """One request's trouble is its own."""
        engine = self._engine
        if request.new.run_id in engine.runs:
            # A child run's id is known beforehand, so it may have been found and adopted while its request waited.
            request.accepted.set_result(request.new.run_id)
            return None
        events: list[tuple[str, TaskReadyEvent]] = []
        try:
            return self._admit(request, events)
        except Exception as error:
            log.exception("run %s could not be admitted", request.new.run_id)
            engine.runs.pop(request.new.run_id, None)
            for key, event in events:
                if engine.dispatcher is not None:
                    engine.dispatcher.release(key, event.holder)
            request.accepted.set_exception(error)
            return None

    def _admit(self, request: Request, events: list[tuple[str, TaskReadyEvent]]) -> Move:
        engine = self._engine
        machine = RunMachine.fresh(request.graph, request.new, engine.settings.limits, request.reuse)
        request.admitted = True
        owned = OwnedRun(machine)
        owned.busy = True
        turn = Turn(machine, time.time(), random.random)
        child = request.new.parent_run is not None
        room = len(engine.runs) < engine.settings.max_owned_runs or (child and engine.children.may_exceed(request.new))
        # Who has no code for it leaves it to those that have.
        mine = room and engine.may_start and engine.registry.spec_of(request.new.workflow) is not None
        if mine:
            engine.runs[request.new.run_id] = owned
            turn.begin()
            engine.turns.place(owned, turn, events)
            turn.finish()
        return Move(owned, turn, turn.insert(engine.session_id if mine else None), events, request=request)

    def accepted(self, move: Move, request: Request) -> None:
        """The run is durable."""
        engine = self._engine
        if request.new.parent_run is None:
            engine.waiters.add(request.new.run_id, request.final)
        request.accepted.set_result(request.new.run_id)
        if request.new.run_id in engine.runs:
            engine.settlement.watch_deadline(move.owned, 0.0)
        else:
            engine.want_claim()

    def refused(self, move: Move, request: Request, outcome: WriteOutcome) -> None:
        engine = self._engine
        engine.drop(move.owned)
        if outcome.rejected is not None:
            request.accepted.set_exception(StoreRejected(f"the database refused the run: {outcome.rejected}"))
        elif request.new.parent_run is not None:
            self._refused_child(request, outcome)
        elif outcome.existing is not None and outcome.existing_digest == request.new.input_digest:
            engine.waiters.watch(outcome.existing, request.final)
            request.accepted.set_result(outcome.existing)
        else:
            request.accepted.set_exception(
                IdempotencyConflict(
                    f"idempotency key {request.new.key!r} belongs to run {outcome.existing}, which has another input",
                    run_id=outcome.existing,
                    key=request.new.key,
                )
            )

    def _refused_child(self, request: Request, outcome: WriteOutcome) -> None:
        if outcome.existing is not None:
            request.accepted.set_result(outcome.existing)
        else:
            request.accepted.set_exception(TurnoutError("its parent does not wait for it any more", code=PARENT_GONE))
