"""Circuit breakers: closed, open, half open, by the caller's clock."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.errors import InvalidSetting
from turnout.model.breaker import BREAKER_MOVES, Breaker, BreakerSettings, BreakerState

SETTINGS = BreakerSettings(threshold=3, recovery=1.0, longest=8.0)


def opened(now: float = 0.0) -> Breaker:
    breaker = Breaker()
    for _ in range(SETTINGS.threshold):
        breaker = breaker.failed(SETTINGS, now)
    return breaker


def test_failures_in_a_row_open_it_and_a_success_between_starts_the_count_anew() -> None:
    breaker = Breaker().failed(SETTINGS, 0.0).failed(SETTINGS, 0.0).succeeded().failed(SETTINGS, 0.0)
    assert (breaker.state, breaker.failures) == (BreakerState.CLOSED, 1)
    assert opened().state is BreakerState.OPEN


def test_open_it_lets_nobody_through_until_its_time_is_over_and_then_one() -> None:
    breaker = opened(now=10.0)
    assert not breaker.allows(10.9)
    assert breaker.trying(10.9) is breaker
    assert breaker.allows(11.0)
    probing = breaker.trying(11.0)
    assert probing.state is BreakerState.HALF_OPEN
    assert not probing.allows(11.0)


def test_a_probe_that_succeeds_closes_it() -> None:
    assert opened().trying(1.0).succeeded() == Breaker()


def test_a_probe_that_fails_opens_it_for_twice_as_long_up_to_a_bound() -> None:
    breaker, now, pauses = opened(), 0.0, []
    for _ in range(6):
        pauses.append(breaker.until - now)
        now = breaker.until
        breaker = breaker.trying(now).failed(SETTINGS, now)
    assert pauses == [1.0, 2.0, 4.0, 8.0, 8.0, 8.0]


def test_a_late_word_from_before_it_opened_changes_nothing() -> None:
    breaker = opened()
    assert breaker.succeeded() is breaker
    assert breaker.failed(SETTINGS, 0.5) is breaker


def test_a_probe_that_finds_out_nothing_makes_room_for_another() -> None:
    probing = opened().trying(1.0)
    again = probing.untried()
    assert (again.state, again.probing, again.allows(1.0)) == (BreakerState.HALF_OPEN, 0, True)
    assert again.untried() == again
    assert opened().untried() == opened()


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (BreakerSettings(threshold=-1), "threshold"),
        (BreakerSettings(probes=0), "probes"),
        (BreakerSettings(recovery=0.0), "recovery"),
        (BreakerSettings(recovery=float("nan")), "recovery"),
        (BreakerSettings(recovery=2.0, longest=1.0), "longest"),
        (BreakerSettings(longest=float("inf")), "longest"),
    ],
)
def test_impossible_settings_are_refused_by_name(given: BreakerSettings, field: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        given.check("breaker")
    assert caught.value.fields == {"field": f"breaker.{field}"}


@given(st.lists(st.tuples(st.sampled_from(["ok", "bad", "try", "nothing"]), st.floats(0, 5)), max_size=60))
def test_it_makes_legal_moves_only_and_never_lets_more_probes_through_than_it_may(
    steps: list[tuple[str, float]],
) -> None:
    breaker, now = Breaker(), 0.0
    for step, pause in steps:
        now += pause
        before = breaker
        match step:
            case "ok":
                breaker = breaker.succeeded()
            case "bad":
                breaker = breaker.failed(SETTINGS, now)
            case "nothing":
                breaker = breaker.untried()
            case _:
                if breaker.allows(now):
                    breaker = breaker.trying(now)
        assert breaker.state is before.state or breaker.state in BREAKER_MOVES[before.state]
        assert breaker.probing <= SETTINGS.probes
        assert breaker.until - now <= SETTINGS.longest


@pytest.mark.parametrize("state", BreakerState)
def test_every_state_has_its_moves(state: BreakerState) -> None:
    assert BREAKER_MOVES[state]
