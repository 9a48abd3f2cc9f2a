"""Threads: started on demand, woken one at a time, never lost."""

from __future__ import annotations

import queue
import threading
import weakref

import pytest

from tests.fake_loader import WAIT
from tests.kit.waiting import until
from turnout.runtime.thread_pool import ThreadPool


def test_items_run_in_order_of_arrival_on_one_thread() -> None:
    done: queue.SimpleQueue[int] = queue.SimpleQueue()
    threads: ThreadPool[int] = ThreadPool(1, done.put)
    threads.put(range(100))
    assert [done.get(timeout=WAIT) for _ in range(100)] == list(range(100))
    threads.close()


def test_as_many_items_run_at_once_as_there_are_threads_and_no_more() -> None:
    entered: queue.SimpleQueue[int] = queue.SimpleQueue()
    go = threading.Event()

    def run(item: int) -> None:
        entered.put(item)
        go.wait(WAIT)

    threads: ThreadPool[int] = ThreadPool(4, run)
    threads.put(range(6))
    assert {entered.get(timeout=WAIT) for _ in range(4)} == {0, 1, 2, 3}
    assert threads.waiting == 2
    go.set()
    assert {entered.get(timeout=WAIT) for _ in range(2)} == {4, 5}
    threads.close()


def test_a_thread_is_started_only_if_none_is_idle() -> None:
    done: queue.SimpleQueue[int] = queue.SimpleQueue()
    idle = threading.Event()
    threads: ThreadPool[int] = ThreadPool(8, done.put)
    for item in range(20):
        threads.put([item])
        done.get(timeout=WAIT)
        while not threads._idle:
            idle.wait(0.001)
    assert threads._threads == 1
    threads.close()


def test_no_item_is_lost_under_many_producers() -> None:
    count = 4 * 5_000
    done: queue.SimpleQueue[int] = queue.SimpleQueue()
    threads: ThreadPool[int] = ThreadPool(8, done.put)

    def produce(first: int) -> None:
        for item in range(first, first + 5_000):
            threads.put([item])

    producers = [threading.Thread(target=produce, args=(n * 5_000,)) for n in range(4)]
    for producer in producers:
        producer.start()
    assert {done.get(timeout=WAIT) for _ in range(count)} == set(range(count))
    threads.close()


def test_what_no_thread_has_taken_can_be_taken_back() -> None:
    entered = threading.Event()
    go = threading.Event()

    def run(_: int) -> None:
        entered.set()
        go.wait(WAIT)

    threads: ThreadPool[int] = ThreadPool(1, run)
    threads.put([1, 2, 3])
    assert entered.wait(WAIT)
    assert threads.drain() == [2, 3]
    assert threads.waiting == 0
    go.set()
    threads.close()


def test_an_error_that_escapes_does_not_end_the_thread(caplog: pytest.LogCaptureFixture) -> None:
    done: queue.SimpleQueue[int] = queue.SimpleQueue()

    def run(item: int) -> None:
        if item == 0:
            raise SystemExit(3)
        done.put(item)

    threads: ThreadPool[int] = ThreadPool(1, run)
    threads.put([0, 1])
    assert done.get(timeout=WAIT) == 1
    assert threads._threads == 1
    threads.close()


def test_threads_end_when_closed_and_work_again_when_opened() -> None:
    seen: queue.SimpleQueue[threading.Thread] = queue.SimpleQueue()
    threads: ThreadPool[int] = ThreadPool(3, lambda _: seen.put(threading.current_thread()))
    threads.put(range(3))
    used = {seen.get(timeout=WAIT) for _ in range(3)}
    threads.close()
    for thread in used:
        thread.join(WAIT)
        assert not thread.is_alive()
    threads.open()
    threads.put([1])
    assert seen.get(timeout=WAIT) not in used
    threads.close()


def test_a_thread_that_waits_for_work_does_not_keep_what_it_ran_last() -> None:
    class Item:
        pass

    ran = threading.Event()
    threads: ThreadPool[Item] = ThreadPool(1, lambda item: ran.set())
    item = Item()
    left = weakref.ref(item)
    threads.put([item])
    assert ran.wait(WAIT)
    del item
    until(lambda: left() is None)
    threads.close()
