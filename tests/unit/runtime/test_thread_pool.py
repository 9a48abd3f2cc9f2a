"""Threads: started on demand, woken one at a time, never lost."""

from __future__ import annotations

import queue
import threading
import weakref
from collections import deque

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


# -- quick items ---------------------------------------------------------------------------------------------------


class Gate:
    """Notes which thread ran each item, and leaves it to be settled. Items below zero wait at the gate, and may say so
    before; items from 1,000 on are not quick."""

    def __init__(self, limit: int = 8, *, announced: bool = False) -> None:
        self.announced = announced
        self.go = threading.Event()
        self.held = threading.Event()
        self.ran: queue.SimpleQueue[tuple[int, threading.Thread]] = queue.SimpleQueue()
        self.left: deque[int] = deque()
        self.left_before: dict[int, int] = {}
        self.settled: queue.SimpleQueue[int] = queue.SimpleQueue()
        self.threads: ThreadPool[int] = ThreadPool(limit, self.run, quick=lambda item: item < 1_000, settle=self.settle)

    def run(self, item: int) -> None:
        self.left_before[item] = len(self.left)
        if item < 0:
            if self.announced:
                self.threads.held_up()
            self.held.set()
            assert self.go.wait(WAIT)
        self.left.append(item)
        self.ran.put((item, threading.current_thread()))

    def settle(self) -> None:
        while self.left:
            self.settled.put(self.left.popleft())

    def take(self, count: int) -> list[tuple[int, threading.Thread]]:
        return [self.ran.get(timeout=WAIT) for _ in range(count)]


def test_quick_items_are_run_by_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnout.runtime.thread_pool.STANDBY_INTERVAL", 0.5)
    monkeypatch.setattr("turnout.runtime.thread_pool.MAX_STANDBY_INTERVAL", 0.5)
    gate = Gate()
    gate.threads.put(range(500))
    ran = gate.take(500)
    assert [item for item, _ in ran] == list(range(500))
    assert len({thread for _, thread in ran}) == 1
    gate.threads.close()


def test_other_threads_go_on_when_a_quick_item_is_held_up() -> None:
    gate = Gate()
    gate.threads.put([-1, *range(100)])
    assert {item for item, _ in gate.take(100)} == set(range(100))
    assert gate.held.is_set()
    gate.go.set()
    assert gate.take(1)[0][0] == -1
    gate.threads.close()


def test_what_was_left_to_be_settled_is_settled_when_the_next_item_is_held_up() -> None:
    gate = Gate()
    gate.threads.put([1, -1])
    assert gate.held.wait(WAIT)
    assert gate.settled.get(timeout=WAIT) == 1
    gate.go.set()
    gate.threads.close()


def test_it_is_settled_before_a_thread_waits_for_work() -> None:
    gate = Gate(limit=1)
    gate.threads.put([1, 2])
    assert [gate.settled.get(timeout=WAIT) for _ in range(2)] == [1, 2]
    gate.threads.close()


def test_it_is_settled_before_an_item_that_is_not_quick() -> None:
    gate = Gate(limit=1)
    gate.threads.put([-1, 1, 2, 1_000])
    assert gate.held.wait(WAIT)
    gate.go.set()
    gate.take(4)
    assert gate.left_before == {-1: 0, 1: 1, 2: 2, 1_000: 0}
    gate.threads.close()


def test_an_item_that_says_that_it_waits_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnout.runtime.thread_pool.STANDBY_INTERVAL", 2 * WAIT)
    gate = Gate(announced=True)
    gate.threads.put([1, -1, *range(2, 10)])
    assert {item for item, _ in gate.take(9)} == set(range(1, 10))
    gate.go.set()
    gate.threads.close()


def test_a_standing_thread_does_not_keep_new_items_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnout.runtime.thread_pool.STANDBY_INTERVAL", 2 * WAIT)
    gate = Gate()
    for first in range(0, 100, 10):
        gate.threads.put(range(first, first + 10))
        assert {item for item, _ in gate.take(10)} == set(range(first, first + 10))
        until(lambda: gate.threads._idle > 0)
    gate.threads.close()


def test_no_quick_item_is_lost_under_many_producers() -> None:
    count = 4 * 2_000
    gate = Gate()

    def produce(first: int) -> None:
        for item in range(first, first + 2_000):
            gate.threads.put([item])

    producers = [threading.Thread(target=produce, args=(n * 2_000,)) for n in range(4)]
    for producer in producers:
        producer.start()
    assert {item for item, _ in gate.take(count)} == set(range(count))
    gate.threads.close()
