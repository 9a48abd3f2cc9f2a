"""Gathers what needs attention: failed runs, long waits, lost workers, open breakers and late schedules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from turnout.contracts.store import Store
from turnout.model.health import Orchestrator
from turnout.model.schedule_decisions import ON_TIME
from turnout.model.workers import WorkerReport
from turnout.runner.core import Core
from turnout.runner.live_sessions import live_workers
from turnout.server.api.types.attention import Attention, LateSchedule, LostWorker, OpenBreaker
from turnout.server.api.types.runs import run_of
from turnout.server.long_waits import LongWaits

MAX_LISTED = 50
"""Entries of each list."""
MAX_COUNTED = 1_000
"""Failed runs that are counted; more are not told apart from it."""
CLOSED = "closed"


class AttentionReader:
    """Reads the answer from the database and the statuses of orchestrators. ``read`` blocks."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._waits = LongWaits(core.store, core.engine.graphs)

    def read(self, since: float, now: float) -> Attention:
        store, orchestrators = self._core.store, self._core.admin.orchestrators()
        waiting = self._waits.read(now)
        failed = store.failed_since(since, MAX_LISTED)
        return Attention(
            at=now,
            since=since,
            failed=[run_of(run) for run in failed],
            failed_total=len(failed) if len(failed) < MAX_LISTED else store.count_failed(since, MAX_COUNTED),
            waiting=waiting[:MAX_LISTED],
            waiting_total=len(waiting),
            workers=lost_workers(store, orchestrators, since),
            breakers=list(breakers(orchestrators))[:MAX_LISTED],
            schedules=late_schedules(store, now),
            troubles=[
                trouble
                for one in orchestrators
                for trouble in one.status.troubles
                if "circuit breaker" not in trouble.why
            ][:MAX_LISTED],
        )


def lost_workers(store: Store, orchestrators: Sequence[Orchestrator], since: float) -> list[LostWorker]:
    """Returns the workers that were lost since a time, without those whose names are those of live ones."""
    lost = store.lost_workers(since, MAX_LISTED)
    alive = {view.name for view in live_workers(store, orchestrators)} if lost else set[str]()
    found: list[LostWorker] = []
    for each in lost:
        try:
            facts = msgspec.json.decode(each.health or "{}", type=WorkerReport).facts
        except msgspec.MsgspecError:  # written by another version
            continue
        if facts.name not in alive:
            found.append(
                LostWorker(id=each.id, name=facts.name or each.id, host=each.host, labels=facts.labels, lost_at=each.at)
            )
    return found


def breakers(orchestrators: Sequence[Orchestrator]) -> Iterator[OpenBreaker]:
    """Yields the breakers of executors, pools and workers that are not closed."""
    for one in orchestrators:
        status = one.status
        for key, executor in status.executors.items():
            if executor.breaker != CLOSED:
                yield OpenBreaker(kind="executor", name=key, state=executor.breaker, orchestrator=one.id)
        for name, pool in status.pools.items():
            if pool.breaker != CLOSED:
                yield OpenBreaker(kind="pool", name=name, state=pool.breaker, orchestrator=one.id)
        for worker in () if status.hub is None else status.hub.listed:
            if worker.breaker != CLOSED:
                yield OpenBreaker(
                    kind="worker",
                    name=worker.name or worker.id,
                    state=worker.breaker,
                    orchestrator=one.id,
                    cause=worker.cause,
                )


def late_schedules(store: Store, now: float) -> list[LateSchedule]:
    """Returns the schedules whose next due time has passed for longer than a decision takes."""
    return [
        LateSchedule(
            id=each.id, workflow=each.workflow, name=each.spec.name, due_at=each.next_at, late=now - each.next_at
        )
        for each in store.upcoming_schedules(MAX_LISTED)
        if each.next_at is not None and now - each.next_at > ON_TIME + each.spec.jitter
    ]
