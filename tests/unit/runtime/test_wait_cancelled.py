"""Waiting for cancellation: a body that waits is told at once, however many of its threads do."""

from __future__ import annotations

import threading

from tests.fake_loader import WAIT, FakeLoader, Results
from turnout.executors.thread import ThreadExecutor
from turnout.model.events import ExecutionStatus, TaskReadyEvent
from turnout.model.info import TaskInfo, current_task, info_of
from turnout.runtime.execution import wait_cancelled

EVENT = TaskReadyEvent(run_id="r", task_id="r.0", task_name="public::embedded::w::t", attempt=1, max_attempts=1)


def test_all_threads_that_wait_are_told() -> None:
    info = info_of(EVENT, waiter=wait_cancelled)
    told: list[bool] = []
    threads = [threading.Thread(target=lambda: told.append(info.wait_cancelled(WAIT))) for _ in range(8)]
    for thread in threads:
        thread.start()
    info.cancelled = True
    for thread in threads:
        thread.join(WAIT)
    assert told == [True] * 8


def test_a_wait_that_nobody_ends_is_over_when_its_time_is() -> None:
    info = info_of(EVENT, waiter=wait_cancelled)
    assert info.wait_cancelled(0) is False
    assert info.wait_cancelled(0.001) is False


def test_who_begins_to_wait_after_the_cancellation_need_not() -> None:
    info = info_of(EVENT, waiter=wait_cancelled)
    info.cancelled = True
    assert info.wait_cancelled() is True


def test_a_body_in_a_thread_learns_of_its_cancellation_while_it_waits() -> None:
    waiting, learned = threading.Event(), threading.Event()

    def body() -> None:
        info = current_task()
        assert isinstance(info, TaskInfo)
        waiting.set()
        if info.wait_cancelled(WAIT):
            learned.set()

    loader, results = FakeLoader(), Results()
    executor = ThreadExecutor(threads=1)
    executor.bind(loader)
    event = loader.add(body)
    executor.execute_many([event], results)
    assert waiting.wait(WAIT)
    executor.cancel(event)
    assert results.one().status is ExecutionStatus.CANCELLED
    assert learned.wait(WAIT), "the body returned long before its wait was over"
