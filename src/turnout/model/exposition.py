"""What does a status look like to Prometheus? Text in its exposition format, units in the names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from turnout.model.health import OrchestratorStatus

Labels = tuple[tuple[str, str], ...]
Family: TypeAlias = tuple[str, str]
"""The kind of a metric, and what it means."""

FAMILIES: Mapping[str, Family] = {
    "turnout_uptime_seconds": ("gauge", "Since the orchestrator was started."),
    "turnout_owned_runs": ("gauge", "Runs that the orchestrator drives."),
    "turnout_pending_requests": ("gauge", "Submissions that are not durable yet."),
    "turnout_commits_total": ("counter", "Group commits."),
    "turnout_pool_executors": ("gauge", "Stage executors, by pool and state of health."),
    "turnout_pool_utilization_ratio": ("gauge", "Busy time over wall time."),
    "turnout_pool_queue_items": ("gauge", "Items that wait for a pool."),
    "turnout_pool_items_total": ("counter", "Items that a pool has processed."),
    "turnout_pool_errors_total": ("counter", "Batches that failed."),
    "turnout_pool_busy_seconds_total": ("counter", "Time that a pool's executors have spent on batches."),
    "turnout_pool_replaced_total": ("counter", "Stage executors that were replaced."),
    "turnout_pool_breaker_open": ("gauge", "1 while the pool's circuit breaker is not closed."),
    "turnout_task_executor_active_attempts": ("gauge", "Attempts that a task executor has in hand."),
    "turnout_task_executor_attempts_total": ("counter", "Attempts that ended, by task executor and outcome."),
    "turnout_task_executor_breaker_open": ("gauge", "1 while the task executor's circuit breaker is not closed."),
    "turnout_database_connections": ("gauge", "Connections, by use."),
    "turnout_database_saturation_ratio": ("gauge", "Share of time that was spent waiting for a connection."),
    "turnout_backpressure_factor": ("gauge", "1 is full speed."),
    "turnout_process_resident_memory_bytes": ("gauge", "Of the whole process."),
    "turnout_process_cpu_seconds_total": ("counter", "Of the whole process."),
}


def exposition(statuses: Mapping[str, OrchestratorStatus]) -> str:
    """The metrics of these orchestrators, by session id."""
    return exposed(
        FAMILIES,
        (
            (name, (("orchestrator", session), *labels), value)
            for session, status in statuses.items()
            for name, labels, value in _samples(status)
        ),
    )


def exposed(families: Mapping[str, Family], values: Iterable[tuple[str, Labels, float]]) -> str:
    """Values of these metrics, each with its labels, in the order of the metrics."""
    samples: dict[str, list[str]] = {name: [] for name in families}
    for name, labels, value in values:
        samples[name].append(f"{name}{_shown(labels)} {value:.10g}")
    lines: list[str] = []
    for name, (kind, meaning) in families.items():
        if samples[name]:
            lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}", *samples[name]]
    return "\n".join(lines) + "\n" if lines else ""


def _samples(status: OrchestratorStatus) -> Iterator[tuple[str, Labels, float]]:
    yield "turnout_uptime_seconds", (), status.uptime_seconds
    yield "turnout_owned_runs", (), status.owned_runs
    yield "turnout_pending_requests", (), status.requests
    yield "turnout_commits_total", (), status.commits
    for name, pool in status.pools.items():
        of: Labels = (("pool", name),)
        for state in ("healthy", "degraded", "unhealthy"):
            yield "turnout_pool_executors", (*of, ("state", state)), getattr(pool, state)
        yield "turnout_pool_utilization_ratio", of, pool.utilisation
        yield "turnout_pool_queue_items", of, pool.queued
        yield "turnout_pool_items_total", of, pool.items
        yield "turnout_pool_errors_total", of, pool.errors
        yield "turnout_pool_busy_seconds_total", of, pool.busy_seconds
        yield "turnout_pool_replaced_total", of, pool.replaced
        yield "turnout_pool_breaker_open", of, pool.breaker != "closed"
    for name, executor in status.executors.items():
        of = (("executor", name),)
        yield "turnout_task_executor_active_attempts", of, executor.active
        succeeded = executor.executed - executor.failed
        yield "turnout_task_executor_attempts_total", (*of, ("outcome", "completed")), succeeded
        yield "turnout_task_executor_attempts_total", (*of, ("outcome", "failed")), executor.failed
        yield "turnout_task_executor_breaker_open", of, executor.breaker != "closed"
    yield "turnout_database_connections", (("use", "active"),), status.active_connections
    yield "turnout_database_connections", (("use", "waiting"),), status.waiting_for_connections
    yield "turnout_database_connections", (("use", "size"),), status.pool_size
    yield "turnout_database_saturation_ratio", (), status.saturation
    yield "turnout_backpressure_factor", (), status.backpressure
    yield "turnout_process_resident_memory_bytes", (), status.memory_bytes
    yield "turnout_process_cpu_seconds_total", (), status.cpu_seconds


def _shown(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
