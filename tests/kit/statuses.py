"""Builds statuses of orchestrators, pools, hubs and workers."""

from __future__ import annotations

from turnout.model.executor_status import ExecutorStatus, PoolStatus, StageStatus
from turnout.model.health import Event, Orchestrator, OrchestratorStatus
from turnout.model.workers import HubStatus, WorkerFigures
from turnout.runner.live_sessions import POOLS
from turnout.worker.status import Figures, HubFigures

NOW = 1_700_000_000.0
FULL = OrchestratorStatus(
    uptime_seconds=12.5,
    age_seconds=0.5,
    owned_runs=3,
    commits=12_345_678_901,
    backpressure=0.4,
    backpressure_events=2,
    error_rate=0.25,
    memory_bytes=98_765_432_109,
    pools={
        "task_claimer": PoolStatus(
            executors=2,
            healthy=1,
            unhealthy=1,
            max_executors=4,
            throughput=1.5,
            scaled_up=2,
            scaled_down=1,
            breaker="half_open",
            stage_executors=(
                StageStatus(id="task_claimer-1", items=7, items_per_second=0.5, state_seconds=3.0, busy_seconds=0.25),
                StageStatus(id="task_claimer-2", state="unhealthy", reason="its loop has ended", error_rate=1.0),
            ),
        )
    },
    hub=HubStatus(
        id="h",
        address="tcp://127.0.0.1:5890",
        workers=250,
        listed=(
            WorkerFigures(
                id="w1",
                name="gpu",
                credits=8,
                capacity=2,
                in_flight=3,
                running=2,
                waiting=1,
                ended={"completed": 5, "lost": 1},
            ),
            WorkerFigures(
                id="w2",
                name="gpu",
                credits=4,
                capacity=2,
                in_flight=1,
                running=1,
                ended={"completed": 2},
                breaker="open",
            ),
            WorkerFigures(id="w3", name="cpu", silent_seconds=2.5, draining=True),
        ),
        others=WorkerFigures(id="w4", name="(others)", in_flight=200),
        received=10,
        sent=20,
        malformed=1,
        dropped=2,
        waits=("no_worker_matches{a=b} handler x",),
    ),
    executors={
        "default": ExecutorStatus(
            active=20,
            capacity=8,
            running=8,
            waiting=9,
            async_capacity=512,
            async_running=3,
            executed=5,
            failed=2,
            seconds=1.0,
        ),
        "own": ExecutorStatus(),
    },
)
"""A status with a value for every figure."""

BUSY_POOL = PoolStatus(
    executors=3,
    healthy=2,
    degraded=1,
    min_executors=1,
    max_executors=4,
    utilisation=0.934,
    throughput=1234.5,
    queued=12_345,
)
BUSY = OrchestratorStatus(
    uptime_seconds=3725,
    owned_runs=1200,
    memory_bytes=88_000_000,
    cpu_ratio=0.35,
    pools=dict.fromkeys(POOLS, BUSY_POOL),
    executors={
        "default": ExecutorStatus(
            active=40, capacity=32, running=32, waiting=8, executed=4, failed=1, seconds=6.0, attempts_per_second=12.0
        ),
        "own": ExecutorStatus(active=1, running=1),
    },
    pool_size=10,
    active_connections=3,
    waiting_for_connections=2,
    saturation=0.5,
    backpressure=0.5,
    events=(Event(at=NOW - 5, kind="scaled", pool="step_enqueuer", detail="+1: utilisation 93%", executors=3),),
)
"""A status under load."""


def stuck_pool(state: str) -> PoolStatus:
    """Returns a pool with one stage executor in this state, stuck in a batch."""
    stage = StageStatus(id="step_enqueuer-1", state=state, reason="one batch has taken 61 s so far")
    return PoolStatus(executors=2, healthy=1, stage_executors=(stage, StageStatus(id="step_enqueuer-2")))


def orchestrator(
    status: OrchestratorStatus = BUSY, id: str = "a", host: str = "web-1", pid: int = 4711, silent: float = 0.0
) -> Orchestrator:
    return Orchestrator(id=id, host=host, pid=pid, silent_seconds=silent, status=status)


def hub_of(id: str, *workers: WorkerFigures) -> Orchestrator:
    """Returns an orchestrator whose hub has these workers."""
    hub = HubStatus(id=id, address=f"tcp://{id}:5890", workers=len(workers), listed=workers)
    return orchestrator(OrchestratorStatus(hub=hub), id=f"o-{id}")


def worker_status(*, in_contact: bool = True, draining: bool = False) -> Figures:
    """Returns the status of a worker with one hub."""
    hub = HubFigures(
        address="tcp://h:1",
        state="open",
        in_contact=in_contact,
        credits=8,
        sent=1,
        received=2,
        reconnects=0,
        malformed=0,
    )
    return Figures(
        worker_id="w",
        name="ada",
        uptime_seconds=1.5,
        draining=draining,
        concurrency=4,
        running=1,
        stuck=0,
        waiting=2,
        unacknowledged=3,
        ended={"completed": 5},
        hubs=(hub,),
    )
