"""The status of this orchestrator, read from its parts."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from turnout.contracts.dispatcher import Dispatcher
from turnout.model.events import ExecutorMetrics
from turnout.model.health import ExecutorStatus, OrchestratorStatus, PoolStatus, StageStatus
from turnout.model.reasons import NO_WORKER_MATCHES
from turnout.model.workers import HubStatus
from turnout.orchestration.active_runs import ActiveRuns
from turnout.orchestration.capacity_queue import CapacityQueue, rest_of
from turnout.orchestration.coordination.coordinator import OrchestrationLoopCoordinator
from turnout.orchestration.coordination.health import HealthState
from turnout.orchestration.coordination.pool import ExecutorPool
from turnout.orchestration.coordination.rates import Rates
from turnout.orchestration.ledger import Ledger
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.stages.stage import Stage
from turnout.orchestration.stages.stage_executor import StageExecutor
from turnout.orchestration.throttle import Throttle
from turnout.orchestration.upkeep.rebalance import Rebalance

SHOWN_EVENTS = 20
SHOWN_WAITS = 20


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
            events=tuple(coordinator.events)[-SHOWN_EVENTS:],
        )

    def _totals(self, executors: dict[str, ExecutorMetrics]) -> dict[str, float]:
        """Everything that only grows, by the name under which its rate is asked for."""
        totals: dict[str, float] = {"cpu": time.process_time(), "batches": 0.0, "errors": 0.0}
        for pool in self._pools.values():
            whole = pool.totals()
            totals[f"{pool.stage.value} items"] = whole.items_processed
            totals[f"{pool.stage.value} busy"] = whole.busy_seconds
            totals["batches"] += whole.batches
            totals["errors"] += whole.errors
            for stage in pool.executors:
                totals[stage.id] = stage.metrics().items_processed
        for key, metrics in executors.items():
            totals[f"executor {key}"] = metrics.total_executed
        return totals

    def _metrics(self) -> Iterator[tuple[str, ExecutorMetrics]]:
        for key, executor in self._dispatcher.executors.items():
            try:
                yield key, executor.metrics()
            except Exception:  # somebody else's code: what it cannot say is not shown
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
        """The hub, and for which workers that are not there tasks wait."""
        for key, assigner in self._dispatcher.assigners.items():
            reasons = {assigner.why_not(rest_of(line)) for line in self._capacity_queue.waited_for(key)}
            missing = sorted(reason for reason in reasons if reason.startswith(NO_WORKER_MATCHES))
            return msgspec.structs.replace(assigner.seen(), waits=tuple(missing[:SHOWN_WAITS]))
        return None


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
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
