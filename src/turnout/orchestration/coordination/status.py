"""Reads the status of this orchestrator from its parts, and holds the last one."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping

import msgspec

from turnout.contracts.dispatcher import Dispatcher
from turnout.dispatcher.placement import WORKERS
from turnout.model.events import ExecutorMetrics
from turnout.model.executor_status import ExecutorStatus, PoolStatus, StageStatus
from turnout.model.health import OrchestratorStatus
from turnout.model.reasons import NO_WORKER_MATCHES
from turnout.model.workers import HubStatus
from turnout.orchestration.active_runs import ActiveRuns
from turnout.orchestration.coordination.coordinator import OrchestrationLoopCoordinator
from turnout.orchestration.coordination.health import HealthState
from turnout.orchestration.coordination.pool import ExecutorPool
from turnout.orchestration.coordination.rates import Rates
from turnout.orchestration.coordination.status_history import StatusHistory
from turnout.orchestration.ledger import Ledger
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.shared_ticks import aligned
from turnout.orchestration.stages.capacity import CapacityQueue
from turnout.orchestration.stages.pending_submissions import Throttle
from turnout.orchestration.stages.stage import Stage
from turnout.orchestration.stages.stage_executor import StageExecutor
from turnout.orchestration.upkeep.rebalance import Rebalance

log = logging.getLogger("turnout.coordinator")

MAX_EVENTS = 20
MAX_WAITS = 20
REFRESH_INTERVAL = 0.5
"""Seconds from one status to the next."""


class StatusSnapshot:
    """Holds the last status and its time: made on the event loop, read in any thread, also if the loop is stuck."""

    def __init__(self, read: Callable[[], OrchestratorStatus], clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._clock = clock
        self._last: tuple[float, OrchestratorStatus] | None = None
        self.history = StatusHistory(clock)

    def refresh(self) -> OrchestratorStatus:
        """Reads the status; on the event loop only."""
        status = self._read()
        self._last = (self._clock(), status)
        self.history.see(status)
        return status

    async def keep_fresh(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            try:
                self.refresh()
            except Exception:
                log.exception("the status of this orchestrator could not be read")
            await asyncio.sleep(aligned(REFRESH_INTERVAL, clock()))

    def latest(self) -> OrchestratorStatus | None:
        """Returns the last status with its age, in any thread; None before the first."""
        if self._last is None:
            return None
        made, status = self._last
        return msgspec.structs.replace(status, age_seconds=max(0.0, self._clock() - made))

    def text(self) -> str | None:
        """Returns the same as JSON, for the heartbeat. Never raises: a status that cannot be encoded must not cost
        the lease."""
        try:
            latest = self.latest()
            return None if latest is None else msgspec.json.encode(latest).decode()
        except Exception:
            log.exception("the status of this orchestrator could not be encoded")
            return None


class StatusReader:
    """Reads the status of one orchestrator from its parts. Changes nothing but the memory of rates."""

    def __init__(
        self,
        session: OrchestratorSession,
        dispatcher: Dispatcher,
        runs: ActiveRuns,
        *,
        pools: Mapping[Stage, ExecutorPool],
        coordinator: OrchestrationLoopCoordinator,
        ledger: Ledger,
        capacity_queue: CapacityQueue,
        rebalance: Rebalance,
        throttle: Throttle,
    ) -> None:
        self._session = session
        self._dispatcher = dispatcher
        self._runs = runs
        self._pools = pools
        self._coordinator = coordinator
        self._ledger = ledger
        self._capacity_queue = capacity_queue
        self._rebalance = rebalance
        self._throttle = throttle
        self._rates = Rates()

    def read(self) -> OrchestratorStatus:
        coordinator, use, rates = self._coordinator, self._coordinator.store_use, self._rates
        executors = dict(self._metrics())
        rates.see(time.monotonic(), self._totals(executors))
        started, outage = coordinator.started_at, self._ledger.outage
        batches = rates.of("batches")
        return OrchestratorStatus(
            at=time.time(),
            uptime_seconds=0.0 if started is None else time.monotonic() - started,
            stopping=self._session.stopping,
            owned_runs=len(self._runs),
            given_runs=self._rebalance.given,
            requests=self._throttle.under_way,
            pools={stage.value: _pool(pool, rates) for stage, pool in self._pools.items()},
            executors={key: self._executor(key, metrics) for key, metrics in executors.items()},
            hub=self._hub(),
            pool_size=use.size,
            active_connections=use.active,
            waiting_for_connections=use.waiting,
            saturation=use.saturation,
            backpressure=coordinator.backpressure.factor,
            backpressure_events=coordinator.backpressure_events,
            error_rate=min(1.0, rates.of("errors") / batches) if batches else 0.0,
            commits=self._ledger.metrics.commits,
            outage=None if outage is None else outage.message,
            memory_bytes=_resident(),
            cpu_seconds=time.process_time(),
            cpu_ratio=rates.of("cpu"),
            events=tuple(coordinator.events)[-MAX_EVENTS:],
        )

    def _totals(self, executors: dict[str, ExecutorMetrics]) -> dict[str, float]:
        """Returns all counters, by the name of their rate."""
        totals: dict[str, float] = {"cpu": time.process_time(), "batches": 0.0, "errors": 0.0}
        for pool in self._pools.values():
            counters = pool.totals()
            totals[f"{pool.stage.value} items"] = counters.items_processed
            totals[f"{pool.stage.value} busy"] = counters.busy_seconds
            totals["batches"] += counters.batches
            totals["errors"] += counters.errors
            for stage in pool.executors:
                totals[stage.id] = stage.metrics().items_processed
        for key, metrics in executors.items():
            totals[f"executor {key}"] = metrics.total_executed
        return totals

    def _metrics(self) -> Iterator[tuple[str, ExecutorMetrics]]:
        for key, executor in self._dispatcher.executors.items():
            try:
                yield key, executor.metrics()
            except Exception:  # an author's code: an executor without metrics is left out
                continue

    def _executor(self, key: str, metrics: ExecutorMetrics) -> ExecutorStatus:
        active, capacity = metrics.active_tasks, metrics.capacity
        if capacity is None:
            capacity = self._dispatcher.capacity(key)
        running = metrics.running
        if running is None:
            running = active if capacity is None else min(active, capacity)
        return ExecutorStatus(
            active=active,
            capacity=capacity,
            running=running,
            waiting=max(0, active - running - metrics.async_running),
            async_capacity=metrics.async_capacity,
            async_running=metrics.async_running,
            shared=key in self._dispatcher.assigners,
            executed=metrics.total_executed,
            failed=metrics.total_failed,
            seconds=metrics.total_seconds,
            attempts_per_second=self._rates.of(f"executor {key}"),
            breaker=self._dispatcher.breaker(key),
            spare=self._rebalance.spare(key),
        )

    def _hub(self) -> HubStatus | None:
        """Returns the status of the hub, with the reasons of tasks that wait for workers that are not connected."""
        assigner = self._dispatcher.assigners.get(WORKERS)
        if assigner is None:
            return None
        reasons = {assigner.wait_reason(queue.selector) for queue in self._capacity_queue.selector_queues(WORKERS)}
        missing = sorted(reason for reason in reasons if reason.startswith(NO_WORKER_MATCHES))
        return msgspec.structs.replace(assigner.seen(), waits=tuple(missing[:MAX_WAITS]))


def _pool(pool: ExecutorPool, rates: Rates) -> PoolStatus:
    stages = tuple(_stage(executor, rates) for executor in pool.executors)
    states = [stage.state for stage in stages]
    totals, name = pool.totals(), pool.stage.value
    return PoolStatus(
        executors=len(pool.executors),
        healthy=states.count(HealthState.HEALTHY) + states.count(HealthState.STARTING),
        degraded=states.count(HealthState.DEGRADED),
        unhealthy=states.count(HealthState.UNHEALTHY),
        min_executors=pool.settings.min_executors,
        max_executors=pool.settings.max_executors,
        utilisation=min(1.0, rates.of(f"{name} busy") / max(1, len(stages))),
        throughput=rates.of(f"{name} items"),
        queued=len(pool.queue),
        items=totals.items_processed,
        batches=totals.batches,
        errors=totals.errors,
        busy_seconds=totals.busy_seconds,
        scaled_up=pool.scaled_up,
        scaled_down=pool.scaled_down,
        replaced=pool.replaced,
        restarted=pool.restarted,
        breaker=pool.gate.breaker.state.value,
        stage_executors=stages,
    )


def _stage(executor: StageExecutor, rates: Rates) -> StageStatus:
    health = executor.look()
    return StageStatus(
        id=executor.id,
        state=health.state.value,
        state_seconds=executor.seconds_in(health.state),
        reason=health.reason,
        items=health.items_processed,
        items_per_second=rates.of(executor.id),
        average_seconds=health.avg_processing_time_ms / 1000,
        error_rate=health.error_rate,
        busy_seconds=executor.metrics_now().busy_seconds,
    )


def _resident() -> int:
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:
            pages = int(file.read(200).split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
