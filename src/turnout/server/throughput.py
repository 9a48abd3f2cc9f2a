"""Counts what has ended by steps of time: what is over is counted once and kept.

A count costs as much as what ended in its time. So what ended since the last request is counted first, and older steps,
newest first, as long as a request may take; the next requests go on. Only the last seconds are counted again each time.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

from turnout.contracts.store import FigureStore
from turnout.model.run_figures import StepCounts

LAG = 5.0
"""Seconds after which every commit of a time is visible: what is older is counted once."""
GRAIN = 5.0
"""Seconds of the parts in which the newest step is counted."""
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
        """By the number of the step; steps without counts are not in it."""
        self._first = 0
        """The first step that is counted."""
        self._until = 0.0
        """The time before which everything is counted, from the first step on."""

    def read(self, now: float, spent: Callable[[], float]) -> tuple[float, list[StepCounts]]:
        """Returns the time from which the counts are complete, and the counts of every step of the window. ``spent``
        returns the seconds since the request began. Blocks."""
        step = self._step
        current = math.floor(now / step)
        oldest, settled = current - self._steps + 1, math.floor((now - LAG) / GRAIN) * GRAIN
        if self._until < oldest * step:
            self._first = math.floor(settled / step)
            self._until = self._first * step
            self._kept.clear()
        self._count(self._until, settled)
        self._until = max(self._until, settled)
        portion = max(1, self._steps // PORTIONS)
        counted = False
        while self._first > oldest and not (counted and spent() > BUDGET):
            first = max(oldest, self._first - portion)
            self._count(first * step, self._first * step)
            self._first, counted = first, True
        for number in [each for each in self._kept if each < oldest]:
            del self._kept[number]
        shown = _sum(self._kept, self._read(self._until, (current + 1) * step))
        return max(self._first, oldest) * step, [
            shown.get(number, StepCounts(number)) for number in range(oldest, current + 1)
        ]

    def _count(self, begin: float, end: float) -> None:
        self._kept = _sum(self._kept, self._read(begin, end))

    def _read(self, begin: float, end: float) -> list[StepCounts]:
        return self._store.ended_by_step(begin, end, self._step, self._workflow) if begin < end else []


def _sum(known: Mapping[int, StepCounts], more: Sequence[StepCounts]) -> dict[int, StepCounts]:
    found = dict(known)
    for each in more:
        old = found.get(each.number, StepCounts(each.number))
        found[each.number] = StepCounts(each.number, _added(old.runs, each.runs), _added(old.tasks, each.tasks))
    return found


def _added(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {state: one.get(state, 0) + other.get(state, 0) for state in {**one, **other}}


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
