"""Samples of the status of an orchestrator over the last hour."""

from __future__ import annotations

from turnout.model.executor_status import PoolStatus
from turnout.model.health import OrchestratorStatus
from turnout.orchestration.coordination.status_history import MAX_SAMPLES, SAMPLE_INTERVAL, StatusHistory


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def status(at: float) -> OrchestratorStatus:
    return OrchestratorStatus(
        at=at, owned_runs=3, pools={"task_claimer": PoolStatus(executors=2, degraded=1, unhealthy=1)}
    )


def test_statuses_within_the_interval_are_one_sample() -> None:
    clock = Clock()
    history = StatusHistory(clock)
    for number in range(21):
        clock.now = number * SAMPLE_INTERVAL / 10
        history.see(status(1_000 + clock.now))
    assert [each.at for each in history.samples()] == [1_000, 1_000 + SAMPLE_INTERVAL, 1_000 + 2 * SAMPLE_INTERVAL]
    assert [each.at for each in history.samples(since=1_000 + SAMPLE_INTERVAL)] == [1_000 + 2 * SAMPLE_INTERVAL]
    pool = history.samples()[0].pools["task_claimer"]
    assert (pool.executors, pool.unhealthy, pool.breaker) == (2, 2, "closed")


def test_what_is_older_than_an_hour_is_dropped() -> None:
    clock = Clock()
    history = StatusHistory(clock)
    for number in range(MAX_SAMPLES + 10):
        clock.now = number * SAMPLE_INTERVAL
        history.see(status(clock.now))
    found = history.samples()
    assert len(found) == MAX_SAMPLES and found[0].at == 10 * SAMPLE_INTERVAL
