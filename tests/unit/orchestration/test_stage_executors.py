"""Stage executors: start and stop, batches, errors, and that no item is ever lost."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from turnout.errors import StoreUnreachable
from turnout.orchestration.coordination.pool import ExecutorPool
from turnout.orchestration.coordination.settings import CoordinatorSettings, PoolSettings
from turnout.orchestration.stages.stage import OrchestrationExecutor, Stage, WorkQueue
from turnout.orchestration.stages.stage_executor import StageExecutor

WAIT = 20.0
STAGE = Stage.START


class Work:
    """What a stage does in these tests: notes its batches; may fail or wait for the test's sign."""

    def __init__(self) -> None:
        self.batches: list[list[Any]] = []
        self.failures = 0
        self.begun: asyncio.Queue[list[Any]] = asyncio.Queue()
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, items: list[Any]) -> None:
        self.begun.put_nowait(items)
        await self.gate.wait()
        if self.failures:
            self.failures -= 1
            raise RuntimeError("broken")
        self.batches.append(items)

    async def started(self) -> list[Any]:
        return await asyncio.wait_for(self.begun.get(), WAIT)


def scenario(function: Callable[[Work, WorkQueue], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """A test that runs on an event loop of its own, with fresh work and a fresh queue."""

    def test() -> None:
        async def whole() -> None:
            await function(Work(), WorkQueue())

        asyncio.run(asyncio.wait_for(whole(), WAIT))

    test.__name__, test.__doc__ = function.__name__, function.__doc__
    return test


def executor_of(queue: WorkQueue, work: Callable[[list[Any]], Awaitable[None]], batch_size: int = 10) -> StageExecutor:
    return StageExecutor(STAGE, queue, work, PoolSettings(batch_size=batch_size))


async def quiet() -> None:
    """Let everything that is ready to run do so."""
    for _ in range(10):
        await asyncio.sleep(0)


# -- start and stop --------------------------------------------------------------------------------------------------
@scenario
async def test_an_executor_takes_what_was_there_before_it_started_and_what_comes_later(work, queue) -> None:
    queue.put(1)
    executor = executor_of(queue, work)
    assert executor.health().state == "starting"
    await executor.start()
    assert await work.started() == [1]
    assert executor.health().state == "healthy"
    await quiet()
    queue.put(2)
    assert await work.started() == [2]
    await executor.stop(WAIT)
    assert executor.health().state == "stopping"
    assert executor.metrics().items_processed == 2
    assert executor.metrics().batches == 2


@scenario
async def test_stop_before_start_returns_and_a_start_after_it_takes_nothing(work, queue) -> None:
    executor = executor_of(queue, work)
    await executor.stop(WAIT)
    queue.put(1)
    await executor.start()
    await quiet()
    assert (work.batches, len(queue)) == ([], 1)


@scenario
async def test_stop_finishes_the_batch_in_hand_and_takes_no_more(work, queue) -> None:
    work.gate.clear()
    executor = executor_of(queue, work, batch_size=1)
    await executor.start()
    queue.put(1)
    queue.put(2)
    await work.started()
    stopping = asyncio.ensure_future(executor.stop(WAIT))
    await quiet()
    assert not stopping.done()
    work.gate.set()
    await stopping
    assert (work.batches, len(queue)) == ([[1]], 1)


@scenario
async def test_stop_after_its_timeout_abandons_the_batch_and_puts_it_back_in_order(work, queue) -> None:
    work.gate.clear()
    executor = executor_of(queue, work, batch_size=2)
    for item in (1, 2, 3):
        queue.put(item)
    await executor.start()
    await work.started()
    await executor.stop(0.01)
    assert work.batches == []
    assert queue.take(9) == [1, 2, 3]


@scenario
async def test_stopping_twice_is_harmless(work, queue) -> None:
    executor = executor_of(queue, work)
    await executor.start()
    await executor.stop(WAIT)
    await executor.stop(WAIT)


@scenario
async def test_an_idle_executor_stops_at_once_though_others_sleep_at_the_same_queue(work, queue) -> None:
    executors = [executor_of(queue, work) for _ in range(3)]
    for executor in executors:
        await executor.start()
    await quiet()
    await asyncio.wait_for(executors[2].stop(10 * WAIT), WAIT / 2)
    queue.put(1)
    assert await work.started() == [1]
    for executor in executors:
        await executor.stop(WAIT)


@scenario
async def test_an_item_whose_wake_up_went_to_a_stopping_executor_is_taken_by_another(work, queue) -> None:
    first, second = executor_of(queue, work), executor_of(queue, work)
    await first.start()
    await quiet()
    await second.start()
    await quiet()
    queue.put(1)
    stopping = asyncio.ensure_future(first.stop(WAIT))
    assert await work.started() == [1]
    await stopping
    await second.stop(WAIT)


@scenario
async def test_a_loop_that_died_is_unhealthy(work, queue) -> None:
    async def die(items: list[Any]) -> None:
        raise SystemExit

    executor = executor_of(queue, work)
    await executor.start()
    await quiet()
    assert executor._task is not None
    executor._task.cancel()
    await asyncio.gather(executor._task, return_exceptions=True)
    assert executor.health().state == "unhealthy"


# -- batches ---------------------------------------------------------------------------------------------------------
@scenario
async def test_a_batch_holds_at_most_its_size_in_order_of_arrival(work, queue) -> None:
    executor = executor_of(queue, work, batch_size=3)
    for item in range(7):
        queue.put(item)
    assert [(await executor.process_batch()).processed for _ in range(4)] == [3, 3, 1, 0]
    assert work.batches == [[0, 1, 2], [3, 4, 5], [6]]


@pytest.mark.parametrize(("factor", "size"), [(1.0, 10), (0.5, 5), (0.25, 2), (0.0, 1), (-3.0, 1), (7.0, 10)])
def test_backpressure_makes_batches_smaller_but_never_empty(factor: float, size: int) -> None:
    async def whole() -> None:
        work, queue = Work(), WorkQueue()
        executor = executor_of(queue, work, batch_size=10)
        for item in range(20):
            queue.put(item)
        executor.apply_backpressure(factor)
        assert (await executor.process_batch()).processed == size

    asyncio.run(whole())


@scenario
async def test_under_backpressure_the_queue_is_still_emptied_and_it_can_be_lifted(work, queue) -> None:
    executor = executor_of(queue, work, batch_size=4)
    executor.apply_backpressure(0.5)
    for item in range(4):
        queue.put(item)
    await executor.start()
    assert [await work.started(), await work.started()] == [[0, 1], [2, 3]]
    executor.apply_backpressure(1.0)
    await executor.stop(WAIT)


# -- errors ----------------------------------------------------------------------------------------------------------
@scenario
async def test_an_exception_puts_the_items_back_in_order_and_the_executor_goes_on(work, queue) -> None:
    work.failures = 1
    executor = executor_of(queue, work, batch_size=2)
    for item in (1, 2, 3):
        queue.put(item)
    await executor.start()
    assert [await work.started() for _ in range(3)] == [[1, 2], [1, 2], [3]]
    await executor.stop(WAIT)
    assert work.batches == [[1, 2], [3]]
    metrics = executor.metrics()
    assert (metrics.errors, metrics.items_processed, metrics.batches) == (1, 3, 3)
    assert executor.health().error_rate == pytest.approx(1 / 3)


@scenario
async def test_items_of_a_failed_batch_survive_a_stop_that_cuts_the_pause_after_it_short(work, queue) -> None:
    work.failures = 1
    executor = executor_of(queue, work)
    queue.put(1)
    await executor.start()
    await work.started()
    await quiet()
    await executor.stop(0.0)
    assert queue.take(9) == [1]


@scenario
async def test_items_survive_the_cancellation_of_process_batch(work, queue) -> None:
    work.gate.clear()
    executor = executor_of(queue, work)
    queue.put(1)
    batch = asyncio.ensure_future(executor.process_batch())
    await work.started()
    batch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await batch
    assert queue.take(9) == [1]


@scenario
async def test_a_slow_batch_of_one_executor_does_not_hold_up_the_other(work, queue) -> None:
    work.gate.clear()
    executors = [executor_of(queue, work, batch_size=1) for _ in range(2)]
    for executor in executors:
        await executor.start()
    queue.put("slow")
    queue.put("other")
    assert {(await work.started())[0], (await work.started())[0]} == {"slow", "other"}
    work.gate.set()
    for executor in executors:
        await executor.stop(WAIT)


@scenario
async def test_what_one_that_lost_its_hold_does_later_does_not_count(work, queue) -> None:
    release = asyncio.Event()

    async def deaf(items: list[Any]) -> None:
        while not release.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await release.wait()
        work.batches.append(items)

    executor = executor_of(queue, deaf)
    queue.put(1)
    await executor.start()
    while not executor.busy:
        await quiet()
    await executor.stop(0.0)
    assert queue.take(9) == [1]
    release.set()
    await asyncio.wait({executor._task})
    assert work.batches == [[1]]
    assert (executor.metrics().items_processed, executor.metrics().batches, len(queue)) == (0, 1, 0)


@scenario
async def test_a_store_that_cannot_be_reached_is_not_the_executors_fault(work, queue) -> None:
    async def away(items: list[Any]) -> None:
        raise StoreUnreachable("away")

    executor = executor_of(queue, away)
    queue.put(1)
    for _ in range(6):
        await executor.process_batch()
    assert len(queue) == 1
    await executor.start()
    assert executor.health().state == "healthy"
    assert executor.metrics().errors == 0
    await executor.stop(WAIT)


@scenario
async def test_one_that_is_woken_for_what_another_took_does_not_look_by_itself(work, queue) -> None:
    looks: list[None] = []
    executor = StageExecutor(STAGE, queue, work, PoolSettings(), idle=lambda: looks.append(None))
    await executor.start()
    for _ in range(5):
        await quiet()
        queue.wake_all()
    await quiet()
    assert not looks, "two of them would wake one another for ever"
    await executor.stop(WAIT)


@scenario
async def test_one_that_has_had_nothing_to_do_for_its_interval_looks_by_itself(work, queue) -> None:
    looked = asyncio.Event()
    executor = StageExecutor(STAGE, queue, work, PoolSettings(polling_interval_ms=1), idle=looked.set)
    await executor.start()
    await asyncio.wait_for(looked.wait(), WAIT)
    await executor.stop(WAIT)


# -- queue and pool --------------------------------------------------------------------------------------------------
@scenario
async def test_a_sleeper_that_was_cancelled_does_not_swallow_a_wake_up(work, queue) -> None:
    gone, waiting = asyncio.ensure_future(queue.wait(WAIT)), asyncio.ensure_future(queue.wait(WAIT))
    await quiet()
    gone.cancel()
    queue.put(1)
    await asyncio.wait_for(waiting, WAIT)


@scenario
async def test_put_back_wakes_a_sleeper_and_goes_to_the_front(work, queue) -> None:
    waiting = asyncio.ensure_future(queue.wait(WAIT))
    await quiet()
    queue.put_back([1, 2])
    await asyncio.wait_for(waiting, WAIT)
    queue.put(3)
    assert len(queue) == 3
    assert (queue.take(2), queue.take(2)) == ([1, 2], [3])


@scenario
async def test_a_pool_has_its_size_of_executors_that_keep_the_protocol_and_work_one_queue(work, queue) -> None:
    pool = ExecutorPool(STAGE, WorkQueue(), work, PoolSettings(min_executors=3, batch_size=1), CoordinatorSettings())
    await pool.start()
    executors: list[OrchestrationExecutor] = [*pool.executors]
    assert len({executor.id for executor in executors}) == 3
    assert {executor.executor_type for executor in executors} == {STAGE}
    for item in range(6):
        pool.queue.put(item)
    assert sorted([(await work.started())[0] for _ in range(6)]) == list(range(6))
    await pool.stop(WAIT)
    assert sum(executor.metrics().items_processed for executor in executors) == 6


@scenario
async def test_the_heartbeat_moves_with_every_round(work, queue) -> None:
    executor = executor_of(queue, work)
    before = executor.health().last_heartbeat
    await executor.start()
    queue.put(1)
    await work.started()
    assert executor.health().last_heartbeat >= before
    assert executor.should_continue()
    await executor.stop(WAIT)
    assert not executor.should_continue()
