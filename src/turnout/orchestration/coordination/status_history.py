"""Keeps samples of the status of this orchestrator for an hour: pools, database and load over time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

import msgspec

from turnout.model.health import OrchestratorStatus

SAMPLE_INTERVAL = 5.0
"""Seconds between two samples."""
MAX_SAMPLES = 720
"""An hour; older samples are dropped."""


class PoolSample(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One pool of stage executors at one moment."""

    executors: int
    utilisation: float
    """Busy time over wall time."""
    throughput: float
    """Items a second."""
    queued: int
    unhealthy: int
    """Stage executors that are degraded or unhealthy."""
    breaker: str


class StatusSample(msgspec.Struct, frozen=True, kw_only=True):
    """One orchestrator at one moment."""

    at: float
    owned_runs: int
    saturation: float
    """Share of callers' time that was spent waiting for a connection to the database."""
    backpressure: float
    """1 is full speed."""
    cpu_ratio: float
    memory_bytes: int
    pools: dict[str, PoolSample]


class StatusHistory:
    """The samples of the last hour. ``see`` is called on the event loop, ``samples`` in any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due = float("-inf")
        self._samples: deque[StatusSample] = deque(maxlen=MAX_SAMPLES)

    def see(self, status: OrchestratorStatus) -> None:
        """Keeps a sample of the status if the last one is old enough."""
        now = self._clock()
        if now < self._due:
            return
        self._due = now + SAMPLE_INTERVAL
        self._samples.append(_sample(status))

    def samples(self, since: float = 0.0) -> list[StatusSample]:
        """Returns the samples that were made after this time, oldest first."""
        return [each for each in tuple(self._samples) if each.at > since]


def _sample(status: OrchestratorStatus) -> StatusSample:
    return StatusSample(
        at=status.at,
        owned_runs=status.owned_runs,
        saturation=status.saturation,
        backpressure=status.backpressure,
        cpu_ratio=status.cpu_ratio,
        memory_bytes=status.memory_bytes,
        pools={
            name: PoolSample(
                executors=pool.executors,
                utilisation=pool.utilisation,
                throughput=pool.throughput,
                queued=pool.queued,
                unhealthy=pool.degraded + pool.unhealthy,
                breaker=pool.breaker,
            )
            for name, pool in status.pools.items()
        },
    )
