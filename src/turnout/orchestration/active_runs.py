"""The runs that this orchestrator owns, and what has come in for each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from turnout.authoring.registry import Registry
from turnout.contracts.dispatcher import Delivery
from turnout.errors import StoreUnreachable
from turnout.model.events import ExecutionResult
from turnout.orchestration.owned import Answer, Order, OwnedRun
from turnout.orchestration.stages import Stage, WorkQueue


class ActiveRuns(Mapping[str, OwnedRun]):
    """Owned runs by id. A run that has something to do is put into the queue of a stage, once at a time."""

    def __init__(self, registry: Registry, delivery: Delivery, queues: Mapping[Stage, WorkQueue]) -> None:
        self._registry = registry
        self._delivery = delivery
        self._to_start = queues[Stage.STEP_ENQUEUER]
        self._with_news = queues[Stage.STEP_RESULT_PROCESSOR]
        self._finished = queues[Stage.TASK_FINALIZER]
        self._runs: dict[str, OwnedRun] = {}
        self.get = self._runs.get
        """As that of any mapping, without a detour: every result asks for its run."""

    def __getitem__(self, run_id: str) -> OwnedRun:
        return self._runs[run_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    def __contains__(self, run_id: object) -> bool:
        return run_id in self._runs

    def add(self, owned: OwnedRun) -> None:
        """Drives this run from now on, in place of an earlier state of it."""
        self._runs[owned.run_id] = owned

    def enqueue(self, owned: OwnedRun) -> None:
        """Puts a run into the queue of the stage that takes its next turn: one queue for runs with results or orders,
        one for runs with tasks to start. A run in a queue or in the ledger is looked at again when that is settled."""
        if not (owned.queued or owned.busy or owned.dropped):
            owned.queued = True
            (self._with_news if owned.results or owned.orders else self._to_start).put(owned)

    def deliver(
        self, owned: OwnedRun, pos: int, result: ExecutionResult, *, inbox: int | None = None, holder: str | None = None
    ) -> None:
        """Gives a run the result of one of its attempts."""
        owned.results.append(Answer(pos, result, inbox, holder))
        self.enqueue(owned)

    def command(self, owned: OwnedRun, order: Order) -> None:
        """Gives a run an order to pause, resume or cancel."""
        owned.orders.append(order)
        self.enqueue(owned)

    def finish(self, owned: OwnedRun) -> None:
        """Puts a run that has ended into the queue of the last stage."""
        owned.dropped = True
        self._finished.put(owned)

    def release(self, owned: OwnedRun) -> None:
        """Stops driving a run: it has ended, or has another owner."""
        owned.dropped = True
        if self._runs.get(owned.run_id) is owned:
            del self._runs[owned.run_id]
        ended = owned.machine.row.state.terminal
        if ended:
            self._registry.forget(owned.run_id)
        if owned.timer is not None:
            owned.timer.cancel()
        if owned.results and self._delivery.settles:
            self._delivery.unclaimed([answer.result for answer in owned.results])
        for order in owned.orders:
            if ended:
                order.carried_out()
            else:
                order.failed(StoreUnreachable("the run changed hands; ask again"))

    def discard(self, run_id: str) -> None:
        """Forgets a run that was never stored."""
        self._runs.pop(run_id, None)
