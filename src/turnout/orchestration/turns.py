"""What is the next change of a run? Stages ``step_enqueuer`` and ``step_result_processor``.

They differ in what brings a run to them. What they do is one thing, a turn: results and orders in, ready tasks placed,
the end noticed, one write.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from turnout.errors import TurnoutError
from turnout.model.breaker import BreakerState
from turnout.model.children import CHILD, is_child
from turnout.model.conditions import vetted
from turnout.model.events import DispatchDecision, ExecutionResult, TaskReadyEvent
from turnout.model.graph import Graph
from turnout.model.machine import RunMachine
from turnout.model.reasons import BREAKER_OPEN, LIMIT, NO_CAPACITY, TO_BE_ALONE, TURN_FAILED
from turnout.model.rows import TaskRow
from turnout.model.states import RunState, TaskState
from turnout.model.turn import Turn
from turnout.model.verdict import suspect
from turnout.orchestration.failures import error_of, given_up
from turnout.orchestration.ledger import LARGEST
from turnout.orchestration.moves import Move
from turnout.orchestration.owned import Answer, Order, OwnedRun, portion
from turnout.orchestration.parking import key_of, line_of, rest_of
from turnout.orchestration.stages import Stage
from turnout.orchestration.suspects import Suspects

if TYPE_CHECKING:
    from turnout.orchestration.engine import Engine

log = logging.getLogger("turnout.turns")

RETRY_TURN = 1.0
CLOSED = BreakerState.CLOSED.value
POLLING = DispatchDecision("polling", "polling mode: there is no dispatcher")


class Turns:
    """Takes turns for runs that have news."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.suspects = Suspects(engine)

    async def process(self, batch: list[OwnedRun]) -> None:
        moves: list[Move] = []
        for owned in self._engine.ledger.giving_way(batch):
            owned.queued = False
            if not (owned.busy or owned.dropped):
                move = self._guarded(owned)
                if move is not None:
                    owned.busy = True
                    moves.append(move)
        if moves:
            await self._engine.settlement.write(moves)

    def _guarded(self, owned: OwnedRun) -> Move | None:
        """One run's trouble is its own: nothing of it is lost, and the others of the batch go on."""
        events: list[tuple[str, TaskReadyEvent]] = []
        try:
            return self._turn(owned, events)
        except Exception as error:
            for key, event in events:
                if self._engine.dispatcher is not None:
                    self._engine.dispatcher.release(key, event.holder)
            if owned.fails_again(error):
                return self._without(owned, error)
            log.exception("run %s: its turn failed and will be taken again", owned.run_id)
            self._engine.later(RETRY_TURN, lambda: self._engine.enqueue(owned, Stage.STEP_RESULT_PROCESSOR))
            return None

    def _without(self, owned: OwnedRun, error: Exception) -> Move | None:
        """A turn that failed twice in the same way is not taken a third time: orders that wait are refused, and without
        any the run fails."""
        engine, said = self._engine, error_of(error)
        if not owned.orders:
            log.error("run %s fails, since its turn failed twice: %s", owned.run_id, said.message)
            return given_up(owned, said)
        log.error("run %s refuses %d orders: its turn failed twice: %s", owned.run_id, len(owned.orders), said.message)
        orders, owned.orders = owned.orders, []
        for order in orders:
            order.failed(TurnoutError(f"run {owned.run_id} cannot do this: {said.message}", code=TURN_FAILED))
        rows = [order.row for order in orders if order.row is not None]
        engine.spawn(engine.commands.refuse(rows, said.message))
        engine.later(0.0, lambda: engine.enqueue(owned, Stage.STEP_RESULT_PROCESSOR))
        return None

    def _turn(self, owned: OwnedRun, events: list[tuple[str, TaskReadyEvent]]) -> Move | None:
        turn = Turn(owned.machine, time.time(), random.random)
        results, orders = portion(owned.results, LARGEST), owned.orders
        held: Sequence[Order] = ()
        if orders:
            orders, held = self._engine.withdrawal.prepared(owned)
        for answer in results:
            if answer.holder is not None:
                result = answer.result
                owned.machine.observe_claim(answer.pos, result.attempt, answer.holder, result.started_at)
            turn.result(self._vetted(owned, answer), answer.pos)
        to_cancel = self._take_up(turn) if owned.fresh else []
        if orders:
            to_cancel += self._obey(turn, orders)
        if not held:
            self.place(owned, turn, events)
        turn.finish()
        owned.results, owned.fresh = owned.results[len(results) :], False
        if orders:
            owned.orders = [*held]
        inbox = [answer.inbox for answer in results if answer.inbox is not None]
        commands = [order.row for order in orders if order.row is not None]
        if turn.empty and not inbox and not commands:
            for order in orders:
                order.carried_out()
            self._engine.settlement.settled(results)
            if owned.results:
                self._engine.enqueue(owned, Stage.STEP_RESULT_PROCESSOR)
            return None
        write = turn.write()
        if inbox or commands:
            write.inbox_done, write.commands_done = inbox, commands
        # The run keeps its list of orders if it was empty, so the move must not hold it.
        return Move(owned, turn, write, events, orders or (), to_cancel or (), results)

    def _vetted(self, owned: OwnedRun, answer: Answer) -> ExecutionResult:
        """The result as it may count, wherever it comes from: executors, workers, or pollers by way of the inbox."""
        result, machine = answer.result, owned.machine
        if owned.shaken:
            result = self.suspects.taken(owned, answer)
        if result.deferral is None or result.deferral.condition is None:
            return result
        task = machine.spec_of(answer.pos)
        declared = self._engine.registry.conditions_of(machine.new, task)
        counts = vetted(result, task.full_name, declared)
        if counts is not result and counts.error is not None:
            holder = machine.tasks[answer.pos].holder
            log.warning("run %s: the answer of %s is refused: %s", owned.run_id, holder, counts.error.message)
        return counts

    def _take_up(self, turn: Turn) -> list[int]:
        """Go on where an earlier owner, or an earlier epoch, left off; returns the attempts to be stopped here."""
        if turn.run_row.state is RunState.CANCELLING:
            return self._stop_elsewhere(turn, turn.go_on_cancelling())
        turn.begin()
        return []

    def _obey(self, turn: Turn, orders: Sequence[Order]) -> list[int]:
        """Carry out orders; returns the attempts whose executors here must be asked to stop."""
        running: list[int] = []
        for order in orders:
            match order.kind:
                case "cancel":
                    running += self._cancel(turn, order)
                case "pause":
                    turn.pause(order.reason or "paused")
                case "resume":
                    turn.resume()
                case _:
                    log.error("unknown command %r", order.kind)
        return self._stop_elsewhere(turn, running)

    @staticmethod
    def _cancel(turn: Turn, order: Order) -> list[int]:
        cancelling = turn.run_row.state is RunState.CANCELLING
        if order.ends_hooks is None:
            order.ends_hooks = cancelling
        # An order that is tried again after its commit failed in part is not a second order.
        return [] if cancelling and not order.ends_hooks else turn.cancel(order.reason or "cancelled")

    def _stop_elsewhere(self, turn: Turn, running: Sequence[int]) -> list[int]:
        """Attempts that others hold end here and now, and their holders find out; returns those of this process."""
        mine: list[int] = []
        dispatcher = self._engine.dispatcher
        # An executor here may have it although somebody else holds it.
        flying = dispatcher.in_flight() if dispatcher is not None and dispatcher.assigners and running else {}
        for pos in running:
            # A child run is not given up: its parent ends when it has.
            row = turn.task(pos)
            flies = (turn.machine.event(pos, row).task_id, row.attempt) in flying
            if flies or row.holder in (self._engine.session_id, CHILD):
                mine.append(pos)
            else:
                turn.stop_running(pos, turn.run_row.reason or "cancelled")
        return mine

    def place(self, owned: OwnedRun, turn: Turn, events: list[tuple[str, TaskReadyEvent]]) -> None:
        """Give ready tasks to executors that have room: reserve first, commit, and only then dispatch."""
        engine, dispatcher = self._engine, self._engine.dispatcher
        if owned.machine.graph.children:
            engine.children.place(owned, turn)
        if dispatcher is None or engine.polled:
            self._offer(owned.machine, turn)
        if dispatcher is None or not engine.may_start:
            return
        now = time.monotonic()
        assigners, full = dispatcher.assigners, set[str]()
        ready = _in_order(owned.machine.graph, turn)
        if owned.shaken:
            ready = self.suspects.place(owned, turn, events, ready)
        tasks = owned.machine.graph.tasks
        for pos in ready:
            row = turn.task(pos)
            decision = self._decide(owned.machine, row, pos)
            key = line = decision.executor_key
            if assigners and key in assigners:
                line = self.line(owned.machine, row, decision)
            if line in full:
                continue
            body = tasks[pos if row.group is None else row.group].body.ref
            holder = None if engine.parking.must_queue(owned, line, now) else self.reserve(key, line, body)
            if holder is None:
                full.add(line)
                engine.parking.park(owned, line, now)
                if not dispatcher.has_capacity():
                    # Not every ready task was looked at, so any executor's room may be of use to this run.
                    for other in dispatcher.used:
                        engine.parking.park(owned, other, now)
                    break
                continue
            worker = None if key is line else assigners[key].name_of(holder)
            events.append((key, turn.place(pos, decision, holder, worker)))
            if owned.waiting:
                owned.waiting.pop(line, None)
        if full:
            self._explain(owned, turn, full)

    def reserve(self, key: str, line: str, body: str) -> str | None:
        """Set a place aside there for this body; returns who will hold the attempt, None if there is no room."""
        dispatcher = self._engine.dispatcher
        assert dispatcher is not None
        if key is line:
            return self._engine.session_id if dispatcher.reserve(key, body=body) else None
        assigner = dispatcher.assigners[key]
        holder = assigner.assign(rest_of(line))
        if holder is not None and not dispatcher.reserve(key, body=body):
            assigner.unassign(holder)
            return None
        return holder

    def line(self, machine: RunMachine, row: TaskRow, decision: DispatchDecision) -> str:
        """The line in which this task waits: its executor's, or one of several where that chooses among holders."""
        dispatcher, key = self._engine.dispatcher, decision.executor_key
        assert dispatcher is not None
        assigner = dispatcher.assigners.get(key)
        if assigner is None:
            return key
        task = machine.graph.tasks[row.pos if row.group is None else row.group]
        return line_of(key, assigner.line(task, decision.labels, suspect(row)))

    def _explain(self, owned: OwnedRun, turn: Turn, full: Iterable[str]) -> None:
        """Say of the tasks that found no place why they wait."""
        reasons = {line: self._reason(line) for line in full}
        changed = any(owned.reasons.get(line, NO_CAPACITY) != reason for line, reason in reasons.items())
        fresh = turn.made_ready()
        if not changed and all(reason == NO_CAPACITY for reason in reasons.values()):
            for pos in fresh:
                if _waits_for_room(turn.task(pos)):
                    turn.explain(pos, NO_CAPACITY)
            return
        owned.reasons = {**owned.reasons, **reasons}
        machine = owned.machine
        for pos in {**machine.ready, **dict.fromkeys(fresh)} if changed else fresh:
            row = turn.task(pos)
            if row.state is TaskState.READY and _waits_for_room(row) and not is_child(machine.graph, row):
                line = self.line(machine, row, self._decide(machine, row, pos))
                reason = reasons.get(line, NO_CAPACITY)
                if pos in turn.rows or (row.reason or NO_CAPACITY) != reason:
                    turn.explain_anew(pos, reason)

    def _reason(self, line: str) -> str:
        """Why those wait who stand in this line."""
        dispatcher, key = self._engine.dispatcher, key_of(line)
        assert dispatcher is not None
        if dispatcher.breaker(key) != CLOSED:
            return BREAKER_OPEN
        return NO_CAPACITY if key is line else dispatcher.assigners[key].why_not(rest_of(line))

    def _offer(self, machine: RunMachine, turn: Turn) -> None:
        """Leave to pollers what is theirs."""
        dispatcher = self._engine.dispatcher
        for pos in turn.offerable():
            row = turn.task(pos)
            if row.state is not TaskState.READY or is_child(machine.graph, row):
                continue
            decision = POLLING if dispatcher is None else self._decide(machine, row, pos)
            if dispatcher is None or decision.executor_key in self._engine.polled:
                turn.offer(pos, decision)

    def _decide(self, machine: RunMachine, row: TaskRow, pos: int) -> DispatchDecision:
        """Later attempts reuse the stored decision, but for suspects."""
        if row.losses and suspect(row):
            return self.suspects.decide(machine, row)
        if row.executor is not None:
            return DispatchDecision(row.executor, row.decision or "", row.labels)
        dispatcher = self._engine.dispatcher
        assert dispatcher is not None
        task = machine.graph.tasks[pos if row.group is None else row.group]
        return dispatcher.decide(task, machine.graph.spec, machine.new.run_id)


def _waits_for_room(row: TaskRow) -> bool:
    return row.retry_in is None and row.poll_key is None and row.reason not in (TO_BE_ALONE, LIMIT)


def _in_order(graph: Graph, turn: Turn) -> list[int]:
    """The tasks that executors may get, in the order in which they should. Child runs need none."""
    ready = turn.ready()
    if graph.children:
        ready = [pos for pos in ready if not is_child(graph, turn.task(pos))]
    return sorted(ready, key=lambda pos: -turn.task(pos).priority) if graph.prioritised else ready
