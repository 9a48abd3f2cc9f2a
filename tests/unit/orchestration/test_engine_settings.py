"""Settings of an orchestrator are refused by name before anything starts."""

from __future__ import annotations

from typing import Any

import pytest

from turnout.errors import InvalidSetting
from turnout.model.breaker import BreakerSettings
from turnout.orchestration.settings import EngineSettings


def test_the_defaults_are_valid() -> None:
    EngineSettings().check()


@pytest.mark.parametrize("field", ["heartbeat", "lease", "self_fence", "sweep", "cancel_grace", "stop_grace"])
@pytest.mark.parametrize("value", [0, -1.0, float("nan")])
def test_a_time_must_be_positive(field: str, value: float) -> None:
    with pytest.raises(InvalidSetting) as caught:
        EngineSettings(**{field: value}).check()
    assert caught.value.fields == {"field": field}
    assert caught.value.code == "invalid_setting"
    assert field in caught.value.message


@pytest.mark.parametrize("field", ["max_owned_runs", "claim_batch", "max_commit"])
@pytest.mark.parametrize("value", [0, -5])
def test_a_bound_must_be_at_least_one(field: str, value: int) -> None:
    with pytest.raises(InvalidSetting) as caught:
        EngineSettings(**{field: value}).check()
    assert caught.value.fields == {"field": field}


@pytest.mark.parametrize(
    "given",
    [
        {"heartbeat": 13.0},
        {"self_fence": 15.0},
        {"self_fence": 4.0},
        {"lease": 12.0},
    ],
)
def test_an_owner_must_fence_itself_after_a_heartbeat_and_before_its_lease_is_over(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidSetting) as caught:
        EngineSettings(**given).check()
    assert caught.value.fields == {"field": "self_fence"}


def test_a_fast_test_setting_is_valid() -> None:
    EngineSettings(heartbeat=0.2, self_fence=0.2, lease=0.3, sweep=0.1).check()


def test_impossible_breakers_of_executors_are_refused_with_their_path() -> None:
    with pytest.raises(InvalidSetting) as caught:
        EngineSettings(executor_breaker=BreakerSettings(probes=0)).check()
    assert caught.value.fields == {"field": "orchestration.executor_breaker.probes"}
    EngineSettings(executor_breaker=None).check()
