"""What a pool says of itself to the scaler."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from turnout.orchestration.coordination.pool import ExecutorPool
from turnout.orchestration.coordination.settings import CoordinatorSettings, PoolSettings
from turnout.orchestration.stages.stage import Stage, WorkQueue

WAIT = 20.0
COOLDOWN = 10.0


class Held:
    """Batches that take until the test lets them go."""

    def __init__(self) -> None:
        self.begun: asyncio.Queue[list[Any]] = asyncio.Queue()
        self.go = asyncio.Event()

    async def __call__(self, items: list[Any]) -> None:
        self.begun.put_nowait(items)
        await self.go.wait()


Scenario = Callable[[Held, ExecutorPool], Coroutine[Any, Any, None]]


def over_a_pool(scenario: Scenario, batch_size: int = 2) -> None:
    async def whole() -> None:
        work = Held()
        pool = ExecutorPool(
            Stage.RESULT,
            WorkQueue(),
            work,
            PoolSettings(max_executors=4, batch_size=batch_size),
            CoordinatorSettings(scaling_cooldown_seconds=COOLDOWN),
        )
        await pool.start()
        await scenario(work, pool)
        work.go.set()
        await pool.stop(WAIT)

    asyncio.run(asyncio.wait_for(whole(), WAIT))


def test_what_an_executor_did_counts_also_while_it_leaves_and_after_it_has_left() -> None:
    async def scenario(work: Held, pool: ExecutorPool) -> None:
        pool.queue.put("item")
        await work.begun.get()
        before = pool.totals().busy_seconds
        pool.remove(1)
        leaving = pool.totals().busy_seconds
        assert leaving >= before > 0.0
        work.go.set()
        await asyncio.wait(pool._stopping)
        await asyncio.sleep(0)
        assert not pool._stopping
        assert pool.totals().busy_seconds >= leaving
        assert pool.totals().items_processed == 1

    over_a_pool(scenario)


@pytest.mark.parametrize(("batch_size", "left_behind"), [(2, 3.0), (100_000, 0.0)])
def test_what_a_batch_leaves_behind_is_known_when_none_was_taken_for_long(batch_size: int, left_behind: float) -> None:
    async def scenario(work: Held, pool: ExecutorPool) -> None:
        pool.queue.put("in hand")
        await work.begun.get()
        for item in range(5):
            pool.queue.put(item)
        seen = pool.look(pool._last.at + 1.0, saturation=0.0)
        assert (seen.left_behind, seen.backlog) == (left_behind, 5)

    over_a_pool(scenario, batch_size)


def test_the_peak_is_remembered_for_one_cooldown() -> None:
    async def scenario(work: Held, pool: ExecutorPool) -> None:
        start = pool._last.at
        pool._retired.busy_seconds = 6.0
        assert pool.look(start + 10.0, saturation=0.0).utilisation == pytest.approx(0.6)
        quiet = pool.look(start + 15.0, saturation=0.0)
        assert (quiet.utilisation, quiet.peak) == (0.0, pytest.approx(0.6))
        assert pool.look(start + 20.0, saturation=0.0).peak == pytest.approx(0.6)
        assert pool.look(start + 20.1, saturation=0.0).peak == 0.0

    over_a_pool(scenario)
