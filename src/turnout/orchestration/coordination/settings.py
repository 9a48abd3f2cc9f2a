"""Every bound and threshold of the coordinator and its pools, under the names that configuration files use."""

from __future__ import annotations

import msgspec

from turnout.model.breaker import BreakerSettings
from turnout.model.checks import Ratio, at_least, in_order, positive_seconds, share

MAX_OPEN = 5.0
"""Seconds that a pool's breaker stays open at most, so that a database that is back is noticed soon."""


class PoolSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One pool."""

    min_executors: int = 1
    max_executors: int = 4
    polling_interval_ms: int = 1000
    """How often an idle stage executor gives a sign of life and looks by itself. Work wakes it at once."""
    batch_size: int = 256
    """Items that one ``process_batch`` takes: few enough that one batch is written while the next is worked out."""
    circuit_breaker_enabled: bool = True
    circuit_breaker_threshold: int = 5

    @property
    def breaker(self) -> BreakerSettings:
        return BreakerSettings(threshold=self.circuit_breaker_threshold, longest=MAX_OPEN)

    def check(self, path: str) -> None:
        for name in (
            "min_executors",
            "max_executors",
            "polling_interval_ms",
            "batch_size",
            "circuit_breaker_threshold",
        ):
            at_least(getattr(self, name), 1, f"{path}.{name}")
        in_order(self, "min_executors", "max_executors", path)


class PoolsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The five pools. In their names "task" means run and "step" means task.

    Two are enough at first: one works out its batch while the other waits for the commit of its own.
    """

    task_request_processor: PoolSettings = PoolSettings(min_executors=2)
    task_claimer: PoolSettings = PoolSettings(max_executors=1, polling_interval_ms=2000)
    """Claims of one orchestrator do not gain by being made side by side: they would wait for the same rows."""
    step_enqueuer: PoolSettings = PoolSettings(min_executors=2)
    step_result_processor: PoolSettings = PoolSettings(min_executors=2)
    task_finalizer: PoolSettings = PoolSettings(min_executors=2)

    def check(self, path: str = "orchestration.executor_pools") -> None:
        for name in self.__struct_fields__:
            getattr(self, name).check(f"{path}.{name}")


class CoordinatorSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the pools are sized and watched."""

    auto_scaling_enabled: bool = True
    target_utilization: Ratio = 0.75
    scaling_interval_seconds: float = 5.0
    health_check_interval_seconds: float = 1.0
    scaling_cooldown_seconds: float = 15.0
    max_db_pool_usage: Ratio = 0.85
    """The share of the store's connections that this orchestrator uses at most."""
    backpressure_interval_seconds: float = 0.5
    scale_up_error_rate: Ratio = 0.05
    """Above it a pool does not grow: more of what fails is no help."""
    scale_up_saturation: Ratio = 0.2
    """Above it no pool grows: the database is the bottleneck."""
    degraded_error_rate: Ratio = 0.1
    unhealthy_error_rate: Ratio = 0.5
    degraded_after_seconds: float = 10.0
    """A batch that takes longer than this makes its stage executor degraded."""
    stuck_after_seconds: float = 60.0
    """A batch that takes longer than this makes it unhealthy: it is replaced, and its items go to others."""
    error_window: int = 20
    """Batches over which the error rate is taken."""
    drain_timeout_seconds: float = 10.0
    """How long a stage executor that is removed may take to finish its batch."""
    restart_after_items: int = 1_000_000
    restart_after_seconds: float = 6 * 3600.0
    """Age at which a stage executor is replaced by a new one, so that nothing grows in it for ever."""

    def check(self, path: str = "orchestration.coordinator") -> None:
        for field in msgspec.structs.fields(self):
            value, at = getattr(self, field.name), f"{path}.{field.name}"
            if field.type == Ratio:
                share(value, at)
            elif field.type is float:
                positive_seconds(value, at)
            elif field.type is int:
                at_least(value, 1, at)
        in_order(self, "degraded_error_rate", "unhealthy_error_rate", path)
        in_order(self, "degraded_after_seconds", "stuck_after_seconds", path)
