"""The runs that this orchestrator owns, and what has come in for each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from turnout.authoring.registry import Registry
from turnout.contracts.dispatcher import Delivery
from turnout.errors import StoreUnreachable
from turnout.model.events import ExecutionResult
from turnout.orchestration.active_run import ActiveRun, PendingResult, RunCommand
from turnout.orchestration.stages.stage import Stage, WorkQueue


class ActiveRuns(Mapping[str, ActiveRun]):
    """Owned runs by id. A run that has something to do is put into the queue of a stage, once at a time."""

    def __init__(self, registry: Registry, delivery: Delivery, queues: Mapping[Stage, WorkQueue]) -> None:
        self._registry = registry
        self._delivery = delivery
        self._to_start = queues[Stage.START]
        self._with_news = queues[Stage.RESULT]
        self._finished = queues[Stage.FINISH]
        self._runs: dict[str, ActiveRun] = {}
        self.get = self._runs.get
        """As that of any mapping, without a detour: every result asks for its run."""

    def __getitem__(self, run_id: str) -> ActiveRun:
        return self._runs[run_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    def __contains__(self, run_id: object) -> bool:
        return run_id in self._runs

    def add(self, owned: ActiveRun) -> None:
        """Drives this run from now on, in place of an earlier state of it."""
        self._runs[owned.run_id] = owned

    def enqueue(self, owned: ActiveRun) -> None:
        """Puts a run into the queue of the stage that takes its next turn: one queue for runs with results or orders,
        one for runs with tasks to start. A run in a queue or in the ledger is looked at again when that is settled."""
        if not (owned.queued or owned.busy or owned.dropped):
            owned.queued = True
            (self._with_news if owned.results or owned.commands else self._to_start).put(owned)

    def deliver(
        self,
        owned: ActiveRun,
        pos: int,
        result: ExecutionResult,
        *,
        inbox: int | None = None,
        holder: str | None = None,
    ) -> None:
        """Gives a run the result of one of its attempts."""
        owned.results.append(PendingResult(pos, result, inbox, holder))
        self.enqueue(owned)

    def command(self, owned: ActiveRun, order: RunCommand) -> None:
        """Gives a run an order to pause, resume or cancel."""
        owned.commands.append(order)
        self.enqueue(owned)

    def finish(self, owned: ActiveRun) -> None:
        """Puts a run that has ended into the queue of the last stage."""
        owned.dropped = True
        self._finished.put(owned)

    def release(self, owned: ActiveRun) -> None:
        """Stops driving a run: it has ended, or has another owner."""
        owned.dropped = True
        if self._runs.get(owned.run_id) is owned:
            del self._runs[owned.run_id]
        ended = owned.machine.row.state.terminal
        if ended:
            self._registry.forget(owned.run_id)
        if owned.timer is not None:
            owned.timer.cancel()
        if owned.results and self._delivery.acknowledges:
            self._delivery.reassign([answer.result for answer in owned.results])
        for order in owned.commands:
            if ended:
                order.acknowledge()
            else:
                order.fail(StoreUnreachable("the run changed hands; ask again"))

    def discard(self, run_id: str) -> None:
        """Forgets a run that was never stored."""
        self._runs.pop(run_id, None)
