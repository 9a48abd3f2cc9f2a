"""Deadlines: one thread that sleeps until the next one."""

from __future__ import annotations

import queue
import threading

import pytest

from tests.fake_loader import WAIT
from turnout.runtime.deadlines import Deadlines


def test_items_expire_in_the_order_of_their_deadlines() -> None:
    expired: queue.SimpleQueue[str] = queue.SimpleQueue()
    deadlines: Deadlines[str] = Deadlines(expired.put)
    deadlines.add(0.5, "later")
    deadlines.add(0.01, "sooner")
    assert [expired.get(timeout=WAIT) for _ in range(2)] == ["sooner", "later"]
    assert len(deadlines) == 0
    deadlines.close()


def test_a_discarded_item_never_expires() -> None:
    expired: queue.SimpleQueue[str] = queue.SimpleQueue()
    deadlines: Deadlines[str] = Deadlines(expired.put)
    with deadlines._changed:
        deadlines.discard(deadlines.add(0.01, "discarded"))
        deadlines.add(0.02, "kept")
    assert expired.get(timeout=WAIT) == "kept"
    assert expired.empty()
    deadlines.close()


def test_discarded_items_do_not_pile_up() -> None:
    deadlines: Deadlines[int] = Deadlines(lambda _: None)
    for number in range(10_000):
        deadlines.discard(deadlines.add(3600, number))
    assert len(deadlines._heap) < 200
    deadlines.close()


def test_an_error_in_one_expiry_does_not_stop_the_next(caplog: pytest.LogCaptureFixture) -> None:
    reached = threading.Event()

    def expire(item: str) -> None:
        if item == "bad":
            raise RuntimeError("boom")
        reached.set()

    deadlines: Deadlines[str] = Deadlines(expire)
    deadlines.add(0.001, "bad")
    deadlines.add(0.002, "good")
    assert reached.wait(WAIT)
    deadlines.close()


def test_it_can_be_used_again_after_closing() -> None:
    expired: queue.SimpleQueue[str] = queue.SimpleQueue()
    deadlines: Deadlines[str] = Deadlines(expired.put)
    deadlines.add(3600, "forgotten")
    first = deadlines._thread
    assert first is not None
    deadlines.close()
    first.join(WAIT)
    assert not first.is_alive()
    deadlines.add(0.001, "new")
    assert expired.get(timeout=WAIT) == "new"
    deadlines.close()
