"""Settings of an orchestrator are refused by name before anything starts."""

from __future__ import annotations

from typing import Any

import pytest

from turnout.errors import InvalidSetting
from turnout.model.breaker import BreakerSettings
from turnout.model.verdict import Limits
from turnout.orchestration.coordination.settings import PoolSettings, PoolsSettings
from turnout.orchestration.settings import EngineSettings, Retention
from turnout.runtime.log_buffer import LogSettings


def test_the_defaults_are_valid() -> None:
    EngineSettings().check()


@pytest.mark.parametrize("field", ["heartbeat", "lease", "self_fence", "sweep", "cancel_grace", "stop_grace"])
@pytest.mark.parametrize("value", [0, -1.0, float("nan")])
def test_a_time_must_be_positive(field: str, value: float) -> None:
    with pytest.raises(InvalidSetting) as caught:
        EngineSettings(**{field: value}).check()
    assert caught.value.fields == {"field": f"orchestration.{field}"}
    assert caught.value.code == "invalid_setting"
    assert caught.value.message.startswith(f"orchestration.{field} is ")


@pytest.mark.parametrize("field", ["max_owned_runs", "claim_batch", "max_commit", "lanes", "connections"])
@pytest.mark.parametrize("value", [0, -5])
def test_a_bound_must_be_at_least_one(field: str, value: int) -> None:
    with pytest.raises(InvalidSetting) as caught:
        EngineSettings(**{field: value}).check()
    assert caught.value.fields == {"field": f"orchestration.{field}"}


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
    assert caught.value.fields["field"] == "orchestration.self_fence"
    assert caught.value.fields["beside"] == ("orchestration.heartbeat", "orchestration.lease")


def test_a_fast_test_setting_is_valid() -> None:
    EngineSettings(heartbeat=0.2, self_fence=0.2, lease=0.3, sweep=0.1).check()


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        (EngineSettings(submit_wait=-1.0), "orchestration.submit_wait"),
        (EngineSettings(limits=Limits(crashes=-1)), "orchestration.limits.crashes"),
        (EngineSettings(limits=Limits(refused_delay=-0.1)), "orchestration.limits.refused_delay"),
        (EngineSettings(logs=LogSettings(max_line=0)), "orchestration.logs.max_line"),
        (EngineSettings(retention=Retention(every=0)), "orchestration.retention.every"),
        (EngineSettings(executor_pools=PoolsSettings(task_finalizer=PoolSettings(batch_size=0))),
         "orchestration.executor_pools.task_finalizer.batch_size"),
    ],
)  # fmt: skip
def test_what_is_nested_is_refused_by_its_full_path(settings: EngineSettings, path: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        settings.check()
    assert caught.value.fields["field"] == path
    assert caught.value.message.startswith(f"{path} is ")


def test_impossible_breakers_of_executors_are_refused_with_their_path() -> None:
    with pytest.raises(InvalidSetting) as caught:
        EngineSettings(executor_breaker=BreakerSettings(probes=0)).check()
    assert caught.value.fields == {"field": "orchestration.executor_breaker.probes"}
    EngineSettings(executor_breaker=None).check()
