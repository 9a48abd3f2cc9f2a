"""How a stage executor is, judged from outside."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.orchestration.coordination.health import HEALTH_MOVES, HealthState, Signs, judge
from turnout.orchestration.coordination.settings import CoordinatorSettings

SETTINGS = CoordinatorSettings()
NOW = 1_000.0


def signs(**given: Any) -> Signs:
    return Signs(**{"started_at": 900.0, "last_heartbeat": NOW, **given})


@pytest.mark.parametrize(
    ("seen", "state", "reason"),
    [
        (signs(started_at=None), "starting", None),
        (signs(), "healthy", None),
        (signs(stopping_at=NOW, ended=True, recent=(False,) * 20), "stopping", None),
        (signs(ended=True), "unhealthy", "its loop has ended"),
        (signs(busy_since=NOW - 5), "healthy", None),
        (signs(busy_since=NOW - 11, last_heartbeat=NOW - 11), "degraded", "11 s"),
        (signs(busy_since=NOW - 61), "unhealthy", "61 s"),
        (signs(busy_since=NOW - 500, excuse="the database does not answer"), "degraded", "database"),
        (signs(last_heartbeat=NOW - 11), "degraded", "no sign of life"),
        (signs(last_heartbeat=NOW - 61), "unhealthy", "no sign of life"),
        (signs(recent=(True,) * 17 + (False,) * 3), "degraded", "15%"),
        (signs(recent=(True, False, False, True, False, False)), "unhealthy", "67%"),
        (signs(recent=(True, False)), "healthy", None),
    ],
)
def test_the_state_and_its_reason(seen: Signs, state: str, reason: str | None) -> None:
    health = judge(seen, NOW, SETTINGS)
    assert health.state == state
    assert health.reason is None if reason is None else reason in (health.reason or "")


def test_it_carries_the_figures() -> None:
    health = judge(
        signs(items_processed=40, batches=4, busy_seconds=0.2, recent=(True, True, True, False)), NOW, SETTINGS
    )
    assert (health.items_processed, health.avg_processing_time_ms, health.error_rate) == (40, 50.0, 0.25)


def test_who_was_unhealthy_does_not_recover_by_itself() -> None:
    assert judge(signs(), NOW, SETTINGS, HealthState.UNHEALTHY).state is HealthState.UNHEALTHY
    assert judge(signs(), NOW, SETTINGS, HealthState.DEGRADED).state is HealthState.HEALTHY


any_signs = st.builds(
    Signs,
    started_at=st.none() | st.floats(0, NOW),
    stopping_at=st.none() | st.floats(0, NOW),
    ended=st.booleans(),
    last_heartbeat=st.floats(0, NOW),
    busy_since=st.none() | st.floats(0, NOW),
    excuse=st.none() | st.just("away"),
    recent=st.lists(st.booleans(), max_size=20).map(tuple),
)


@given(st.lists(any_signs, max_size=12))
def test_whatever_is_seen_it_moves_by_the_table(seen: list[Signs]) -> None:
    state = HealthState.STARTING
    for each in seen:
        after = judge(each, NOW, SETTINGS, state).state
        assert after is state or after in HEALTH_MOVES[state]
        state = after
