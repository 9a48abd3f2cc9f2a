"""Coroutines: an event loop of their own, bounded, that outlives whatever bodies do to it."""

from __future__ import annotations

import asyncio
import queue
import threading

import pytest

from tests.fake_loader import WAIT
from turnout.runtime.coroutine_pool import CoroutinePool


def test_items_run_on_a_loop_in_another_thread() -> None:
    seen: queue.SimpleQueue[threading.Thread] = queue.SimpleQueue()

    async def run(_: int) -> None:
        seen.put(threading.current_thread())

    coroutines: CoroutinePool[int] = CoroutinePool(4, run)
    coroutines.put([1, 2])
    first, second = (seen.get(timeout=WAIT) for _ in range(2))
    assert first is second is not threading.current_thread()
    coroutines.close()
    first.join(WAIT)
    assert not first.is_alive()


def test_no_more_run_at_once_than_the_limit_and_the_rest_follows() -> None:
    entered: queue.SimpleQueue[int] = queue.SimpleQueue()
    gates: dict[int, asyncio.Event] = {}
    loops: list[asyncio.AbstractEventLoop] = []

    async def run(item: int) -> None:
        loops.append(asyncio.get_running_loop())
        gates[item] = asyncio.Event()
        entered.put(item)
        await gates[item].wait()

    coroutines: CoroutinePool[int] = CoroutinePool(2, run)
    coroutines.put([1, 2, 3])
    assert {entered.get(timeout=WAIT) for _ in range(2)} == {1, 2}
    assert (coroutines.running, coroutines.waiting) == (2, 1)
    loops[0].call_soon_threadsafe(gates[1].set)
    assert entered.get(timeout=WAIT) == 3
    coroutines.close()


def test_what_has_not_started_can_be_taken_back_and_what_has_can_be_cancelled() -> None:
    entered: queue.SimpleQueue[int] = queue.SimpleQueue()
    cancelled: queue.SimpleQueue[int] = queue.SimpleQueue()

    async def run(item: int) -> None:
        entered.put(item)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.put(item)

    coroutines: CoroutinePool[int] = CoroutinePool(1, run)
    coroutines.cancel(1)
    coroutines.put([1, 2])
    assert entered.get(timeout=WAIT) == 1
    assert coroutines.drain() == [2]
    coroutines.cancel(2)
    coroutines.cancel(1)
    assert cancelled.get(timeout=WAIT) == 1
    coroutines.close()


def test_the_loop_goes_on_when_a_stray_task_raises_system_exit(caplog: pytest.LogCaptureFixture) -> None:
    done: queue.SimpleQueue[int] = queue.SimpleQueue()
    strays: list[asyncio.Task[None]] = []

    async def stray() -> None:
        raise SystemExit(1)

    async def run(item: int) -> None:
        if item == 0:
            strays.append(asyncio.create_task(stray()))
            await asyncio.sleep(0)
        done.put(item)

    coroutines: CoroutinePool[int] = CoroutinePool(1, run)
    coroutines.put([0, 1])
    assert [done.get(timeout=WAIT) for _ in range(2)] == [0, 1]
    coroutines.close()


def test_closing_cancels_what_runs_and_a_new_loop_serves_what_comes_later() -> None:
    entered: queue.SimpleQueue[int] = queue.SimpleQueue()
    cancelled = threading.Event()

    async def run(item: int) -> None:
        entered.put(item)
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    coroutines: CoroutinePool[int] = CoroutinePool(1, run)
    coroutines.put([1])
    entered.get(timeout=WAIT)
    coroutines.close()
    assert cancelled.wait(WAIT)
    coroutines.put([2])
    assert entered.get(timeout=WAIT) == 2
    coroutines.close()
