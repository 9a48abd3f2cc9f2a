"""Keeps examples of durations with the ids of their traces, for the histograms of the OpenMetrics exposition."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Mapping

from turnout.model.exposition import Labels
from turnout.model.run_figures import BUCKETS, Exemplar

MAX_SETS = 1_000
"""Sets of labels with examples; those of further ones are not kept."""


class Exemplars:
    """The newest example of each bucket. Used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, Labels], dict[int, Exemplar]] = {}

    def add(self, metric: str, labels: Labels, seconds: float, trace_id: int, at: float) -> None:
        with self._lock:
            buckets = self._kept.get((metric, labels))
            if buckets is None:
                if len(self._kept) >= MAX_SETS:
                    return
                buckets = self._kept[metric, labels] = {}
            buckets[bisect_left(BUCKETS, seconds)] = Exemplar(f"{trace_id:032x}", seconds, at)

    def of(self, metric: str, labels: Labels) -> Mapping[int, Exemplar]:
        """Returns the examples by the number of their bucket."""
        with self._lock:
            return dict(self._kept.get((metric, labels), {}))
