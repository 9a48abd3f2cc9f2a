"""How orchestrators are: one by one with what is wrong, and all of them in the health report."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.statuses import stuck_pool

from turnout.model.executor_status import ExecutorStatus, PoolStatus
from turnout.model.health import UNRESPONSIVE, Event, OrchestratorStatus, combined, health_report

POOLS = ("task_request_processor", "task_claimer")


def shape(value: Any) -> Any:
    """The value with the type of each leaf in its place."""
    return {name: shape(each) for name, each in value.items()} if isinstance(value, dict) else type(value)


SHAPE = {
    "status": str,
    "coordinator": {"running": bool, "uptime_seconds": int},
    "executor_pools": {name: {"healthy": int, "unhealthy": int, "throughput": float} for name in POOLS},
    "database": {"pool_size": int, "active_connections": int, "saturation": float},
}


def test_with_nobody_alive_the_report_has_the_same_shape_and_says_down() -> None:
    report = health_report([], POOLS)
    assert shape(report) == SHAPE
    assert report["status"] == "down"
    assert report["coordinator"] == {"running": False, "uptime_seconds": 0}


def test_the_report_is_over_all_orchestrators() -> None:
    one = OrchestratorStatus(
        uptime_seconds=3600.4,
        pools={"task_claimer": PoolStatus(executors=5, healthy=3, degraded=1, unhealthy=1, throughput=320.16)},
        pool_size=30,
        active_connections=20,
        saturation=0.70004,
    )
    other = OrchestratorStatus(
        uptime_seconds=20.0,
        pools={"task_claimer": PoolStatus(executors=2, healthy=2, throughput=1.0)},
        pool_size=20,
        active_connections=15,
        saturation=0.1,
    )
    report = health_report([one, other], POOLS)
    assert shape(report) == SHAPE
    assert report == {
        "status": "healthy",
        "coordinator": {"running": True, "uptime_seconds": 3600},
        "executor_pools": {
            "task_request_processor": {"healthy": 0, "unhealthy": 0, "throughput": 0.0},
            "task_claimer": {"healthy": 6, "unhealthy": 1, "throughput": 321.2},
        },
        "database": {"pool_size": 50, "active_connections": 35, "saturation": 0.7},
    }


def test_the_worst_of_all_orchestrators_is_the_status() -> None:
    well, slow = OrchestratorStatus(), OrchestratorStatus(backpressure=0.5)
    away = OrchestratorStatus(outage="connection refused")
    assert health_report([well, slow], POOLS)["status"] == "degraded"
    assert health_report([slow, away, well], POOLS)["status"] == "unhealthy"


def test_an_orchestrator_that_has_said_nothing_yet_counts_as_running() -> None:
    report = health_report([OrchestratorStatus(uptime_seconds=1.0)], POOLS)
    assert (report["status"], report["coordinator"]["running"]) == ("healthy", True)


@pytest.mark.parametrize(
    ("status", "condition", "where", "why"),
    [
        (OrchestratorStatus(age_seconds=UNRESPONSIVE + 2), "unhealthy", "event loop", "has not moved for 12 s"),
        (OrchestratorStatus(outage="refused"), "unhealthy", "database", "refused"),
        (OrchestratorStatus(pools={"p": PoolStatus(executors=2)}), "unhealthy", "p", "none of its 2 stage executors"),
        (
            OrchestratorStatus(pools={"p": stuck_pool("unhealthy")}),
            "degraded",
            "p",
            "step_enqueuer-1 is unhealthy: one batch",
        ),
        (OrchestratorStatus(pools={"p": stuck_pool("degraded")}), "degraded", "p", "has taken 61 s so far"),
        (OrchestratorStatus(pools={"p": PoolStatus(breaker="half_open")}), "degraded", "p", "breaker is half open"),
        (OrchestratorStatus(executors={"e": ExecutorStatus(breaker="open")}), "degraded", "executor e", "is open"),
        (OrchestratorStatus(backpressure=0.4, saturation=0.6), "degraded", "database", "60% of its callers' time"),
    ],
)
def test_each_trouble_says_where_and_why(status: OrchestratorStatus, condition: str, where: str, why: str) -> None:
    [trouble] = status.troubles
    assert (status.condition, trouble.condition, trouble.where) == (condition, condition, where)
    assert why in trouble.why
    stopping = msgspec.structs.replace(status, stopping=True)
    assert (stopping.condition, stopping.troubles) == ("healthy", ()), "who stops on purpose is not ill"


def test_a_status_survives_being_stored() -> None:
    status = OrchestratorStatus(
        at=1.5,
        pools={"p": stuck_pool("unhealthy")},
        executors={"default": ExecutorStatus(active=1, capacity=4, seconds=0.25)},
        events=(Event(at=1.0, kind="scaled", pool="p", detail="+1"),),
    )
    assert msgspec.json.decode(msgspec.json.encode(status), type=OrchestratorStatus) == status


pool_statuses = st.builds(
    PoolStatus,
    executors=st.integers(0, 9),
    healthy=st.integers(0, 9),
    queued=st.integers(0, 99),
    utilisation=st.floats(0, 1),
    throughput=st.floats(0, 1e6),
    breaker=st.sampled_from(["closed", "open", "half_open"]),
)
statuses = st.lists(
    st.builds(OrchestratorStatus, pools=st.dictionaries(st.sampled_from(POOLS), pool_statuses)), max_size=5
)


@given(statuses)
def test_a_pool_over_several_orchestrators_is_their_sum(found: list[OrchestratorStatus]) -> None:
    for name in POOLS:
        parts = [one.pools[name] for one in found if name in one.pools]
        whole = combined(found).pools.get(name, PoolStatus())
        assert whole.queued == sum(part.queued for part in parts)
        assert 0.0 <= whole.utilisation <= max((part.utilisation for part in parts), default=0.0) + 1e-9
        assert (whole.breaker == "closed") is all(part.breaker == "closed" for part in parts)


@given(statuses)
def test_the_report_has_its_shape_whatever_is_reported(found: list[OrchestratorStatus]) -> None:
    assert shape(health_report(found, POOLS)) == SHAPE


def test_capacity_and_time_over_several_are_known_only_if_all_say_them() -> None:
    knows = OrchestratorStatus(executors={"e": ExecutorStatus(capacity=4, executed=2, seconds=1.0)})
    silent = OrchestratorStatus(executors={"e": ExecutorStatus(executed=2)})
    both = combined([knows, knows]).executors["e"]
    assert (both.capacity, both.average_seconds) == (8, 0.5)
    assert combined([knows, silent]).executors["e"].capacity is None
    assert combined([silent]).executors["e"].average_seconds is None
