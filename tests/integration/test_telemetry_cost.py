"""Without telemetry a step calls no function of it; the benchmark counts them."""

from __future__ import annotations

import pytest

from benchmarks.telemetry import calls_per_step
from tests.kit.collector import collector

pytestmark = pytest.mark.timeout(280)


def test_without_telemetry_a_step_calls_no_function_of_it(sqlite_url: str) -> None:
    assert calls_per_step(sqlite_url, runs=5) == 0


def test_the_count_sees_the_calls_of_telemetry(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with collector() as seen:
        monkeypatch.setenv("TURNOUT_TELEMETRY__ENABLED", "true")
        monkeypatch.setenv("TURNOUT_TELEMETRY__ENDPOINT", seen.url)
        assert calls_per_step(sqlite_url, runs=5) > 1
