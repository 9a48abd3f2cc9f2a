"""Counts what has ended by steps of time: steps that are over are counted once and kept.

A count costs as much as what ended in its time. So the steps since the last request are counted first, and older ones,
newest first, as long as a request may take; the next requests go on.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from turnout.contracts.store import FigureStore
from turnout.model.run_figures import StepCounts

LAG = 5.0
"""Seconds after which every commit of a time is visible: a step is kept once it is over for so long."""
PORTIONS = 12
"""Parts in which a whole window is counted."""
BUDGET = 0.15
"""Seconds that one request spends on older steps; one portion is always counted."""
MAX_COUNTERS = 50
"""Windows that are kept, by length and workflow; those that were not asked for longest are dropped."""


class StepCounter:
    """The counts of one window of time that moves on."""

    def __init__(self, store: FigureStore, step: float, steps: int, workflow: str) -> None:
        self._store = store
        self._step = step
        self._steps = steps
        self._workflow = workflow
        self._kept: dict[int, StepCounts] = {}
        self._first = self._end = 0
        """The steps that are kept, the last one excluded; steps without counts are not in the dictionary."""

    def read(self, now: float, spent: Callable[[], float]) -> tuple[float, list[StepCounts]]:
        """Returns the time from which the counts are complete, and the counts of every step of the window. ``spent``
        returns the seconds since the request began. Blocks."""
        current = math.floor(now / self._step)
        oldest, closed = current - self._steps + 1, math.floor((now - LAG) / self._step)
        if self._end < oldest:
            self._first = self._end = closed
            self._kept.clear()
        self._count(self._end, closed)
        self._end = max(self._end, closed)
        portion = max(1, self._steps // PORTIONS)
        counted = False
        while self._first > oldest and not (counted and spent() > BUDGET):
            first = max(oldest, self._first - portion)
            self._count(first, self._first)
            self._first, counted = first, True
        for number in [each for each in self._kept if each < oldest]:
            del self._kept[number]
        shown = self._kept | self._read(closed, current + 1)
        return max(self._first, oldest) * self._step, [
            shown.get(number, StepCounts(number)) for number in range(oldest, current + 1)
        ]

    def _count(self, first: int, end: int) -> None:
        self._kept |= self._read(first, end)

    def _read(self, first: int, end: int) -> dict[int, StepCounts]:
        if end <= first:
            return {}
        begin = first * self._step
        found = self._store.ended_by_step(begin, end * self._step, self._step, self._workflow)
        return {first + each.number: StepCounts(first + each.number, each.runs, each.tasks) for each in found}


class Throughput:
    """The counters of one server. ``read`` blocks, and is used from any thread."""

    def __init__(self, store: FigureStore, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._counters: OrderedDict[tuple[float, str], StepCounter] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, now: float, step: float, steps: int, workflow: str = "") -> tuple[float, list[StepCounts]]:
        """Returns the time from which the counts are complete, and those of the last steps; ``now`` is the time by the
        database's clock."""
        began = self._clock()
        with self._lock:
            counter = self._counters.setdefault((step, workflow), StepCounter(self._store, step, steps, workflow))
            self._counters.move_to_end((step, workflow))
            while len(self._counters) > MAX_COUNTERS:
                self._counters.popitem(last=False)
            return counter.read(now, lambda: self._clock() - began)
