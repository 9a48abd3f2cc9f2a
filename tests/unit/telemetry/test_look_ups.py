"""Look-ups are done in order in one thread; their number and their last moments are bounded."""

from __future__ import annotations

import threading

import pytest

from tests.kit.waiting import PATIENCE, until
from turnout.telemetry.look_ups import LookUps

pytestmark = pytest.mark.timeout(60)


class Reads:
    """Reads of a store that answers only when it is let."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.given_up: list[int] = []
        self.answers = threading.Event()

    def read(self, number: int) -> None:
        self.begun.append(number)
        assert self.answers.wait(PATIENCE)


@pytest.fixture
def reads() -> Reads:
    return Reads()


def test_what_waits_is_done_in_order_before_the_end(reads: Reads) -> None:
    look_ups = LookUps(reads.read, reads.given_up.append)
    reads.answers.set()
    for number in range(5):
        look_ups.add(number)
    look_ups.stop(PATIENCE)
    assert (reads.begun, reads.given_up) == ([0, 1, 2, 3, 4], [])


def test_what_is_beyond_the_bound_is_given_up_and_nothing_waits_for_it(reads: Reads) -> None:
    look_ups = LookUps(reads.read, reads.given_up.append, max_waiting=2)
    look_ups.add(0)
    until(lambda: reads.begun, "the first was not begun")
    for number in range(1, 5):
        look_ups.add(number)
    assert reads.given_up == [3, 4]
    reads.answers.set()
    look_ups.stop(PATIENCE)
    assert reads.begun == [0, 1, 2]


def test_the_end_does_not_wait_for_a_read_that_hangs_and_gives_up_the_rest(reads: Reads) -> None:
    look_ups = LookUps(reads.read, reads.given_up.append)
    for number in range(3):
        look_ups.add(number)
    until(lambda: reads.begun, "the first was not begun")
    look_ups.stop(0.01)
    assert (reads.begun, reads.given_up) == ([0], [1, 2])
    look_ups.add(3)
    assert reads.given_up == [1, 2, 3], "nothing is taken any more"
    reads.answers.set()


def test_without_a_look_up_there_is_no_thread(reads: Reads) -> None:
    before = threading.active_count()
    LookUps(reads.read, reads.given_up.append).stop(PATIENCE)
    assert threading.active_count() == before
