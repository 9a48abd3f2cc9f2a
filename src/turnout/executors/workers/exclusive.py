"""Chooses the worker for a task that needs exclusive use, and closes it to other tasks.

A task that was lost twice may have killed its workers. It gets a worker that has nothing else, and nothing is started
beside it there. Other workers are not affected.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence

from turnout.dispatcher.exclusive import ExclusiveUse
from turnout.wire.worker_entries import WorkerEntry


class ExclusiveWorkers:
    """Exclusive use by worker; ``busy`` returns how many attempts a worker has or is about to get."""

    def __init__(self, busy: Callable[[WorkerEntry], int], clock: Callable[[], float] = time.monotonic) -> None:
        self._busy = busy
        self._clock = clock
        self.uses: dict[str, ExclusiveUse] = {}
        """By worker id; those that are over may be among them."""

    def __bool__(self) -> bool:
        return bool(self.uses)

    def choose(self, workers: Sequence[WorkerEntry]) -> WorkerEntry | None:
        """Returns one of these that is idle. If none is, one of them is closed to other tasks until it is."""
        free = [worker for worker in workers if not self._is_taken(worker)]
        if not free:
            return None
        best = min(free, key=lambda worker: (self._busy(worker) > 0, worker.id not in self.uses, self._busy(worker)))
        busy = self._busy(best)
        use = self.uses.setdefault(best.id, ExclusiveUse())
        return best if use.ask(self._clock(), empty=not busy, room=busy < best.credits) else None

    def closed_to_others(self, worker: WorkerEntry) -> bool:
        use = self.uses.get(worker.id)
        if use is None:
            return False
        self._is_taken(worker)
        now = self._clock()
        if use.closed_to_others(now):
            use.turn_away()
            return True
        if use.over(now):
            del self.uses[worker.id]
        return False

    def keep(self, there: Collection[str]) -> None:
        """Drops the state of workers that are not among these."""
        for worker_id in self.uses.keys() - there:
            del self.uses[worker_id]

    def _is_taken(self, worker: WorkerEntry) -> bool:
        """True if a task has exclusive use now; an empty worker releases it."""
        use = self.uses.get(worker.id)
        if use is not None and use.taken and not self._busy(worker):
            use.release(self._clock())
        return use is not None and use.taken
