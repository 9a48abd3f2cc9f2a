"""Counts runs and attempts that have ended, and their durations in buckets, and writes them for Prometheus (pure).

The sets of labels are bounded: workflows and executors above the limit are counted together as ``other``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from turnout.model.exposition import Labels, label_text

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1_800.0, 7_200.0)
"""Upper bounds of the buckets, in seconds."""
MAX_WORKFLOWS, MAX_EXECUTORS = 200, 50
"""Values of a label; more are counted together."""
OTHER = "other"

FAMILIES: Mapping[str, str] = {
    "turnout_runs_ended_total": "Runs that have ended.",
    "turnout_attempts_ended_total": "Attempts of the tasks of runs that have ended.",
    "turnout_run_duration_seconds": "Time from the submission of a run to its end.",
    "turnout_attempt_duration_seconds": "Duration of the last attempt of a task.",
    "turnout_attempt_start_delay_seconds": "Time from when a task was ready for its last attempt until the body began.",
}
"""Every metric with its meaning."""


class EndedRuns(msgspec.Struct, frozen=True):
    """Runs of one workflow that ended in one state."""

    workflow: str
    state: str
    count: int
    seconds: float
    """From submission to end, together."""
    within: tuple[int, ...]
    """How many took at most as long as each bucket says."""


class EndedTasks(msgspec.Struct, frozen=True):
    """Tasks of one workflow that ended in one state, with the attempts that one executor made of them."""

    workflow: str
    executor: str
    state: str
    attempts: int
    timed: int
    """Tasks whose last attempt has begun."""
    seconds: float
    """The durations of those attempts, together."""
    within: tuple[int, ...]
    start_seconds: float
    """From when each task was ready for its last attempt until the body began, together."""
    started_within: tuple[int, ...]


class StepCounts(msgspec.Struct, frozen=True):
    """Runs that ended in one step of a time, and their tasks, by state."""

    number: int
    """The number of the step since 1970."""
    runs: dict[str, int] = {}
    tasks: dict[str, int] = {}


class Histogram:
    """Durations of one set of labels."""

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0
        self.within = [0] * len(BUCKETS)

    def add(self, count: int, seconds: float, within: Sequence[int]) -> None:
        self.count += count
        self.seconds += seconds
        self.within = [have + more for have, more in zip(self.within, within, strict=True)]


class RunFigures:
    """The figures of everything that has ended since it was made."""

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = {}
        self._runs: dict[Labels, int] = {}
        self._attempts: dict[Labels, int] = {}
        self._run_seconds: dict[Labels, Histogram] = {}
        self._attempt_seconds: dict[Labels, Histogram] = {}
        self._start_seconds: dict[Labels, Histogram] = {}

    def add_runs(self, ended: Sequence[EndedRuns]) -> None:
        for each in ended:
            workflow = self._label("workflow", each.workflow, MAX_WORKFLOWS)
            _add(self._runs, (workflow, ("state", each.state)), each.count)
            self._run_seconds.setdefault((workflow,), Histogram()).add(each.count, each.seconds, each.within)

    def add_tasks(self, ended: Sequence[EndedTasks]) -> None:
        for each in ended:
            workflow = self._label("workflow", each.workflow, MAX_WORKFLOWS)
            executor = self._label("executor", each.executor, MAX_EXECUTORS)
            _add(self._attempts, (workflow, executor, ("state", each.state)), each.attempts)
            labels = (workflow, executor)
            self._attempt_seconds.setdefault(labels, Histogram()).add(each.timed, each.seconds, each.within)
            starts = self._start_seconds.setdefault(labels, Histogram())
            starts.add(each.timed, each.start_seconds, each.started_within)

    def _label(self, name: str, value: str, limit: int) -> tuple[str, str]:
        known = self._names.setdefault(name, set())
        if value not in known and len(known) >= limit:
            return name, OTHER
        known.add(value)
        return name, value

    def lines(self) -> Iterator[str]:
        """Yields the lines of the exposition."""
        yield from _counter("turnout_runs_ended_total", self._runs)
        yield from _counter("turnout_attempts_ended_total", self._attempts)
        yield from _histogram("turnout_run_duration_seconds", self._run_seconds)
        yield from _histogram("turnout_attempt_duration_seconds", self._attempt_seconds)
        yield from _histogram("turnout_attempt_start_delay_seconds", self._start_seconds)


def _add(counts: dict[Labels, int], labels: Labels, count: int) -> None:
    counts[labels] = counts.get(labels, 0) + count


def _counter(name: str, values: dict[Labels, int]) -> Iterator[str]:
    if values:
        yield from (f"# HELP {name} {FAMILIES[name]}", f"# TYPE {name} counter")
        yield from (f"{name}{label_text(labels)} {count}" for labels, count in sorted(values.items()))


def _histogram(name: str, values: dict[Labels, Histogram]) -> Iterator[str]:
    if values:
        yield from (f"# HELP {name} {FAMILIES[name]}", f"# TYPE {name} histogram")
    for labels, each in sorted(values.items(), key=lambda item: item[0]):
        bounds = [*zip(map(str, BUCKETS), each.within, strict=True), ("+Inf", each.count)]
        for bound, count in bounds:
            yield f"{name}_bucket{label_text((*labels, ('le', bound)))} {count}"
        yield f"{name}_sum{label_text(labels)} {each.seconds!r}"
        yield f"{name}_count{label_text(labels)} {each.count}"
