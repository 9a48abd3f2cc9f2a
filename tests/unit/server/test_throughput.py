"""Counts by steps of time: each step is counted once, the newest first, as long as a request may take."""

from __future__ import annotations

from collections import Counter

from turnout.model.run_figures import EndedRuns, EndedTasks, StepCounts
from turnout.server.throughput import BUDGET, Throughput


class Ended:
    """A store in which a run ends every second; it records what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[float, float]] = []
        self.spent = 0.0
        self.cost = 0.0

    def clock(self) -> float:
        return self.spent

    def ended_runs(self, after: float, until: float) -> list[EndedRuns]:
        raise AssertionError

    def ended_tasks(self, after: float, until: float) -> list[EndedTasks]:
        raise AssertionError

    def ended_sample(self, after: float, until: float, limit: int, workflow: str = "") -> list[str]:
        raise AssertionError

    def ended_by_step(self, after: float, until: float, step: float, workflow: str = "") -> list[StepCounts]:
        self.asked.append((after, until))
        self.spent += self.cost
        ended = Counter(int(second // step) for second in range(int(after), int(until)))
        return [StepCounts(number, {"completed": count}) for number, count in ended.items()]


def test_every_step_of_the_window_is_there_and_counted() -> None:
    store = Ended()
    complete, counts = Throughput(store, store.clock).read(10_000.0, 60.0, 60)
    assert [each.number for each in counts] == list(range(107, 167))
    assert all(each.runs == {"completed": 60} for each in counts)
    assert complete == 107 * 60.0


def test_a_step_that_is_over_is_not_counted_again() -> None:
    store = Ended()
    throughput = Throughput(store, store.clock)
    throughput.read(10_000.0, 60.0, 60)
    store.asked.clear()
    throughput.read(10_001.0, 60.0, 60)
    assert store.asked == [(9_995.0, 10_020.0)], "the last seconds, whose commits may not all be visible"
    store.asked.clear()
    _, counts = throughput.read(10_030.0, 60.0, 60)
    assert store.asked == [(9_995.0, 10_025.0), (10_025.0, 10_080.0)]
    assert len(counts) == 60 and counts[-1].number == 167
    assert all(each.runs == {"completed": 60} for each in counts)


def test_older_steps_are_counted_with_the_next_requests_if_counting_takes_long() -> None:
    store = Ended()
    store.cost = BUDGET / 2.5
    throughput = Throughput(store, store.clock)
    complete, counts = throughput.read(10_000.0, 60.0, 60)
    assert complete > 107 * 60.0 and counts[0].runs == {} and counts[-2].runs
    answers = 1
    while complete > 107 * 60.0:
        complete, counts = throughput.read(10_000.0, 60.0, 60)
        answers += 1
    assert 2 < answers < 12 and all(each.runs for each in counts)


def test_after_a_long_silence_the_window_is_counted_anew() -> None:
    store = Ended()
    throughput = Throughput(store, store.clock)
    throughput.read(10_000.0, 60.0, 60)
    store.asked.clear()
    complete, counts = throughput.read(100_000.0, 60.0, 60)
    assert min(after for after, _ in store.asked) == complete == counts[0].number * 60.0
    assert all(each.runs for each in counts)
