"""How does a submission become a run? Stage ``task_request_processor``."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from turnout.errors import IdempotencyConflict, StoreError, StoreRejected, StoreUnreachable, TurnoutError
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

UNSURE = (
    "whether the run was stored will show when it answers again: submit it again with the same key, or look for it then"
)


class Admission:
    """Stores new runs: owned from the start with their roots running, if there is room; else for any claimer."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._stored_versions: set[str] = set()
        self._on_their_way: dict[str, Request] = {}
        """Requests whose inserts are in the ledger."""

    async def process(self, requests: list[Request]) -> None:
        for graph in {request.graph.version: request.graph for request in _fresh(requests)}.values():
            try:
                await self._keep_version(graph)
            except Exception as error:
                if not isinstance(error, StoreError):
                    log.exception("version %s of %s cannot be stored", graph.version, graph.spec.full_name)
                for request in _fresh(requests):
                    if request.graph.version == graph.version:
                        request.refuse(error)
        moves = [move for request in _fresh(requests) if (move := self._guarded(request)) is not None]
        if moves:
            await self._engine.settlement.write(moves)

    def store_away(self, error: StoreError) -> None:
        """Nobody is kept waiting for a database that does not answer."""
        for request in self._waiting():
            # An error of its own for each: every raise adds to an exception's traceback, which keeps what it passed.
            request.refuse(type(error)(error.message, code=error.code, **error.fields))
        for request in self._on_their_way.values():
            if not request.accepted.done():
                request.refuse(StoreUnreachable(f"{error.message}; {UNSURE}", **error.fields))

    def close(self) -> None:
        """Answer the requests that nobody will take any more."""
        for request in self._waiting():
            request.refuse(TurnoutError("the Runner was closed meanwhile", code="runner_closed"))

    def abandon(self) -> None:
        """The ledger is closed, and the event loop may end before a lane that is still at work has answered."""
        for request in self._on_their_way.values():
            request.refuse(StoreUnreachable(f"the Runner was closed before the database had answered; {UNSURE}"))

    def _waiting(self) -> list[Request]:
        """Take out what waits to be admitted; what is on its way is answered by the ledger."""
        queue = self._engine.pools[Stage.TASK_REQUEST_PROCESSOR].queue
        return _fresh(queue.take(len(queue)))

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
            request.accept(request.new.run_id)
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
            request.refuse(error)
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
        move = Move(owned, turn, turn.insert(engine.session_id if mine else None), events, request=request)
        self._on_their_way[request.new.run_id] = request
        return move

    def accepted(self, move: Move, request: Request) -> None:
        """The run is durable."""
        engine = self._engine
        self._on_their_way.pop(request.new.run_id, None)
        if request.new.parent_run is None:
            engine.waiters.add(request.new.run_id, request.final)
        request.accept(request.new.run_id)
        if request.new.run_id in engine.runs:
            engine.settlement.watch_deadline(move.owned, 0.0)
        else:
            engine.want_claim()

    def refused(self, move: Move, request: Request, outcome: WriteOutcome) -> None:
        engine = self._engine
        engine.drop(move.owned)
        self._on_their_way.pop(request.new.run_id, None)
        if outcome.rejected is not None:
            request.refuse(StoreRejected(f"the database refused the run: {outcome.rejected}"))
        elif request.new.parent_run is not None:
            self._refused_child(request, outcome)
        elif outcome.existing is not None and outcome.existing_digest == request.new.input_digest:
            engine.waiters.watch(outcome.existing, request.final)
            request.accept(outcome.existing)
        else:
            request.refuse(
                IdempotencyConflict(
                    f"idempotency key {request.new.key!r} belongs to run {outcome.existing}, which has another input",
                    run_id=outcome.existing,
                    key=request.new.key,
                )
            )

    def _refused_child(self, request: Request, outcome: WriteOutcome) -> None:
        if outcome.existing is not None:
            request.accept(outcome.existing)
        else:
            request.refuse(TurnoutError("its parent does not wait for it any more", code=PARENT_GONE))

    def failed(self, request: Request, error: BaseException) -> None:
        """The ledger was closed before it answered."""
        self._on_their_way.pop(request.new.run_id, None)
        request.refuse(error)


def _fresh(requests: Sequence[Request]) -> list[Request]:
    """A batch comes again if the stage executor that had it was replaced: what is under way from then stays so."""
    return [request for request in requests if not (request.admitted or request.accepted.done())]
