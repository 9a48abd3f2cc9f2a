"""Which waiters get slots: no limit is exceeded, all limits of a waiter at once, and nothing starves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnout.model.limits import LimitSize
from turnout.model.slot_admission import OVERTAKE_TIMEOUT, LimitState, Waiter, admit
from turnout.model.slots import AGEING_INTERVAL, begin_slack, rank

NAMES = ("a", "b", "c")


def waiter(number: int, *names: str, since: float = 0.0, priority: int = 0) -> Waiter:
    return Waiter(f"run-{number}", -1, rank(since, priority), since, names)


def limits(**sizes: int) -> dict[str, LimitState]:
    return {name: LimitState(LimitSize(size)) for name, size in sizes.items()}


waiters = st.lists(
    st.tuples(st.sets(st.sampled_from(NAMES), min_size=1), st.floats(0, 100, allow_nan=False), st.integers(-3, 3)).map(
        lambda each: (tuple(sorted(each[0])), each[1], each[2])
    ),
    max_size=30,
)
states = st.fixed_dictionaries(
    {
        name: st.builds(
            lambda at_most, rate, held, begun: LimitState(LimitSize(at_most, rate), held, begun),
            st.none() | st.integers(1, 4),
            st.none() | st.integers(1, 4),
            st.integers(0, 5),
            st.integers(0, 5),
        )
        for name in NAMES
    }
)


@given(waiters, states, st.floats(0, 300, allow_nan=False))
def test_no_limit_is_exceeded_and_nobody_gets_a_part(
    given_: list[tuple[tuple[str, ...], float, int]], found: dict[str, LimitState], now: float
) -> None:
    before = {name: (state.held, state.begun) for name, state in found.items()}
    made = [
        waiter(number, *names, since=since, priority=priority) for number, (names, since, priority) in enumerate(given_)
    ]
    admitted = admit(made, found, now)
    by_id = {each.run_id: each for each in made}
    assert len(set(admitted.granted)) == len(admitted.granted)
    for name, state in found.items():
        more = sum(name in by_id[run_id].names for run_id, _ in admitted.granted)
        held, begun = before[name]
        if more:
            assert state.size.at_most is None or held + more <= state.size.at_most
            assert state.size.rate is None or begun + more <= state.size.rate


@given(st.lists(st.tuples(st.floats(0, 50, allow_nan=False), st.integers(-2, 2)), min_size=1, max_size=20))
def test_of_one_limit_those_with_the_lowest_rank_go_first(given_: list[tuple[float, int]]) -> None:
    made = [waiter(number, "a", since=since, priority=priority) for number, (since, priority) in enumerate(given_)]
    admitted = admit(made, limits(a=3), 50.0)
    expected = sorted(made, key=lambda each: (each.rank, each.run_id, each.pos))[:3]
    assert admitted.granted == [(each.run_id, -1) for each in expected]


def test_a_level_of_priority_is_worth_a_minute_of_waiting() -> None:
    assert rank(1000.0, 0) > rank(1000.0, 1)
    assert rank(1000.0, 0) < rank(1000.0 + AGEING_INTERVAL + 1, 1)


def test_a_waiter_whose_other_limit_is_full_lets_others_pass_but_not_for_ever() -> None:
    both, one = waiter(1, "a", "b", since=0.0), waiter(2, "a", since=1.0)

    def at(now: float) -> list[str]:
        found = limits(a=1, b=1)
        found["b"].held = 1
        return [run_id for run_id, _ in admit([both, one], found, now).granted]

    assert at(OVERTAKE_TIMEOUT) == ["run-2"]
    assert at(OVERTAKE_TIMEOUT + 1) == []


def test_the_time_of_the_next_start_is_known_if_only_a_rate_holds_it_back() -> None:
    rated = LimitState(LimitSize(None, 1), held=3, begun=1, next_in=0.7)
    full = LimitState(LimitSize(1), held=1)
    assert admit([waiter(1, "a")], {"a": rated}, 0.0).next_in == 0.7
    assert admit([waiter(1, "a", "b")], {"a": rated, "b": full}, 0.0).next_in is None
    assert admit([], {}, 0.0).next_in is None


def test_the_extension_of_a_period_is_small_against_a_long_one() -> None:
    assert begin_slack(1.0) == 0.25 and begin_slack(3600.0) == 5.0
