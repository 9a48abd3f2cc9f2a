"""Submissions above the high-water mark wait, or are refused, by choice."""

from __future__ import annotations

import threading
from concurrent.futures import Future

import pytest

from turnout.errors import TooBusy
from turnout.orchestration.stages.pending_submissions import MAX_RETRY, MIN_RETRY, Throttle

DONE: Future[str] = Future()


def test_below_the_mark_nobody_waits_and_a_batch_may_go_over_it() -> None:
    throttle = Throttle(2)
    throttle.admit(1, 0)
    throttle.admit(5, 0)
    assert (throttle.under_way, throttle.open) == (6, False)


def test_above_it_one_is_told_when_to_come_back() -> None:
    throttle = Throttle(1)
    throttle.admit(3, 0)
    with pytest.raises(TooBusy) as caught:
        throttle.admit(1, 0)
    assert caught.value.code == "too_busy"
    assert MIN_RETRY <= caught.value.fields["retry_after"] <= MAX_RETRY
    assert throttle.under_way == 3, "who was refused does not count"


def test_who_waits_goes_on_when_others_are_durable() -> None:
    throttle = Throttle(1)
    throttle.admit(1, 0)
    waiting = threading.Thread(target=throttle.admit, args=(1, None))
    waiting.start()
    throttle.settled(DONE)
    waiting.join(20)
    assert not waiting.is_alive()
    assert throttle.under_way == 1
