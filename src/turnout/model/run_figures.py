"""Counts runs and attempts that have ended, and their durations in buckets, and writes them for Prometheus (pure).

The sets of labels are bounded: workflows and executors above the limit are counted together as ``other``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from turnout.model.exposition import Labels, family_lines, label_text

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1_800.0, 7_200.0)
"""Upper bounds of the buckets, in seconds."""
MAX_WORKFLOWS, MAX_EXECUTORS = 200, 50
MAX_VALUES: Mapping[str, int] = {"workflow": MAX_WORKFLOWS, "executor": MAX_EXECUTORS}
"""Values of a label; more are counted together."""
OTHER = "other"

RUNS_ENDED, ATTEMPTS_ENDED = "turnout_runs_ended_total", "turnout_attempts_ended_total"
RUN_SECONDS = "turnout_run_duration_seconds"
ATTEMPT_SECONDS, START_SECONDS = "turnout_attempt_duration_seconds", "turnout_attempt_start_delay_seconds"

FAMILIES: Mapping[str, str] = {
    RUNS_ENDED: "Runs that have ended.",
    ATTEMPTS_ENDED: "Attempts of the tasks of runs that have ended.",
    RUN_SECONDS: "Time from the submission of a run to its end.",
    ATTEMPT_SECONDS: "Duration of the last attempt of a task.",
    START_SECONDS: "Time from when a task was ready for its last attempt until the body began.",
}
"""Every metric with its meaning."""


class Exemplar(msgspec.Struct, frozen=True, gc=False):
    """One of the durations that a bucket counts, with the trace that it belongs to."""

    trace_id: str
    seconds: float
    at: float

    @property
    def text(self) -> str:
        """The text that follows the count of a bucket in OpenMetrics."""
        return f' # {{trace_id="{self.trace_id}"}} {self.seconds!r} {self.at:.3f}'


ExemplarsOf: TypeAlias = Callable[[str, Labels], Mapping[int, Exemplar]]
"""Returns the examples of a histogram by its name and labels, each by the number of its bucket."""


def no_exemplars(metric: str, labels: Labels) -> Mapping[int, Exemplar]:
    """Returns no examples, for an exposition without traces."""
    return {}


class BoundedLabels:
    """The values of labels that were seen, of which there is a largest number."""

    def __init__(self) -> None:
        self._seen: dict[str, set[str]] = {"workflow": set(), "executor": set()}

    def of(self, name: str, value: str) -> tuple[str, str]:
        """Returns the label with this value, or with ``other`` if there are too many."""
        seen = self._seen[name]
        if value not in seen and len(seen) >= MAX_VALUES[name]:
            return name, OTHER
        seen.add(value)
        return name, value


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
        self._labels = BoundedLabels()
        self._runs: dict[Labels, int] = {}
        self._attempts: dict[Labels, int] = {}
        self._run_seconds: dict[Labels, Histogram] = {}
        self._attempt_seconds: dict[Labels, Histogram] = {}
        self._start_seconds: dict[Labels, Histogram] = {}

    def add_runs(self, ended: Sequence[EndedRuns]) -> None:
        for each in ended:
            workflow = self._labels.of("workflow", each.workflow)
            _add(self._runs, (workflow, ("state", each.state)), each.count)
            self._run_seconds.setdefault((workflow,), Histogram()).add(each.count, each.seconds, each.within)

    def add_tasks(self, ended: Sequence[EndedTasks]) -> None:
        for each in ended:
            workflow = self._labels.of("workflow", each.workflow)
            executor = self._labels.of("executor", each.executor)
            _add(self._attempts, (workflow, executor, ("state", each.state)), each.attempts)
            labels = (workflow, executor)
            self._attempt_seconds.setdefault(labels, Histogram()).add(each.timed, each.seconds, each.within)
            starts = self._start_seconds.setdefault(labels, Histogram())
            starts.add(each.timed, each.start_seconds, each.started_within)

    def lines(self, exemplars_of: ExemplarsOf | None = None) -> Iterator[str]:
        """Yields the lines of the exposition for Prometheus; with exemplars, those of OpenMetrics."""
        in_open_metrics = exemplars_of is not None
        yield from _counter(RUNS_ENDED, self._runs, in_open_metrics)
        yield from _counter(ATTEMPTS_ENDED, self._attempts, in_open_metrics)
        yield from _histogram(RUN_SECONDS, self._run_seconds, exemplars_of)
        yield from _histogram(ATTEMPT_SECONDS, self._attempt_seconds, exemplars_of)
        yield from _histogram(START_SECONDS, self._start_seconds, exemplars_of)


def _add(counts: dict[Labels, int], labels: Labels, count: int) -> None:
    counts[labels] = counts.get(labels, 0) + count


def _counter(name: str, values: dict[Labels, int], in_open_metrics: bool) -> Iterator[str]:
    if values:
        yield from family_lines(name, FAMILIES[name], "counter", in_open_metrics)
        yield from (f"{name}{label_text(labels)} {count}" for labels, count in sorted(values.items()))


def _histogram(name: str, values: dict[Labels, Histogram], exemplars_of: ExemplarsOf | None) -> Iterator[str]:
    if values:
        yield from family_lines(name, FAMILIES[name], "histogram", exemplars_of is not None)
    for labels, each in sorted(values.items(), key=lambda item: item[0]):
        exemplars = {} if exemplars_of is None else exemplars_of(name, labels)
        bounds = [*zip(map(str, BUCKETS), each.within, strict=True), ("+Inf", each.count)]
        for number, (bound, count) in enumerate(bounds):
            # The figures are counted later than the examples: a bucket that has none yet has no example either.
            example = exemplars.get(number) if count else None
            text = "" if example is None else example.text
            yield f"{name}_bucket{label_text((*labels, ('le', bound)))} {count}{text}"
        yield f"{name}_sum{label_text(labels)} {each.seconds!r}"
        yield f"{name}_count{label_text(labels)} {each.count}"
