"""What a watch does next, whatever the API server answers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnout.executors.kubernetes.watch_state import (
    MAX_BACKOFF,
    STEADY_SECONDS,
    Failure,
    List,
    Watch,
    WatchState,
    backoff,
)


def listed(version: str = "7") -> WatchState:
    state = WatchState()
    state.listed(version)
    return state


def pod(version: str) -> dict[str, dict[str, str]]:
    return {"metadata": {"resourceVersion": version}}


def test_it_lists_first_and_watches_from_there() -> None:
    state = WatchState()
    assert state.next() == List(0.0) and not state.in_sync
    state.listed("7")
    assert state.next() == Watch("7", 0.0) and state.in_sync


def test_it_continues_after_the_last_event_also_if_that_was_a_bookmark() -> None:
    state = listed()
    state.saw(pod("9"))
    state.ended(quiet=False)
    assert state.next() == Watch("9", 0.0)
    state.saw(pod("20"))
    state.ended(quiet=False)
    assert state.next() == Watch("20", 0.0)


def test_a_version_that_is_too_old_is_listed_again_at_once() -> None:
    state = listed()
    state.failed(Failure(410, "too old"))
    assert state.next() == List(0.0)
    state.listed("30")
    assert state.next() == Watch("30", 0.0)


def test_a_server_that_lists_and_serves_no_watch_is_asked_ever_more_rarely() -> None:
    state, pauses = listed(), list[float]()
    for number in range(8):
        state.failed(Failure(410, "too old"))
        pauses.append(state.next().delay)
        state.listed(str(number))
        assert state.next().delay == 0, "what was listed is watched at once"
    assert pauses[0] == 0 and pauses[1:] == sorted(pauses[1:]) and pauses[1] > 0 and pauses[-1] > 5
    state.saw(pod("100"))
    state.failed(Failure(410, "too old"))
    assert state.next() == List(0.0), "an event ends the growth"


def test_a_watch_that_is_closed_at_once_is_opened_ever_more_rarely() -> None:
    state, pauses = listed(), list[float]()
    for _ in range(8):
        state.opened()
        state.closed(0.01)
        state.ended(quiet=True)
        assert state.in_sync
        pauses.append(state.next().delay)
    assert pauses[0] == 0 and pauses[1:] == sorted(pauses[1:]) and pauses[1] > 0 and pauses[-1] > 5
    state.closed(STEADY_SECONDS)
    state.ended(quiet=False)
    assert state.next().delay == 0, "a watch that lasted ends the growth"


def test_a_dropped_watch_continues_where_it_was() -> None:
    state = listed()
    state.saw(pod("8"))
    state.failed(Failure(None, "reset"))
    assert not state.in_sync
    step = state.next()
    assert isinstance(step, Watch) and step.version == "8" and step.delay > 0
    state.opened()
    assert state.in_sync
    state.saw(pod("9"))
    assert state.next() == Watch("9", 0.0)


def test_a_busy_server_is_left_alone_for_as_long_as_it_asks() -> None:
    state = listed()
    state.failed(Failure(429, "slow down", retry_after=9.0))
    assert state.next().delay == 9.0
    state.failed(Failure(500, "oops"))
    assert 0 < state.next().delay < 9.0


@given(st.one_of(st.none(), st.integers(400, 599)))
def test_only_an_object_that_the_server_finds_wrong_is_refused_for_good(status: int | None) -> None:
    failure = Failure(status, "x")
    assert failure.is_refusal == (status in (400, 413, 422))
    assert not (failure.is_refusal and failure.passes)


@given(st.integers(0, 200), st.one_of(st.none(), st.floats(0, 1e9)))
def test_pauses_grow_and_are_bounded(failures: int, asked: float | None) -> None:
    failure = Failure(503, "x", retry_after=asked)
    pause = backoff(failures, failure)
    assert 0 <= pause <= MAX_BACKOFF
    assert backoff(failures + 1, failure) >= pause
    assert (pause == 0) == (failures == 0)


@given(st.lists(st.sampled_from(["list", "event", "end", "gone", "busy", "reset"]), max_size=30))
def test_it_never_watches_without_a_version_and_never_skips_one(moves: list[str]) -> None:
    state, newest = WatchState(), 0
    for number, move in enumerate(moves, 1):
        step = state.next()
        if isinstance(step, Watch):
            assert step.version == str(newest)
        match move:
            case "list" if isinstance(step, List):
                newest = number
                state.listed(str(number))
            case "event" if isinstance(step, Watch):
                newest = number
                state.saw(pod(str(number)))
            case "end" if isinstance(step, Watch):
                state.ended(quiet=False)
            case "gone":
                state.failed(Failure(410, "gone"))
                assert isinstance(state.next(), List)
            case "busy":
                state.failed(Failure(429, "busy"))
            case "reset":
                state.failed(Failure(None, "reset"))
            case _:
                pass
