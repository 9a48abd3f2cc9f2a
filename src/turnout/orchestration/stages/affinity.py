"""Keeps the steps of a run on one worker, where the workflow asks for it with ``affinity="run"``.

The worker is that of the newest attempt: each stores the label that only this worker has, so any later owner of the run
finds it. A worker that is not connected here is waited for until its session has ended.
"""

from __future__ import annotations

import logging

import msgspec

from turnout.contracts.dispatcher import Delivery
from turnout.contracts.store import OwnershipStore
from turnout.errors import StoreError
from turnout.model.events import DispatchDecision
from turnout.model.graph import Graph
from turnout.model.labels import WORKER_LABEL, pinned, unpinned
from turnout.model.rows import TaskRow
from turnout.model.spec import TaskSpec
from turnout.model.transition import Transition
from turnout.orchestration.active_runs import ActiveRun, ActiveRuns
from turnout.orchestration.background import Background

log = logging.getLogger("turnout.affinity")

ONE_WORKER = ", one worker for the run"
"""Part of the reason of every decision for the run's worker."""
SHORT_ID = 8
"""Characters of a worker's id in a reason."""
MAX_REMEMBERED_ENDS = 10_000


class RunAffinity:
    """Knows which workers of runs are gone for good, and resumes the runs that wait to know."""

    def __init__(self, store: OwnershipStore, delivery: Delivery, runs: ActiveRuns, background: Background) -> None:
        self._store = store
        self._delivery = delivery
        self._runs = runs
        self._background = background
        self._ended: dict[str, None] = {}
        """Workers whose sessions have ended."""
        self._awaited: dict[str, set[str]] = {}
        """Runs that wait for a worker which is not connected here, by the worker's id."""

    def of(self, owned: ActiveRun, transition: Transition) -> PinnedRun | None:
        """Returns the run with its worker, for one transition; None if its steps may go to any worker."""
        if owned.machine.graph.spec.affinity != "run":
            return None
        return PinnedRun(self, self._delivery, owned, transition)

    def is_gone(self, owned: ActiveRun, key: str, worker: str) -> bool:
        """True if the worker's session has ended, or it leaves. While that is not known the run waits for it."""
        assigner = self._delivery.assigners[key]
        if assigner.has_holder(worker):
            return assigner.is_leaving(worker)
        if worker in self._ended:
            return True
        is_new = worker not in self._awaited
        self._awaited.setdefault(worker, set()).add(owned.run_id)
        if is_new:
            self._background.spawn(self._look_up([worker]))
        return False

    async def sweep(self) -> None:
        """Looks up the workers that runs wait for."""
        if self._awaited:
            await self._look_up(list(self._awaited))

    async def _look_up(self, workers: list[str]) -> None:
        try:
            alive = await self._background.in_thread(self._store.holders_alive, workers)
        except StoreError as error:
            log.debug("workers that runs wait for are looked up by the next sweep: %s", error)
            return
        for worker in workers:
            if worker in alive and not self._is_connected(worker):
                continue
            if worker not in alive:
                if len(self._ended) >= MAX_REMEMBERED_ENDS:
                    self._ended.clear()
                self._ended[worker] = None
            for run_id in self._awaited.pop(worker, ()):
                if (owned := self._runs.get(run_id)) is not None:
                    self._runs.enqueue(owned)

    def _is_connected(self, worker: str) -> bool:
        return any(assigner.has_holder(worker) for assigner in self._delivery.assigners.values())


class PinnedRun:
    """A run whose steps stay on one worker, in one transition."""

    def __init__(self, affinity: RunAffinity, delivery: Delivery, owned: ActiveRun, transition: Transition) -> None:
        self._affinity = affinity
        self._delivery = delivery
        self._owned = owned
        self._graph = owned.machine.graph
        self._workers = _workers(self._graph, transition)

    def place(self, row: TaskRow, decision: DispatchDecision) -> DispatchDecision:
        """Returns the decision for the run's worker. Before it has one, and after it has lost it: for any worker that
        can run all of its steps."""
        key = decision.executor_key
        if key not in self._delivery.assigners or not stays(self._graph, self._graph.tasks[row.task_pos]):
            return decision
        reason, labels = f"{decision.reason.partition(ONE_WORKER)[0]}{ONE_WORKER}", unpinned(decision.labels)
        worker = next((each for each in self._workers if not self._affinity.is_gone(self._owned, key, each)), None)
        if worker is not None:
            return DispatchDecision(key, reason, pinned(labels, worker), decision.resources)
        if self._workers:
            reason = f"{reason}: worker {self._workers[0][:SHORT_ID]}, which it had, is lost or leaves"
        return DispatchDecision(key, reason, labels, decision.resources)

    def companions(self, row: TaskRow, decision: DispatchDecision) -> tuple[TaskSpec, ...]:
        """Returns the tasks that the worker of this one must be able to run too; none once the run has its worker."""
        if not stays(self._graph, self._graph.tasks[row.task_pos]) or WORKER_LABEL in (decision.labels or {}):
            return ()
        return tuple(each for each in self._graph.tasks if stays(self._graph, each) and each.body.kind != "workflow")

    def assigned(self, row: TaskRow, decision: DispatchDecision, worker: str) -> DispatchDecision:
        """Returns the decision as it is stored with the attempt that this worker gets."""
        if decision.executor_key not in self._delivery.assigners or not stays(
            self._graph, self._graph.tasks[row.task_pos]
        ):
            return decision
        if worker not in self._workers:
            self._workers.insert(0, worker)
        return msgspec.structs.replace(decision, labels=pinned(decision.labels, worker))


def stays(graph: Graph, task: TaskSpec) -> bool:
    """True if the task goes where the workflow's own selector says, and that is one worker for the run."""
    return graph.spec.affinity == "run" and not task.worker_selector


def _workers(graph: Graph, transition: Transition) -> list[str]:
    """Returns the workers that the run has had, that of the newest attempt first."""
    rows = [transition.task(pos) for pos in range(len(transition.tasks))]
    held = [
        (row.dispatched_at or 0.0, row.seq, row.labels[WORKER_LABEL])
        for row in rows
        if row.labels and WORKER_LABEL in row.labels and stays(graph, graph.tasks[row.task_pos])
    ]
    return list(dict.fromkeys(worker for _, _, worker in sorted(held, reverse=True)))
