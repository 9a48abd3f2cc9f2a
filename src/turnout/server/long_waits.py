"""Finds tasks and runs that wait longer than usual, by what earlier runs of their workflows waited."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence

from turnout.contracts.store import Store
from turnout.errors import RunNotFound
from turnout.model.driver import Driver
from turnout.model.graph import Graph
from turnout.model.reasons import LIMIT, waits_for_limits
from turnout.model.rows import StoredRun
from turnout.model.run_filter import RunFilter
from turnout.model.states import RunState, TaskState
from turnout.model.task_lists import OpenTask, OpenTaskFilter
from turnout.model.usual_waits import NOTHING_KNOWN, UNKNOWN_WAIT, EarlierTask, UsualWaits, is_asked_for, waits_of
from turnout.orchestration.loaders.stored_runs import GraphCache
from turnout.runner.open_runs import drivers_of
from turnout.runner.task_detail import WaitView, wait_view
from turnout.server.api.types.attention import LongWait

MAX_LOOKED_AT = 500
"""Waiting tasks, and runs that are not driven, that are looked at."""
EARLIER_RUNS = 20
"""Runs of a workflow that tell what is usual."""
MAX_LEARNT = 10
"""Workflows whose usual waits are read for one answer; those of others are learnt by the next ones."""
KNOWN_FOR = 60.0
"""Seconds after which usual waits are read again."""
MAX_KNOWN = 1_000
MAX_NAMED = 20
"""Runs that wait for limits whose limits are named; the reason of others is ``limit``."""
ENDED = (RunState.COMPLETED, RunState.FAILED)
NO_ORCHESTRATOR = WaitView(
    "No live orchestrator drives the run: none has its workflow, or none is up.",
    "Start a server or an orchestrator that has the workflow.",
)


class LongWaits:
    """The waits of one database that are longer than usual. ``read`` blocks, and is used from any thread."""

    def __init__(self, store: Store, graphs: GraphCache, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._graphs = graphs
        self._clock = clock
        self._known: OrderedDict[str, tuple[float, UsualWaits]] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, now: float) -> list[LongWait]:
        """Returns them, the longest first; ``now`` is the time by the database's clock."""
        found = [*self._tasks(now), *self._runs(now)]
        return sorted(found, key=lambda each: -each.waited)

    def _tasks(self, now: float) -> list[LongWait]:
        ready = self._store.open_tasks(OpenTaskFilter(states=(TaskState.READY,)), MAX_LOOKED_AT)
        waiting = [each for each in ready if _is_of_interest(each)]
        usual = self._usual(list(dict.fromkeys(each.workflow for each in waiting)))
        found: list[LongWait] = []
        for each in waiting:
            task = each.name if each.item_of is None else each.name.rpartition("[")[0]
            known, bound = usual.get(each.workflow, NOTHING_KNOWN).bound(task)
            waited = now - (each.since if each.since is not None else now)
            if waited > bound:
                found.append(
                    LongWait(
                        run_id=each.run_id,
                        workflow=each.workflow,
                        task=each.name,
                        reason=each.reason,
                        wait=wait_view(each.reason),
                        since=now - waited,
                        waited=waited,
                        usual=known,
                        bound=bound,
                    )
                )
        return found

    def _runs(self, now: float) -> list[LongWait]:
        runs = self._store.undriven_runs(now - UNKNOWN_WAIT, MAX_LOOKED_AT)
        drivers = drivers_of(self._store, runs)
        queued = [run.new.run_id for run, driver in zip(runs, drivers, strict=True) if driver is Driver.QUEUED]
        reasons = {run_id: self._limits_waited_for(run_id) for run_id in queued[:MAX_NAMED]}
        return [
            LongWait(
                run_id=run.new.run_id,
                workflow=run.new.workflow,
                reason=reasons.get(run.new.run_id, LIMIT) if driver is Driver.QUEUED else str(driver),
                wait=wait_view(LIMIT) if driver is Driver.QUEUED else NO_ORCHESTRATOR,
                since=now - run.age,
                waited=run.age,
                bound=UNKNOWN_WAIT,
            )
            for run, driver in zip(runs, drivers, strict=True)
            if driver in (Driver.QUEUED, Driver.NOT_DRIVEN) and run.row.state is not RunState.PAUSED
        ]

    def _limits_waited_for(self, run_id: str) -> str:
        names = [each.name for each in self._store.limits_of(run_id) if not each.held and each.task is None]
        return waits_for_limits(names) if names else LIMIT

    def _usual(self, workflows: Sequence[str]) -> dict[str, UsualWaits]:
        with self._lock:
            fresh = {name for name in workflows if name in self._known and self._known[name][0] > self._clock()}
            for name in [name for name in workflows if name not in fresh][:MAX_LEARNT]:
                self._known[name] = (self._clock() + KNOWN_FOR, self._learnt(name))
                self._known.move_to_end(name)
            while len(self._known) > MAX_KNOWN:
                self._known.popitem(last=False)
            return {name: self._known[name][1] for name in workflows if name in self._known}

    def _learnt(self, workflow: str) -> UsualWaits:
        runs = self._store.find_runs(RunFilter(workflow=workflow, states=ENDED), limit=EARLIER_RUNS)
        return EarlierRuns(self._store, self._graphs, runs).waits()


class EarlierRuns:
    """Runs with the tasks of their graphs, without items. Blocks while it is made."""

    def __init__(self, store: Store, graphs: GraphCache, runs: Sequence[StoredRun]) -> None:
        self._runs: list[tuple[StoredRun, Graph]] = []
        for run in runs:
            try:
                self._runs.append((run, graphs.stored(run.new.version)))
            except RunNotFound:  # the run was deleted meanwhile, and its version with it
                continue
        most = max((len(graph.tasks) for _, graph in self._runs), default=0)
        self.tasks = store.graph_tasks_of([run.new.run_id for run, _ in self._runs], most=most)
        """By the id of the run."""

    def waits(self) -> UsualWaits:
        """Returns the waits of the tasks."""
        return waits_of((run.new.created_at, self._earlier(run, graph)) for run, graph in self._runs)

    def _earlier(self, run: StoredRun, graph: Graph) -> list[EarlierTask]:
        return [
            EarlierTask(each.name, graph.tasks[each.pos].depends_on, each.attempt, each.started_at, each.finished_at)
            for each in self.tasks.get(run.new.run_id, ())
        ]


def _is_of_interest(task: OpenTask) -> bool:
    moving = task.run_state in (RunState.PENDING, RunState.RUNNING)
    return moving and not is_asked_for(task.reason, task.retry_in)
