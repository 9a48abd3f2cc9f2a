"""The figures of orchestrators in the text format of Prometheus, with units in the names.

``orchestrator`` is the id of the session; ``turnout_orchestrator_info`` says on which host and in which process it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from turnout.model.breaker import BreakerState
from turnout.model.health import ExecutorStatus, Orchestrator, OrchestratorStatus, PoolStatus, StageStatus
from turnout.model.texts import printable
from turnout.model.workers import HubStatus, WorkerFigures, by_name

Labels: TypeAlias = tuple[tuple[str, str], ...]
Sample: TypeAlias = tuple[str, Labels, float]
Family: TypeAlias = tuple[str, str]
"""The kind of a metric, and what it means."""

FAMILIES: Mapping[str, Family] = {
    "turnout_orchestrators": ("gauge", "Orchestrators that are alive."),
    "turnout_orchestrator_info": ("gauge", "Where an orchestrator runs; always 1."),
    "turnout_orchestrator_condition": ("gauge", "1 for the condition that an orchestrator is in."),
    "turnout_uptime_seconds": ("gauge", "Since the orchestrator was started."),
    "turnout_status_age_seconds": ("gauge", "How old the figures of this orchestrator are."),
    "turnout_owned_runs": ("gauge", "Runs that the orchestrator drives."),
    "turnout_given_runs_total": ("counter", "Waiting runs that were handed to an orchestrator with room."),
    "turnout_pending_requests": ("gauge", "Submissions that are not durable yet."),
    "turnout_commits_total": ("counter", "Group commits."),
    "turnout_active_executors": ("gauge", "Stage executors of all pools."),
    "turnout_error_ratio": ("gauge", "Share of the latest batches of all pools that failed."),
    "turnout_stage_executor_items_total": ("counter", "Items that a stage executor has processed."),
    "turnout_stage_executor_items_per_second": ("gauge", "Items that a stage executor processed lately."),
    "turnout_stage_executor_batch_average_seconds": ("gauge", "What a batch takes on average."),
    "turnout_stage_executor_error_ratio": ("gauge", "Share of its latest batches that failed."),
    "turnout_stage_executor_state": ("gauge", "1 for the state of health that a stage executor is in."),
    "turnout_stage_executor_state_seconds": ("gauge", "How long it has been in that state."),
    "turnout_stage_executor_busy_seconds_total": ("counter", "Time that a stage executor has spent on batches."),
    "turnout_pool_executors": ("gauge", "Stage executors, by pool and state of health."),
    "turnout_pool_executors_min": ("gauge", "The fewest stage executors that a pool may have."),
    "turnout_pool_executors_max": ("gauge", "The most stage executors that a pool may have."),
    "turnout_pool_items_per_second": ("gauge", "Items that a pool processed lately."),
    "turnout_pool_utilization_ratio": ("gauge", "Busy time over wall time."),
    "turnout_pool_queue_items": ("gauge", "Items that wait for a pool."),
    "turnout_pool_items_total": ("counter", "Items that a pool has processed."),
    "turnout_pool_batches_total": ("counter", "Batches that a pool has taken."),
    "turnout_pool_errors_total": ("counter", "Batches that failed."),
    "turnout_pool_busy_seconds_total": ("counter", "Time that a pool's executors have spent on batches."),
    "turnout_pool_scaling_events_total": ("counter", "How often a pool has grown or shrunk."),
    "turnout_pool_replaced_total": ("counter", "Stage executors that were replaced because they were beyond help."),
    "turnout_pool_restarted_total": ("counter", "Stage executors that were replaced because they had worked enough."),
    "turnout_pool_breaker_state": ("gauge", "1 for the state that the pool's circuit breaker is in."),
    "turnout_task_executor_active_attempts": ("gauge", "Attempts that a task executor has in hand."),
    "turnout_task_executor_running_attempts": ("gauge", "Attempts that run, but for async bodies; within capacity."),
    "turnout_task_executor_waiting_attempts": ("gauge", "Attempts in a task executor's hand that have not begun."),
    "turnout_task_executor_capacity_attempts": ("gauge", "Attempts that a task executor runs at once."),
    "turnout_task_executor_async_running_attempts": ("gauge", "Attempts with async bodies that run."),
    "turnout_task_executor_async_capacity_attempts": ("gauge", "Attempts with async bodies that run at once, at most."),
    "turnout_task_executor_attempts_total": ("counter", "Attempts that ended, by task executor and outcome."),
    "turnout_task_executor_attempts_per_second": ("gauge", "Attempts that ended lately."),
    "turnout_task_executor_attempt_average_seconds": ("gauge", "What an attempt takes on average."),
    "turnout_task_executor_breaker_state": ("gauge", "1 for the state that the task executor's circuit breaker is in."),
    "turnout_workers": ("gauge", "Workers that are connected to the orchestrator's hub."),
    "turnout_worker_in_flight_attempts": ("gauge", "Attempts that a worker has from this hub."),
    "turnout_worker_running_attempts": ("gauge", "Attempts of this hub that a worker runs; within its capacity."),
    "turnout_worker_waiting_attempts": ("gauge", "Attempts of this hub that a worker has not begun."),
    "turnout_worker_capacity_attempts": ("gauge", "Attempts that a worker runs at once, from all its hubs."),
    "turnout_worker_attempts_total": ("counter", "Attempts of this hub that ended, by worker and outcome."),
    "turnout_worker_last_contact_seconds": ("gauge", "Since the last message of a worker."),
    "turnout_worker_draining": ("gauge", "1 for a worker that finishes what it has and leaves."),
    "turnout_worker_breaker_state": ("gauge", "1 for the state that the worker's circuit breaker is in."),
    "turnout_hub_messages_total": ("counter", "Messages between a hub and its workers."),
    "turnout_hub_malformed_total": ("counter", "Messages that could not be read."),
    "turnout_hub_dropped_total": ("counter", "Messages to workers that had gone or did not take them."),
    "turnout_hub_unmatched_waits": ("gauge", "Kinds of tasks that wait for a worker that is not there."),
    "turnout_database_connections": ("gauge", "Connections, by use."),
    "turnout_database_saturation_ratio": ("gauge", "Share of callers' time that was spent waiting for a connection."),
    "turnout_database_outage": ("gauge", "1 while commits do not get through."),
    "turnout_backpressure_factor": ("gauge", "1 is full speed."),
    "turnout_backpressure_events_total": ("counter", "How often the factor was changed."),
    "turnout_process_resident_memory_bytes": ("gauge", "Memory of the orchestrator's whole process."),
    "turnout_process_cpu_seconds_total": ("counter", "CPU time of the orchestrator's whole process."),
}

_STAGE_STATES = ("starting", "healthy", "degraded", "unhealthy", "stopping")
_CONDITIONS = ("healthy", "degraded", "unhealthy")


def exposition(orchestrators: Sequence[Orchestrator]) -> str:
    """The metrics of these orchestrators."""
    return exposed(FAMILIES, _all_samples(orchestrators))


def exposed(families: Mapping[str, Family], values: Iterable[Sample]) -> str:
    """Values of these metrics, each with its labels, in the order of the metrics."""
    samples: dict[str, list[str]] = {name: [] for name in families}
    for name, labels, value in values:
        samples[name].append(f"{name}{_shown(labels)} {_number(value)}")
    lines: list[str] = []
    for name, (kind, meaning) in families.items():
        if samples[name]:
            lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}", *samples[name]]
    return "\n".join(lines) + "\n"


def _all_samples(orchestrators: Sequence[Orchestrator]) -> Iterator[Sample]:
    yield "turnout_orchestrators", (), len(orchestrators)
    for one in orchestrators:
        for name, labels, value in _samples(one):
            yield name, (("orchestrator", one.id), *labels), value


def _samples(one: Orchestrator) -> Iterator[Sample]:
    status = one.status
    yield "turnout_orchestrator_info", (("host", one.host), ("pid", str(one.pid))), 1
    yield from _one_of("turnout_orchestrator_condition", (), "condition", _CONDITIONS, status.condition)
    yield "turnout_status_age_seconds", (), status.age_seconds + one.silent_seconds
    yield from _system(status)
    for name, pool in status.pools.items():
        yield from _pool((("pool", name),), pool)
        for stage in pool.stage_executors:
            yield from _stage((("pool", name), ("stage_executor", stage.id)), stage)
    for name, executor in status.executors.items():
        yield from _task_executor((("executor", name),), executor)
    if status.hub is not None:
        yield from _hub(status.hub)


def _system(status: OrchestratorStatus) -> Iterator[Sample]:
    yield "turnout_uptime_seconds", (), status.uptime_seconds
    yield "turnout_owned_runs", (), status.owned_runs
    yield "turnout_given_runs_total", (), status.given_runs
    yield "turnout_pending_requests", (), status.requests
    yield "turnout_commits_total", (), status.commits
    yield "turnout_active_executors", (), sum(pool.executors for pool in status.pools.values())
    yield "turnout_error_ratio", (), status.error_rate
    yield "turnout_database_connections", (("use", "active"),), status.active_connections
    yield "turnout_database_connections", (("use", "waiting"),), status.waiting_for_connections
    yield "turnout_database_connections", (("use", "size"),), status.pool_size
    yield "turnout_database_saturation_ratio", (), status.saturation
    yield "turnout_database_outage", (), status.outage is not None
    yield "turnout_backpressure_factor", (), status.backpressure
    yield "turnout_backpressure_events_total", (), status.backpressure_events
    yield "turnout_process_resident_memory_bytes", (), status.memory_bytes
    yield "turnout_process_cpu_seconds_total", (), status.cpu_seconds


def _pool(of: Labels, pool: PoolStatus) -> Iterator[Sample]:
    for state in ("healthy", "degraded", "unhealthy"):
        yield "turnout_pool_executors", (*of, ("state", state)), getattr(pool, state)
    yield "turnout_pool_executors_min", of, pool.min_executors
    yield "turnout_pool_executors_max", of, pool.max_executors
    yield "turnout_pool_items_per_second", of, pool.throughput
    yield "turnout_pool_utilization_ratio", of, pool.utilisation
    yield "turnout_pool_queue_items", of, pool.queued
    yield "turnout_pool_items_total", of, pool.items
    yield "turnout_pool_batches_total", of, pool.batches
    yield "turnout_pool_errors_total", of, pool.errors
    yield "turnout_pool_busy_seconds_total", of, pool.busy_seconds
    yield "turnout_pool_scaling_events_total", (*of, ("direction", "up")), pool.scaled_up
    yield "turnout_pool_scaling_events_total", (*of, ("direction", "down")), pool.scaled_down
    yield "turnout_pool_replaced_total", of, pool.replaced
    yield "turnout_pool_restarted_total", of, pool.restarted
    yield from _one_of("turnout_pool_breaker_state", of, "state", tuple(BreakerState), pool.breaker)


def _stage(of: Labels, stage: StageStatus) -> Iterator[Sample]:
    yield "turnout_stage_executor_items_total", of, stage.items
    yield "turnout_stage_executor_items_per_second", of, stage.items_per_second
    yield "turnout_stage_executor_batch_average_seconds", of, stage.average_seconds
    yield "turnout_stage_executor_error_ratio", of, stage.error_rate
    yield from _one_of("turnout_stage_executor_state", of, "state", _STAGE_STATES, stage.state)
    yield "turnout_stage_executor_state_seconds", of, stage.state_seconds
    yield "turnout_stage_executor_busy_seconds_total", of, stage.busy_seconds


def _task_executor(of: Labels, executor: ExecutorStatus) -> Iterator[Sample]:
    yield "turnout_task_executor_active_attempts", of, executor.active
    yield "turnout_task_executor_running_attempts", of, executor.running
    yield "turnout_task_executor_waiting_attempts", of, executor.waiting
    if executor.async_capacity:
        yield "turnout_task_executor_async_running_attempts", of, executor.async_running
        yield "turnout_task_executor_async_capacity_attempts", of, executor.async_capacity
    if executor.capacity is not None:
        yield "turnout_task_executor_capacity_attempts", of, executor.capacity
    completed = executor.executed - executor.failed
    yield "turnout_task_executor_attempts_total", (*of, ("outcome", "completed")), completed
    yield "turnout_task_executor_attempts_total", (*of, ("outcome", "failed")), executor.failed
    yield "turnout_task_executor_attempts_per_second", of, executor.attempts_per_second
    if executor.average_seconds is not None:
        yield "turnout_task_executor_attempt_average_seconds", of, executor.average_seconds
    yield from _one_of("turnout_task_executor_breaker_state", of, "state", tuple(BreakerState), executor.breaker)


def _hub(hub: HubStatus) -> Iterator[Sample]:
    yield "turnout_workers", (), hub.workers
    yield "turnout_hub_messages_total", (("direction", "received"),), hub.received
    yield "turnout_hub_messages_total", (("direction", "sent"),), hub.sent
    yield "turnout_hub_malformed_total", (), hub.malformed
    yield "turnout_hub_dropped_total", (), hub.dropped
    yield "turnout_hub_unmatched_waits", (), len(hub.waits)
    for name, worker in by_name(hub).items():
        yield from _worker((("worker", name),), worker)


def _worker(of: Labels, worker: WorkerFigures) -> Iterator[Sample]:
    yield "turnout_worker_in_flight_attempts", of, worker.in_flight
    yield "turnout_worker_running_attempts", of, worker.running
    yield "turnout_worker_waiting_attempts", of, worker.waiting
    yield "turnout_worker_capacity_attempts", of, worker.capacity
    for outcome, count in sorted(worker.ended.items()):
        yield "turnout_worker_attempts_total", (*of, ("outcome", outcome)), count
    yield "turnout_worker_last_contact_seconds", of, worker.silent_seconds
    yield "turnout_worker_draining", of, worker.draining
    yield from _one_of("turnout_worker_breaker_state", of, "state", tuple(BreakerState), worker.breaker)


def _one_of(name: str, of: Labels, label: str, choices: Sequence[str], now: str) -> Iterator[Sample]:
    """One sample for each choice, 1 for the one that holds."""
    for choice in choices:
        yield name, (*of, (label, str(choice))), choice == now


def _number(value: float) -> str:
    if isinstance(value, int):
        return str(int(value))
    if math.isnan(value):
        return "NaN"
    return repr(float(value)) if math.isfinite(value) else ("+Inf" if value > 0 else "-Inf")


def _shown(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}"


def _escaped(value: str) -> str:
    return printable(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
