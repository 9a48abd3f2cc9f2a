"""The thread of Ray's blocking calls, without Ray."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.kit.waiting import PATIENCE
from turnout.executors.ray.driver import CallThread

BLOCKED = """
import threading
from turnout.executors.ray.driver import CallThread

began = threading.Event()
CallThread("blocked").submit(lambda: began.set() or threading.Event().wait())
began.wait()
"""


def test_calls_are_made_in_their_order_and_raise_where_they_are_awaited() -> None:
    thread = CallThread("calls")
    made: list[int] = []
    done = [thread.submit(lambda number=number: made.append(number)) for number in range(3)]
    failed = thread.submit(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        failed.result(PATIENCE)
    assert made == [0, 1, 2] and all(each.done() for each in done)
    thread.end()
    assert thread.submit(lambda: 4).result(PATIENCE) == 4
    thread.end()


def test_the_exit_of_a_process_does_not_wait_for_a_call_that_blocks() -> None:
    subprocess.run([sys.executable, "-c", BLOCKED], check=True, timeout=PATIENCE)
