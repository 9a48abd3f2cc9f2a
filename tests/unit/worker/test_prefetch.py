"""A worker asks for twice its slots, and for more if steps are quick."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnout.wire.documents import Step, StepMetadata
from turnout.wire.held_steps import HeldStep
from turnout.worker.prefetch import MAX_AHEAD, MAX_GROWTH, RETURN_TIMEOUT, Prefetch, waits_too_long


def after(asking: Prefetch, ended: int, places: int, now: float, busy: float = 0.2) -> int:
    """The credits at a tick, when so many steps have ended since the last one and bodies ran for ``busy`` seconds."""
    asking.busy(True, now - busy)
    asking.busy(False, now)
    asking.ended(ended)
    return asking.credits(places, now)


def held(number: int, received_at: float, start_wanted: bool = False) -> HeldStep:
    metadata = StepMetadata(token=f"{number}:1")
    step = Step(step_id=str(number), task_id="run", step_name="a", handler_class="h", metadata=metadata)
    return HeldStep(step=step, batch_id="b", hub="hub", received_at=received_at, start_wanted=start_wanted)


def test_a_worker_that_knows_nothing_asks_for_twice_its_places() -> None:
    assert Prefetch().credits(8, 0.0) == 16


def test_bodies_that_take_long_are_not_asked_for_ahead() -> None:
    asking = Prefetch()
    asking.credits(8, 0.0)
    # Eight places, half a second each.
    assert [after(asking, 3, 8, 0.2 * tick) for tick in range(1, 50)] == [16] * 49


def test_quick_bodies_are_asked_for_ahead_and_the_less_the_longer_none_has_ended() -> None:
    asking = Prefetch()
    asking.credits(8, 0.0)
    asked = [after(asking, 100, 8, 0.2), *(asking.credits(8, 0.2 * tick) for tick in range(2, 20))]
    assert asked[0] == 108 and asked == sorted(asked, reverse=True) and asked[-1] == 16


def test_a_worker_that_waits_for_its_hub_asks_for_what_it_would_get_through() -> None:
    asking = Prefetch()
    assert after(asking, 100, 8, 0.2, busy=0.1) == 16 + 192
    assert after(Prefetch(), 100, 8, 0.2, busy=0.01) == 16 + MAX_GROWTH * 100 - 8


def test_a_worker_that_is_seldom_used_asks_for_little_however_quick_its_bodies_are() -> None:
    assert after(Prefetch(), 2, 8, 0.2, busy=0.001) == 16


def test_without_places_nothing_is_asked_for() -> None:
    asking = Prefetch()
    asking.credits(8, 0.0)
    assert after(asking, 1_000, 0, 0.2) == 0


@given(st.lists(st.tuples(st.integers(0, 2_000), st.floats(0.0, 10.0)), max_size=20), st.integers(1, 100))
def test_what_is_asked_for_stays_within_its_bounds(ticks: list[tuple[int, float]], places: int) -> None:
    asking, now = Prefetch(), 0.0
    for ended, seconds in ticks:
        now += seconds
        assert 2 * places <= after(asking, ended, places, now) <= 2 * places + MAX_AHEAD


def test_what_was_asked_for_ahead_and_waits_for_long_is_for_others() -> None:
    waiting = [held(number, received_at=number / 10) for number in range(10)]
    late = waits_too_long(waiting, 2, now=RETURN_TIMEOUT + 0.45)
    assert [each.step.step_id for each in late] == ["2", "3", "4"]


def test_what_has_asked_for_leave_to_begin_stays() -> None:
    assert not waits_too_long([held(1, received_at=0.0, start_wanted=True)], 0, now=2 * RETURN_TIMEOUT)
