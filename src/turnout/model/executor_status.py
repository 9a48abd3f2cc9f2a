"""Declares the statuses of stage executors, their pools and task executors, with their figures."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from turnout.model.figures import (
    BREAKER_COLUMN,
    Figure,
    Part,
    TableColumn,
    Unit,
    average_by_executors,
    breaker_figure,
    largest,
)


class StageStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One stage executor."""

    METRIC_PREFIX: ClassVar[str] = "turnout_stage_executor_"
    id: str
    state: Annotated[
        str,
        Figure(
            "state",
            "1 for the state of health that a stage executor is in.",
            label="state",
            states=("starting", "healthy", "degraded", "unhealthy", "stopping"),
        ),
    ] = "healthy"
    state_seconds: Annotated[float, Figure("state_seconds", "How long it has been in that state.")] = 0.0
    reason: str | None = None
    """The reason for which it is not healthy."""
    items: Annotated[int, Figure("items_total", "Items that a stage executor has processed.")] = 0
    items_per_second: Annotated[float, Figure("items_per_second", "Items that a stage executor processed lately.")] = (
        0.0
    )
    average_seconds: Annotated[float, Figure("batch_average_seconds", "What a batch takes on average.")] = 0.0
    error_rate: Annotated[float, Figure("error_ratio", "Share of its latest batches that failed.")] = 0.0
    busy_seconds: Annotated[float, Figure("busy_seconds_total", "Time that a stage executor has spent on batches.")] = (
        0.0
    )


class PoolStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One pool of stage executors."""

    METRIC_PREFIX: ClassVar[str] = "turnout_pool_"
    executors: Annotated[int, Figure(), TableColumn("exec")] = 0
    healthy: Annotated[
        int, Figure("executors", "Stage executors, by pool and state of health.", label="state=healthy")
    ] = 0
    degraded: Annotated[int, Figure("executors", label="state=degraded")] = 0
    unhealthy: Annotated[int, Figure("executors", label="state=unhealthy")] = 0
    min_executors: Annotated[int, Figure("executors_min", "The fewest stage executors that a pool may have.")] = 0
    max_executors: Annotated[int, Figure("executors_max", "The most stage executors that a pool may have.")] = 0
    utilisation: Annotated[
        float,
        Figure("utilization_ratio", "Busy time over wall time.", average_by_executors),
        TableColumn("busy", Unit.SHARE),
    ] = 0.0
    throughput: Annotated[
        float,
        Figure("items_per_second", "Items that a pool processed lately."),
        TableColumn("items/s", Unit.RATE, order=1),
    ] = 0.0
    queued: Annotated[int, Figure("queue_items", "Items that wait for a pool."), TableColumn("queue")] = 0
    items: Annotated[int, Figure("items_total", "Items that a pool has processed.")] = 0
    batches: Annotated[int, Figure("batches_total", "Batches that a pool has taken.")] = 0
    errors: Annotated[int, Figure("errors_total", "Batches that failed.")] = 0
    busy_seconds: Annotated[
        float, Figure("busy_seconds_total", "Time that a pool's executors have spent on batches.")
    ] = 0.0
    scaled_up: Annotated[
        int, Figure("scaling_events_total", "How often a pool has grown or shrunk.", label="direction=up")
    ] = 0
    scaled_down: Annotated[int, Figure("scaling_events_total", label="direction=down")] = 0
    replaced: Annotated[
        int, Figure("replaced_total", "Stage executors that were replaced because they were beyond help.")
    ] = 0
    restarted: Annotated[
        int, Figure("restarted_total", "Stage executors that were replaced because they had worked enough.")
    ] = 0
    breaker: Annotated[str, breaker_figure("breaker_state", "pool"), BREAKER_COLUMN] = "closed"
    stage_executors: Annotated[tuple[StageStatus, ...], Part(StageStatus, "stage_executor")] = ()


class ExecutorStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One task executor."""

    METRIC_PREFIX: ClassVar[str] = "turnout_task_executor_"
    active: Annotated[int, Figure("active_attempts", "Attempts that a task executor has in hand.")] = 0
    capacity: Annotated[int | None, Figure("capacity_attempts", "Attempts that a task executor runs at once.")] = None
    """None if the executor does not report it. It does not change after the start."""
    running: Annotated[
        int,
        Figure("running_attempts", "Attempts that run, but for async bodies; within capacity."),
        TableColumn("running", of="capacity"),
    ] = 0
    waiting: Annotated[
        int,
        Figure("waiting_attempts", "Attempts in a task executor's hand that have not begun."),
        TableColumn("waiting"),
    ] = 0
    async_capacity: Annotated[
        int,
        Figure(
            "async_capacity_attempts",
            "Attempts with async bodies that run at once, at most.",
            requires="async_capacity",
        ),
    ] = 0
    async_running: Annotated[
        int, Figure("async_running_attempts", "Attempts with async bodies that run.", requires="async_capacity")
    ] = 0
    shared: Annotated[bool, Figure(total=largest)] = False
    """True if its capacity is that of workers, which other orchestrators may use as well."""
    executed: Annotated[int, Figure()] = 0
    failed: Annotated[
        int,
        Figure("attempts_total", "Attempts that ended, by task executor and outcome.", label="outcome=failed"),
        TableColumn("failed", Unit.FAILURES, order=1),
    ] = 0
    seconds: Annotated[float | None, Figure()] = None
    """The duration of all its attempts; None if the executor does not report it."""
    attempts_per_second: Annotated[
        float, Figure("attempts_per_second", "Attempts that ended lately."), TableColumn("attempts/s", Unit.RATE)
    ] = 0.0
    breaker: Annotated[str, breaker_figure("breaker_state", "task executor"), BREAKER_COLUMN] = "closed"
    spare: int = 0
    """Attempts that it would take now while none of the orchestrator's own runs waits for it: other orchestrators may
    give it runs."""

    @property
    def completed(self) -> Annotated[int, Figure("attempts_total", label="outcome=completed")]:
        return self.executed - self.failed

    @property
    def average_seconds(
        self,
    ) -> Annotated[
        float | None,
        Figure("attempt_average_seconds", "What an attempt takes on average."),
        TableColumn("average", Unit.AVERAGE, rank=2, order=2),
    ]:
        return None if self.seconds is None or not self.executed else self.seconds / self.executed
