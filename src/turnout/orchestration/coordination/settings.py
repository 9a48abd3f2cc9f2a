"""Declares every bound and threshold of the coordinator and its pools, by the names of configuration files."""

from __future__ import annotations

from typing import ClassVar

from turnout.model.breaker import BreakerSettings
from turnout.model.setting_types import Count, Ratio, Seconds, Settings, check_order

MAX_OPEN = 5.0
"""Seconds that a pool's breaker stays open at most, so that the end of a database outage is noticed soon."""


class PoolSettings(Settings, frozen=True, kw_only=True):
    """One pool."""

    min_executors: Count = 1
    """Stage executors that the pool starts with and keeps."""
    max_executors: Count = 4
    """Stage executors that the pool grows to at most."""
    polling_interval_ms: Count = 1000
    """Milliseconds between two heartbeats of an idle stage executor, which also polls then; work wakes it at once."""
    batch_size: Count = 256
    """Items that one ``process_batch`` takes: few enough that one batch is written while the next is worked out."""
    circuit_breaker_enabled: bool = True
    """Whether the pool has a circuit breaker."""
    circuit_breaker_threshold: Count = 5
    """Failures in a row that open the pool's circuit breaker."""

    @property
    def breaker(self) -> BreakerSettings:
        return BreakerSettings(threshold=self.circuit_breaker_threshold, longest=MAX_OPEN)

    def check_rules(self, path: str) -> None:
        check_order(self, "min_executors", "max_executors", path)


class PoolsSettings(Settings, frozen=True, kw_only=True):
    """The five pools. In their names "task" means run and "step" means task.

    Two stage executors are enough at first: one works out its batch while the other waits for the commit of its own.
    """

    table: ClassVar[str] = "orchestration.executor_pools"

    task_request_processor: PoolSettings = PoolSettings(min_executors=2)
    """The pool that commits submitted runs."""
    task_claimer: PoolSettings = PoolSettings(max_executors=1, polling_interval_ms=2000)
    """The pool that claims unowned runs; parallel claims of one orchestrator would wait for the same rows."""
    step_enqueuer: PoolSettings = PoolSettings(min_executors=2)
    """The pool that starts ready tasks."""
    step_result_processor: PoolSettings = PoolSettings(min_executors=2)
    """The pool that applies results and commands."""
    task_finalizer: PoolSettings = PoolSettings(min_executors=2)
    """The pool that ends runs."""


class CoordinatorSettings(Settings, frozen=True, kw_only=True):
    """Settings of the sizing and supervision of pools."""

    table: ClassVar[str] = "orchestration.coordinator"

    auto_scaling_enabled: bool = True
    """True if pools grow and shrink with their load."""
    target_utilization: Ratio = 0.75
    """The utilization that a pool is sized for: it grows above 1.2 times as much, and shrinks below half of it."""
    scaling_interval_seconds: Seconds = 5.0
    """Seconds between two decisions on the size of each pool."""
    health_check_interval_seconds: Seconds = 1.0
    """Seconds between two checks of stage executors for being stuck or unhealthy."""
    scaling_cooldown_seconds: Seconds = 15.0
    """The time after a change of a pool's size in which it is not changed again."""
    max_db_pool_usage: Ratio = 0.85
    """The share of the store's connections that this orchestrator uses at most."""
    backpressure_interval_seconds: Seconds = 0.5
    """Seconds between two adjustments of backpressure."""
    scale_up_error_rate: Ratio = 0.05
    """The error rate above which a pool does not grow."""
    scale_up_saturation: Ratio = 0.2
    """The saturation of the database above which no pool grows: the database is the bottleneck."""
    degraded_error_rate: Ratio = 0.1
    """The error rate from which a stage executor is degraded."""
    unhealthy_error_rate: Ratio = 0.5
    """The error rate from which a stage executor is unhealthy."""
    degraded_after_seconds: Seconds = 10.0
    """A batch that takes longer than this makes its stage executor degraded."""
    stuck_after_seconds: Seconds = 60.0
    """A batch that takes longer than this makes its stage executor unhealthy: it is replaced, its items requeued."""
    error_window: Count = 20
    """Batches over which the error rate is taken."""
    drain_timeout_seconds: Seconds = 10.0
    """How long a stage executor that is removed may take to finish its batch."""
    restart_after_items: Count = 1_000_000
    """Items after which a stage executor is replaced by a new one."""
    restart_after_seconds: Seconds = 6 * 3600.0
    """Age at which a stage executor is replaced by a new one, so that nothing grows in it for ever."""

    def check_rules(self, path: str) -> None:
        check_order(self, "degraded_error_rate", "unhealthy_error_rate", path)
        check_order(self, "degraded_after_seconds", "stuck_after_seconds", path)
