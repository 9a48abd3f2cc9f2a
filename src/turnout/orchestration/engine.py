"""How an orchestrator moves its runs: takes what has come in, asks the run machine, writes, and acts on what was applied.

Everything here runs on the engine's own event loop. Stages differ in what brings a run to them; what they do with it
is one thing, a turn: results and orders in, ready tasks placed, the end noticed, one write. Effects outside (dispatch,
answers to waiters) happen in ``_settle``, driven by what the ledger reports as applied.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import msgspec

from turnout.authoring.registry import Registry
from turnout.contracts.dispatcher import Dispatcher
from turnout.contracts.store import Store
from turnout.errors import IdempotencyConflict, StoreError, StoreRejected, StoreUnreachable
from turnout.model.events import DispatchDecision, ErrorInfo, ExecutionResult, ExecutionStatus, TaskReadyEvent
from turnout.model.graph import Graph
from turnout.model.machine import RunMachine, Turn
from turnout.model.names import split_task_id
from turnout.model.rows import LoadedRun, NewRun, RunWrite, StoredRun, TaskRow, WriteOutcome
from turnout.model.spec import WorkflowSpec
from turnout.model.states import RunState, TaskState
from turnout.orchestration.lease import LeaseKeeper, this_session
from turnout.orchestration.ledger import Ledger
from turnout.orchestration.owned import Order, OwnedRun
from turnout.orchestration.parking import Parking
from turnout.orchestration.settings import EngineSettings
from turnout.orchestration.shadows import Shadows
from turnout.orchestration.stages import Stage, StagePool

log = logging.getLogger("turnout.engine")
T = TypeVar("T")

POLLING = DispatchDecision("polling", "polling mode: there is no dispatcher")
UNPARK = 64
"""How many waiting runs are looked at each time an executor reports room."""


class Request(msgspec.Struct, gc=False):
    """A run to be submitted."""

    graph: Graph
    new: NewRun
    accepted: Future[str]
    """Gets the run's id once it is durable; another run's if the idempotency key was used before."""
    final: Future[Final]
    reuse: Sequence[TaskRow] = ()


class Final(msgspec.Struct):
    """How a run ended, for those who wait for it."""

    run: StoredRun
    machine: RunMachine | None
    """What its owner still had in memory, outputs included; None if another process ended it."""


class _Move(msgspec.Struct, gc=False):
    """A turn on its way through the ledger."""

    owned: OwnedRun
    turn: Turn
    write: RunWrite
    events: list[tuple[str, TaskReadyEvent]]
    orders: list[Order]
    to_cancel: list[int]
    results: list[tuple[int, ExecutionResult, int | None]] = []
    request: Request | None = None


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
        self.watched: dict[str, list[Future[Final]]] = {}
        """Who in this process waits for which run, owned or not."""
        self.polled: frozenset[str] = frozenset()
        """Executor keys that pollers serve: their tasks are never dispatched from here."""
        self.ledger = Ledger(store, max_commit=settings.max_commit, wake=self._topics)
        self.parking = Parking()
        self.shadows = Shadows()
        self.pools = {
            stage: StagePool(stage, process, size=settings.pool_size, batch_size=settings.batch_size)
            for stage, process in {
                Stage.TASK_REQUEST_PROCESSOR: self._process_requests,
                Stage.TASK_CLAIMER: self._process_claims,
                Stage.STEP_ENQUEUER: self._process_turns,
                Stage.STEP_RESULT_PROCESSOR: self._process_turns,
                Stage.TASK_FINALIZER: self._process_finals,
            }.items()
        }
        self.late_results = 0
        self.stopping = False
        self._graphs: dict[str, Graph] = {}
        self._stored_versions: set[str] = set()
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="turnout-store")
        self._claim_wanted = False
        self._more_to_claim = False
        """Runs were left for claimers, as far as this orchestrator knows."""
        self._loop: asyncio.AbstractEventLoop
        self.keeper: LeaseKeeper

    # -- life ---------------------------------------------------------------------------------------------------
    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self.in_thread(self._new_session)
        if self.dispatcher is not None:
            await self.dispatcher.open()
            self.dispatcher.start(self.on_results, self.on_capacity)
        for pool in self.pools.values():
            await pool.start()

    def _new_session(self) -> None:
        settings = self.settings
        self.keeper = LeaseKeeper(
            self.store,
            this_session(tuple(self.registry.workflows)),
            heartbeat=settings.heartbeat,
            lease=settings.lease,
            self_fence=settings.self_fence,
            lost=lambda: self._loop.call_soon_threadsafe(self._session_lost),
        )
        self.keeper.start()

    @property
    def session_id(self) -> str:
        return self.keeper.session.id

    async def stop(self, timeout: float) -> None:
        """Hand over: nothing new starts, running bodies get the grace, what is left goes to other orchestrators."""
        self.stopping = True
        deadline = time.monotonic() + timeout
        if self.dispatcher is not None:
            await self.dispatcher.stop(timeout)
        while any(run.busy or run.queued for run in self.runs.values()) and time.monotonic() < deadline:
            await asyncio.sleep(0.005)
        for pool in self.pools.values():
            await pool.stop(max(0.1, deadline - time.monotonic()))
        self.keeper.stop()
        self.ledger.close()
        try:
            await asyncio.wait_for(self.in_thread(self.store.end_session, self.session_id), 5.0)
        except (StoreUnreachable, TimeoutError) as error:
            log.warning("could not hand over, the lease will run out instead: %s", error)
        self._threads.shutdown(wait=False)

    def in_thread(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> asyncio.Future[T]:
        """Run a store call without holding up the loop."""
        return self._loop.run_in_executor(self._threads, partial(function, *args, **kwargs))

    def _session_lost(self) -> None:
        """Others have declared this orchestrator dead and may own its runs: forget everything and come back as new."""
        log.error("session %s was declared dead: its runs are dropped here", self.session_id)
        for owned in list(self.runs.values()):
            self.drop(owned)
        if self.dispatcher is not None:
            for event in list(self.dispatcher.in_flight().values()):
                self.dispatcher.cancel(event)
        if not self.stopping:
            self.in_thread(self._new_session).add_done_callback(lambda _: self.want_claim())

    # -- what comes in ------------------------------------------------------------------------------------------
    def submit(self, requests: Iterable[Request]) -> None:
        queue = self.pools[Stage.TASK_REQUEST_PROCESSOR].queue
        for request in requests:
            queue.put(request)

    def on_results(self, results: Sequence[ExecutionResult]) -> None:
        for result in results:
            owned = self.runs.get(result.run_id)
            pos = split_task_id(result.task_id)[1]
            if result.shadow or self.shadows.expected:
                self.shadows.compare(result)
            if owned is None or result.shadow:
                self.late_results += owned is None
                continue
            owned.results.append((pos, result, None))
            self.enqueue(owned, Stage.STEP_RESULT_PROCESSOR)

    def on_capacity(self, key: str) -> None:
        for owned in self.parking.next(key, UNPARK):
            self.enqueue(owned, Stage.STEP_ENQUEUER)

    def order(self, owned: OwnedRun, order: Order) -> None:
        owned.orders.append(order)
        self.enqueue(owned, Stage.STEP_RESULT_PROCESSOR)

    def want_claim(self) -> None:
        """Look for runs to take, soon and once."""
        if not self._claim_wanted and not self.stopping:
            self._claim_wanted = True
            self.pools[Stage.TASK_CLAIMER].queue.put(None)

    def enqueue(self, owned: OwnedRun, stage: Stage) -> None:
        if not (owned.queued or owned.busy or owned.dropped):
            owned.queued = True
            self.pools[stage].queue.put(owned)

    # -- requests -----------------------------------------------------------------------------------------------
    async def _process_requests(self, requests: list[Request]) -> None:
        try:
            if self.ledger.outage is not None:
                raise self.ledger.outage
            for graph in {request.graph.version: request.graph for request in requests}.values():
                await self._keep_version(graph)
        except StoreError as error:
            for request in requests:
                request.accepted.set_exception(error)
            return
        moves = [self._admit(request) for request in requests]
        await self._write(moves)

    async def _keep_version(self, graph: Graph) -> None:
        if graph.version not in self._stored_versions:
            text = msgspec.json.encode(graph.spec).decode()
            await self.in_thread(self.store.put_workflow, graph.version, graph.spec.full_name, text)
            self._stored_versions.add(graph.version)
            self._graphs[graph.version] = graph

    def _admit(self, request: Request) -> _Move:
        """Owned from the start with its roots running, if there is room: one commit. Else stored for any claimer."""
        machine = RunMachine.fresh(request.graph, request.new, self.settings.limits, request.reuse)
        owned = OwnedRun(machine)
        turn = Turn(machine, time.time(), random.random)
        events: list[tuple[str, TaskReadyEvent]] = []
        mine = len(self.runs) < self.settings.max_owned_runs and not self.stopping and not self.keeper.fenced
        if mine:
            turn.begin()
            self._place(owned, turn, events)
            turn.finish()
        owned.busy = True
        write = turn.insert(self.session_id if mine else None)
        if mine:
            self.runs[request.new.run_id] = owned
        return _Move(owned, turn, write, events, [], [], request=request)

    # -- claims -------------------------------------------------------------------------------------------------
    async def _process_claims(self, wishes: list[None]) -> None:
        self._claim_wanted = False
        self._more_to_claim = True
        limit = min(self.settings.max_owned_runs - len(self.runs), self.settings.claim_batch)
        names = list(self.registry.workflows)
        if limit <= 0 or not names or self.keeper.fenced or self.stopping:
            return
        claimed = await self.in_thread(
            self.store.claim_runs, self.session_id, names, limit, self.settings.limits.inline_output
        )
        await self.take_over(claimed)
        self._more_to_claim = len(claimed) == limit
        if self._more_to_claim and len(self.runs) < self.settings.max_owned_runs:
            self.want_claim()

    async def take_over(self, claimed: Sequence[LoadedRun]) -> list[OwnedRun]:
        """Become the driver of runs that the store has just given to this session."""
        if not claimed:
            return []
        held = {row.holder for run in claimed for row in run.tasks if row.state is TaskState.RUNNING and row.holder}
        alive = await self.in_thread(self.store.holders_alive, sorted(held - {self.session_id})) if held else frozenset()
        complete = [await self._with_rule_outputs(loaded) if loaded.large else loaded for loaded in claimed]
        in_flight = self.dispatcher.in_flight() if self.dispatcher is not None else {}
        return [self._adopt(loaded, alive, in_flight) for loaded in complete]

    async def _with_rule_outputs(self, loaded: LoadedRun) -> LoadedRun:
        wanted = sorted(loaded.large & self.graph_of(loaded.run.new.version, loaded.spec).rule_context)
        if not wanted:
            return loaded
        outputs = await self.in_thread(self.store.outputs, loaded.run.new.run_id, wanted)
        tasks = [msgspec.structs.replace(row, output=outputs.get(row.pos, row.output)) for row in loaded.tasks]
        return msgspec.structs.replace(loaded, tasks=tasks)

    def graph_of(self, version: str, spec: str) -> Graph:
        graph = self._graphs.get(version)
        if graph is None:
            graph = self._graphs[version] = Graph(msgspec.json.decode(spec, type=WorkflowSpec), version)
        return graph

    def _adopt(
        self, loaded: LoadedRun, alive: frozenset[str], in_flight: Mapping[tuple[str, int], TaskReadyEvent]
    ) -> OwnedRun:
        run = loaded.run
        graph = self.graph_of(run.new.version, loaded.spec)
        machine = RunMachine(
            graph, run.new, run.row, loaded.tasks, epoch=run.epoch, seq=run.seq, limits=self.settings.limits
        )
        before = self.runs.get(run.new.run_id)
        owned = OwnedRun(machine)
        owned.fresh = True
        if before is not None:
            owned.results, owned.orders = before.results, before.orders
            before.dropped = True
        self.runs[run.new.run_id] = owned
        reported = {(pos, result.attempt) for pos, result, _ in owned.results}
        for row in loaded.tasks:
            if row.state is TaskState.RUNNING:
                event = machine.event(row.pos, row)
                mine = row.holder == self.session_id
                if mine and (event.task_id, row.attempt) not in in_flight and (row.pos, row.attempt) not in reported:
                    owned.results.append((row.pos, ExecutionResult.lost(event, "never reached its executor"), None))
                elif not mine and row.holder not in alive:
                    owned.results.append((row.pos, ExecutionResult.lost(event, f"its holder {row.holder} died"), None))
            elif row.state is TaskState.READY and row.retry_in:
                self._loop.call_later(row.retry_in, self._due, owned, row.pos)
        self._watch_deadline(owned, run.age)
        self.enqueue(owned, Stage.STEP_ENQUEUER)
        return owned

    async def reload(self, owned: OwnedRun) -> None:
        """Memory and database disagree about this run: read it anew under a new epoch, or let it go."""
        try:
            loaded = await self.in_thread(
                self.store.claim_run, self.session_id, owned.run_id, self.settings.limits.inline_output
            )
        except StoreUnreachable:
            self._loop.call_later(0.5, lambda: self._loop.create_task(self.reload(owned)))
            return
        if loaded is None:
            log.info("run %s belongs to another orchestrator now", owned.run_id)
            self.drop(owned)
        else:
            await self.take_over([loaded])

    def drop(self, owned: OwnedRun) -> None:
        owned.dropped = True
        if self.runs.get(owned.run_id) is owned:
            del self.runs[owned.run_id]
        if owned.timer is not None:
            owned.timer.cancel()
        for order in owned.orders:
            if order.done is not None and not order.done.done():
                order.done.set_exception(StoreUnreachable("the run changed hands; ask again"))

    # -- turns --------------------------------------------------------------------------------------------------
    async def _process_turns(self, batch: list[OwnedRun]) -> None:
        moves: list[_Move] = []
        for owned in batch:
            owned.queued = False
            if not (owned.busy or owned.dropped):
                move = self._turn(owned)
                if move is not None:
                    owned.busy = True
                    moves.append(move)
        if moves:
            await self._write(moves)

    def _turn(self, owned: OwnedRun) -> _Move | None:
        turn = Turn(owned.machine, time.time(), random.random)
        results, owned.results = owned.results, []
        orders, owned.orders = owned.orders, []
        answered: list[int] = []
        for pos, result, row in results:
            turn.result(result, pos)
            if row is not None:
                answered.append(row)
        if owned.fresh:
            turn.begin()
            owned.fresh = False
        to_cancel = self._obey(turn, orders)
        events: list[tuple[str, TaskReadyEvent]] = []
        self._place(owned, turn, events)
        turn.finish()
        commands = [order.row for order in orders if order.row is not None]
        if turn.empty and not answered and not commands:
            for order in orders:
                _done(order)
            return None
        write = turn.write()
        write.inbox_done, write.commands_done = answered, commands
        return _Move(owned, turn, write, events, orders, to_cancel, results)

    def _obey(self, turn: Turn, orders: Sequence[Order]) -> list[int]:
        running: list[int] = []
        for order in orders:
            match order.kind:
                case "cancel":
                    running += turn.cancel(order.reason or "cancelled")
                case "pause":
                    turn.pause()
                case "resume":
                    turn.resume()
                case _:
                    log.error("unknown command %r", order.kind)
        mine: list[int] = []
        for pos in running:
            if turn.task(pos).holder == self.session_id:
                mine.append(pos)
            else:
                turn.stop_running(pos, "cancelled")
        return mine

    def _place(self, owned: OwnedRun, turn: Turn, events: list[tuple[str, TaskReadyEvent]]) -> None:
        """Give ready tasks to executors that have room: reserve first, commit, and only then dispatch."""
        machine, dispatcher = owned.machine, self.dispatcher
        if dispatcher is None or self.polled:
            self._offer(machine, turn)
        if dispatcher is None or self.stopping or self.keeper.fenced:
            return
        now = time.monotonic()
        full: set[str] = set()
        for pos in turn.ready():
            decision = self._decide(machine, turn.task(pos), pos)
            key = decision.executor_key
            if key in full:
                continue
            if self.parking.must_queue(owned, key, now) or not dispatcher.reserve(key):
                full.add(key)
                self.parking.park(owned, key, now)
                if not dispatcher.has_capacity():
                    # Not every ready task was looked at, so any executor's room may be of use to this run.
                    for other in dispatcher.executors:
                        self.parking.park(owned, other, now)
                    break
                continue
            events.append((key, turn.place(pos, decision, self.session_id)))
            owned.waiting_since = None
        if full:
            for pos in turn.made_ready():
                row = turn.task(pos)
                if row.retry_in is None and row.poll_key is None:
                    turn.explain(pos, "no_capacity")

    def _offer(self, machine: RunMachine, turn: Turn) -> None:
        for pos in turn.made_ready():
            decision = POLLING if self.dispatcher is None else self._decide(machine, turn.task(pos), pos)
            if self.dispatcher is None or decision.executor_key in self.polled:
                turn.offer(pos, decision)

    def _decide(self, machine: RunMachine, row: TaskRow, pos: int) -> DispatchDecision:
        """Later attempts reuse the stored decision."""
        if row.executor is not None:
            return DispatchDecision(row.executor, row.decision or "", row.labels)
        assert self.dispatcher is not None
        graph = machine.graph
        return self.dispatcher.decide(graph.tasks[pos], graph.spec, machine.new.run_id)

    # -- after the commit ---------------------------------------------------------------------------------------
    async def _write(self, moves: list[_Move]) -> None:
        written = self.ledger.write([move.write for move in moves])
        # Effects hang on the ledger's answer, not on the stage executor that asked: it may be replaced meanwhile.
        written.add_done_callback(partial(self._settle, moves))
        await asyncio.wait({written})

    def _settle(self, moves: list[_Move], written: asyncio.Future[list[WriteOutcome]]) -> None:
        if written.cancelled() or written.exception() is not None:
            error = None if written.cancelled() else written.exception()
            for move in moves:
                self._fail(move, error or StoreUnreachable("the ledger is closed"))
            return
        dispatches: dict[str, list[TaskReadyEvent]] = {}
        for move, outcome in zip(moves, written.result(), strict=True):
            move.owned.busy = False
            if outcome.applied:
                self._applied(move, dispatches)
            else:
                self._refused(move, outcome)
        if self.dispatcher is not None:
            for key, events in dispatches.items():
                self.dispatcher.dispatch(key, events)

    def _applied(self, move: _Move, dispatches: dict[str, list[TaskReadyEvent]]) -> None:
        owned, turn = move.owned, move.turn
        machine = owned.machine
        machine.adopt(turn)
        if move.request is not None:
            self._accepted(move.request, owned, owned=move.write.owner is not None or machine.row.state.terminal)
        for key, event in move.events:
            dispatches.setdefault(key, []).append(event)
            self._shadow(machine, event, dispatches)
        for pos, row in turn.rows.items():
            if row.retry_in and row.poll_key is None:
                self._loop.call_later(row.retry_in, self._due, owned, pos)
        for pos in move.to_cancel:
            self._cancel_attempt(owned, pos)
        for order in move.orders:
            _done(order)
        if machine.row.state.terminal:
            owned.dropped = True
            self.pools[Stage.TASK_FINALIZER].queue.put(owned)
        elif owned.has_news:
            self.enqueue(owned, Stage.STEP_RESULT_PROCESSOR)
        elif machine.ready and not owned.parked:
            self.enqueue(owned, Stage.STEP_ENQUEUER)

    def _accepted(self, request: Request, run: OwnedRun, *, owned: bool) -> None:
        self.watched.setdefault(request.new.run_id, []).append(request.final)
        request.accepted.set_result(request.new.run_id)
        if owned:
            self._watch_deadline(run, 0.0)
        else:
            self.want_claim()

    def _refused(self, move: _Move, outcome: WriteOutcome) -> None:
        owned = move.owned
        for key, _ in move.events:
            if self.dispatcher is not None:
                self.dispatcher.release(key)
        if move.request is not None:
            self.drop(owned)
            self._not_accepted(move.request, outcome)
            return
        owned.orders[:0] = move.orders
        owned.results[:0] = move.results
        if outcome.rejected is not None and move.turn.run_row.reason != "store_rejected":
            turn = Turn(owned.machine, time.time())
            turn.reject(ErrorInfo("StoreRejected", outcome.rejected))
            owned.busy = True
            write = turn.write()
            write.inbox_done = move.write.inbox_done
            self._loop.create_task(self._write([_Move(owned, turn, write, [], [], [])]))
        else:
            if outcome.rejected is None:
                log.info("run %s: the database disagrees on %s; reading it anew", owned.run_id, outcome.stale)
            owned.busy = True
            self._loop.create_task(self.reload(owned))

    def _not_accepted(self, request: Request, outcome: WriteOutcome) -> None:
        if outcome.rejected is not None:
            request.accepted.set_exception(StoreRejected(f"the database refused the run: {outcome.rejected}"))
        elif outcome.existing is not None and outcome.existing_digest == request.new.input_digest:
            self.watch(outcome.existing, request.final)
            request.accepted.set_result(outcome.existing)
        else:
            request.accepted.set_exception(
                IdempotencyConflict(
                    f"idempotency key {request.new.key!r} belongs to run {outcome.existing}, which has another input",
                    run_id=outcome.existing,
                    key=request.new.key,
                )
            )

    def _fail(self, move: _Move, error: BaseException) -> None:
        move.owned.busy = False
        for key, _ in move.events:
            if self.dispatcher is not None:
                self.dispatcher.release(key)
        if move.request is not None and not move.request.accepted.done():
            move.request.accepted.set_exception(error)
        self.drop(move.owned)

    def _shadow(self, machine: RunMachine, event: TaskReadyEvent, dispatches: dict[str, list[TaskReadyEvent]]) -> None:
        dispatcher = self.dispatcher
        assert dispatcher is not None
        pos = split_task_id(event.task_id)[1]
        for key in dispatcher.shadows(machine.graph.tasks[pos], machine.graph.spec, event.run_id):
            # A shadow never delays the run: without room for it, there is none.
            if dispatcher.reserve(key):
                self.shadows.expect(event)
                dispatches.setdefault(key, []).append(machine.event(pos, shadow=True))

    def _cancel_attempt(self, owned: OwnedRun, pos: int) -> None:
        event = owned.machine.event(pos)
        if self.dispatcher is not None:
            self.dispatcher.cancel(event)
        self._loop.call_later(self.settings.cancel_grace, self._give_up_on, owned, event)

    def _give_up_on(self, owned: OwnedRun, event: TaskReadyEvent) -> None:
        if not owned.dropped:
            owned.results.append((split_task_id(event.task_id)[1], ExecutionResult.cancelled(event), None))
            self.enqueue(owned, Stage.STEP_RESULT_PROCESSOR)

    def _due(self, owned: OwnedRun, pos: int) -> None:
        if not owned.dropped:
            owned.machine.due(pos)
            self.enqueue(owned, Stage.STEP_ENQUEUER)

    def _watch_deadline(self, owned: OwnedRun, age: float) -> None:
        timeout = owned.machine.new.timeout
        if timeout is not None and not owned.machine.row.state.terminal:
            order = Order("cancel", "run_timed_out")
            owned.timer = self._loop.call_later(max(0.0, timeout - age), self.order, owned, order)

    # -- the end ------------------------------------------------------------------------------------------------
    async def _process_finals(self, batch: list[OwnedRun]) -> None:
        for owned in batch:
            machine = owned.machine
            self.runs.pop(owned.run_id, None)
            if owned.timer is not None:
                owned.timer.cancel()
            for order in owned.orders:
                _done(order)
            waiting = self.watched.pop(owned.run_id, [])
            stored = StoredRun(new=machine.new, row=machine.row, owner=None, epoch=machine.epoch, seq=machine.seq)
            for future in waiting:
                if not future.done():
                    future.set_result(Final(stored, machine))
        if self._more_to_claim and len(self.runs) <= self.settings.max_owned_runs // 2:
            self.want_claim()

    def watch(self, run_id: str, future: Future[Final]) -> None:
        """Resolve the future when the run ends, whoever owns it."""
        self.watched.setdefault(run_id, []).append(future)
        if run_id not in self.runs:
            self._loop.create_task(self.check_watched([run_id]))

    async def check_watched(self, run_ids: Sequence[str] | None = None) -> None:
        """Look up the runs that are waited for here and driven elsewhere."""
        wanted = [run for run in (run_ids or list(self.watched)) if run not in self.runs]
        if not wanted:
            return
        for stored in await self.in_thread(self.store.runs_by_id, wanted):
            if stored.row.state.terminal:
                for future in self.watched.pop(stored.new.run_id, []):
                    if not future.done():
                        future.set_result(Final(stored, None))

    def _topics(self, writes: Sequence[RunWrite]) -> frozenset[str]:
        """Whom a commit concerns outside of this process; nobody if nobody else is there."""
        if not self.keeper.peers:
            return frozenset()
        topics: set[str] = set()
        for write in writes:
            if write.insert is not None and write.owner is None:
                topics.add("runs")
            if write.run is not None and write.run.state.terminal:
                topics.add("finished")
            if any(row.poll_key for row in write.tasks):
                topics.add("ready")
        return frozenset(topics)


def _done(order: Order) -> None:
    if order.done is not None and not order.done.done():
        order.done.set_result(None)
