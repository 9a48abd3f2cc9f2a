"""Collects the figures of runs and attempts that have ended, whenever metrics are asked for.

They are counted in the database, so nothing on the path of a run takes part in it. Every server reports what has ended
on its database since the server started, whichever orchestrator drove it.
"""

from __future__ import annotations

import logging
import threading

from turnout.contracts.store import FigureStore
from turnout.errors import StoreError
from turnout.model.run_figures import ExemplarsOf, RunFigures

log = logging.getLogger("turnout.server")

LAG = 5.0
"""Seconds after which every commit of that time is visible: what ended later is counted the next time."""
MAX_WINDOW = 900.0
"""Seconds that one collection covers; what ended before is left out if metrics were not asked for that long."""


class RunMetrics:
    """The figures since the server started. Used from any thread."""

    def __init__(self, store: FigureStore) -> None:
        self._store = store
        self._figures = RunFigures()
        self._until: float | None = None
        """The time by the database's clock until which everything is counted; None before the first collection."""
        self._collecting = threading.Lock()

    def begin(self) -> None:
        """Counts what ends from now on."""
        with self._collecting:
            self._until = self._store.clock() - LAG

    def text(self, exemplars_of: ExemplarsOf | None = None) -> str:
        """Returns the figures in the format of Prometheus, with exemplars in that of OpenMetrics. During an outage,
        those of the last collection."""
        with self._collecting:
            try:
                self._collect()
            except StoreError as error:
                log.warning("ended runs could not be counted: %s", error)
            return "".join(f"{line}\n" for line in self._figures.lines(exemplars_of))

    def _collect(self) -> None:
        until = self._store.clock() - LAG
        after = max(until - MAX_WINDOW, until if self._until is None else self._until)
        if until <= after:
            return
        runs, tasks = self._store.ended_runs(after, until), self._store.ended_tasks(after, until)
        self._figures.add_runs(runs)
        self._figures.add_tasks(tasks)
        self._until = until
