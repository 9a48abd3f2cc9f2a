"""What was last seen of an orchestrator, how old it is, and how quickly things grew."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.clock import Clock

from turnout.model.executor_status import ExecutorStatus
from turnout.model.health import OrchestratorStatus
from turnout.orchestration.coordination import status as status_module
from turnout.orchestration.coordination.rates import MAX_SAMPLES, Rates
from turnout.orchestration.coordination.status import StatusSnapshot


def test_before_the_first_look_nothing_is_known() -> None:
    snapshot = StatusSnapshot(OrchestratorStatus)
    assert snapshot.latest() is None
    assert snapshot.text() is None


def test_what_was_seen_grows_old_until_the_next_look() -> None:
    clock = Clock(100.0)
    snapshot = StatusSnapshot(lambda: OrchestratorStatus(at=7.0, owned_runs=3), clock)
    assert snapshot.refresh().age_seconds == 0.0
    clock.now += 30.0
    stored = msgspec.json.decode(snapshot.text() or "", type=OrchestratorStatus)
    assert (stored.at, stored.owned_runs, stored.age_seconds) == (7.0, 3, 30.0)
    snapshot.refresh()
    known = snapshot.latest()
    assert known is not None and known.age_seconds == 0.0


def test_a_status_that_cannot_be_written_down_raises_nothing() -> None:
    snapshot = StatusSnapshot(lambda: OrchestratorStatus(executors={"\ud800": ExecutorStatus()}))
    snapshot.refresh()
    assert snapshot.text() is None


def test_a_look_that_fails_is_not_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_module, "REFRESH_INTERVAL", 0.0)
    looked: list[int] = []

    async def whole() -> None:
        seen = asyncio.Event()

        def look() -> OrchestratorStatus:
            looked.append(1)
            if len(looked) == 1:
                raise RuntimeError("broken")
            seen.set()
            return OrchestratorStatus()

        looking = asyncio.ensure_future(StatusSnapshot(look).keep_fresh())
        await asyncio.wait_for(seen.wait(), 20.0)
        looking.cancel()

    asyncio.run(whole())


def test_a_rate_is_taken_over_the_window() -> None:
    rates = Rates(window=5.0)
    assert rates.of("items") == 0.0
    for second in range(11):
        rates.see(float(second), {"items": 10.0 * second if second < 6 else 50.0})
    assert rates.of("items") == 0.0, "nothing came in the last five seconds"
    rates.see(11.0, {"items": 100.0, "new": 10.0})
    assert rates.of("items") == 10.0
    assert rates.of("new") == 2.0, "who was not there has grown from nothing"
    assert rates.of("unknown") == 0.0


@given(st.lists(st.tuples(st.floats(0.0, 3.0), st.integers(0, 100)), min_size=2, max_size=300))
def test_rates_are_never_negative_and_remember_little(steps: list[tuple[float, int]]) -> None:
    rates = Rates(window=5.0)
    now, total = 0.0, 0
    for passed, grown in steps:
        now, total = now + passed, total + grown
        rates.see(now, {"items": total})
        assert rates.of("items") >= 0.0
        assert len(rates._seen) <= MAX_SAMPLES + 3
