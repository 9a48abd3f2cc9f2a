"""The coordinator over real pools: who is stuck, broken or gone is replaced, and no item is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import msgspec
import pytest

from turnout.errors import InvalidSetting
from turnout.model.breaker import BreakerState
from turnout.model.rows import StoreUse
from turnout.orchestration.coordination.coordinator import OrchestrationLoopCoordinator
from turnout.orchestration.coordination.pool import ExecutorPool
from turnout.orchestration.coordination.settings import CoordinatorSettings, PoolSettings
from turnout.orchestration.stages.stage import Stage, WorkQueue

WAIT = 20.0
STAGE = Stage.RESULT
NEVER = 3600.0
SETTINGS = CoordinatorSettings(
    scaling_interval_seconds=NEVER,
    health_check_interval_seconds=NEVER,
    backpressure_interval_seconds=NEVER,
    degraded_after_seconds=0.001,
    stuck_after_seconds=0.002,
    drain_timeout_seconds=5.0,
)
"""Loops that never come round by themselves: the tests make each look."""


class Stubborn:
    """Notes what is done. The first batches may hang, fail or ignore their cancellation."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.news = asyncio.Event()
        self.begun = asyncio.Event()
        self.hanging = 0
        self.deaf = 0
        self.failing = 0

    async def __call__(self, items: list[Any]) -> None:
        self.begun.set()
        if self.hanging:
            self.hanging -= 1
            await asyncio.Event().wait()
        if self.deaf:
            self.deaf -= 1
            while True:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    await asyncio.sleep(NEVER)
        if self.failing:
            self.failing -= 1
            raise RuntimeError("broken")
        self.done += items
        self.news.set()

    async def has_done(self, count: int) -> None:
        while len(self.done) < count:
            self.news.clear()
            await asyncio.wait_for(self.news.wait(), WAIT)


Scenario = Callable[[Stubborn, ExecutorPool, OrchestrationLoopCoordinator], Coroutine[Any, Any, None]]


def scenario(pool_settings: PoolSettings, **changes: Any) -> Callable[[Scenario], Callable[[], None]]:
    def decorate(function: Scenario) -> Callable[[], None]:
        def test() -> None:
            async def whole() -> None:
                work = Stubborn()
                settings = msgspec.structs.replace(SETTINGS, **changes)
                pool = ExecutorPool(STAGE, WorkQueue(), work, pool_settings, settings)
                coordinator = OrchestrationLoopCoordinator({STAGE: pool}, settings)
                await coordinator.start()
                await function(work, pool, coordinator)
                await coordinator.stop(0.1)

            asyncio.run(asyncio.wait_for(whole(), WAIT))

        test.__name__, test.__doc__ = function.__name__, function.__doc__
        return test

    return decorate


async def until(check: Callable[[], Awaitable[bool] | bool]) -> None:
    while True:
        answer = check()
        if answer is True or (not isinstance(answer, bool) and await answer):
            return
        await asyncio.sleep(0.005)


@scenario(PoolSettings(batch_size=2))
async def test_a_stuck_executor_is_replaced_and_its_items_are_done_by_another(work, pool, coordinator) -> None:
    work.hanging = 1
    stuck = pool.executors[0]
    for item in range(3):
        pool.queue.put(item)
    await work.begun.wait()

    async def replaced() -> bool:
        await coordinator.check_health()
        return stuck not in pool.executors

    await until(replaced)
    await work.has_done(3)
    assert sorted(work.done) == [0, 1, 2]
    assert coordinator.events[0].kind == "replaced"


@scenario(PoolSettings(batch_size=5))
async def test_one_that_does_not_hear_its_cancellation_loses_its_hold_on_its_items(work, pool, coordinator) -> None:
    work.deaf = 1
    [deaf] = pool.executors
    for item in range(3):
        pool.queue.put(item)
    await work.begun.wait()
    await pool.replace(deaf, drain=False)
    await work.has_done(3)
    assert sorted(work.done) == [0, 1, 2]
    deaf._task.cancel()


@scenario(
    PoolSettings(batch_size=1, circuit_breaker_enabled=False),
    error_window=5,
    degraded_after_seconds=100.0,
    stuck_after_seconds=1000.0,
)
async def test_one_that_always_raises_is_replaced(work, pool, coordinator) -> None:
    work.failing = 5
    [broken] = pool.executors
    pool.queue.put("item")
    await until(lambda: broken.metrics().errors >= 5 or broken not in pool.executors)

    async def replaced() -> bool:
        await coordinator.check_health()
        return broken not in pool.executors

    # The last failed batch is counted when the pause after it is over.
    await until(lambda: len(broken._recent) >= 5)
    await until(replaced)
    await work.has_done(1)
    assert work.done == ["item"]


@scenario(PoolSettings())
async def test_one_whose_task_was_cancelled_from_outside_is_replaced(work, pool, coordinator) -> None:
    [gone] = pool.executors
    gone._task.cancel()
    await asyncio.gather(gone._task, return_exceptions=True)
    pool.queue.put("item")
    await coordinator.check_health()
    assert gone not in pool.executors
    await work.has_done(1)


@scenario(PoolSettings())
async def test_who_looks_before_the_health_check_takes_nothing_from_it(work, pool, coordinator) -> None:
    work.hanging = 1
    [stuck] = pool.executors
    pool.queue.put("item")
    await work.begun.wait()
    await until(lambda: stuck.look().state == "unhealthy")
    assert "one batch has taken" in stuck.look().reason
    assert pool.executors == [stuck], "looking replaces nobody"
    assert (stuck.seconds_in(stuck.look().state), stuck._state) == (0.0, "starting"), "looking moves no state"
    await coordinator.check_health()
    assert stuck not in pool.executors
    assert "one batch has taken" in coordinator.events[0].detail
    await work.has_done(1)


@scenario(PoolSettings(batch_size=1, min_executors=2))
async def test_what_a_pool_has_done_never_falls_while_somebody_leaves(work, pool, coordinator) -> None:
    for item in range(4):
        pool.queue.put(item)
    await work.has_done(4)
    await until(lambda: pool.totals().items_processed == 4)
    pool.remove(1)
    assert pool.totals().items_processed == 4, "who was dismissed and is not gone yet counts"
    await until(lambda: not pool._stopping)
    assert pool.totals().items_processed == 4


@scenario(PoolSettings(), restart_after_items=2, degraded_after_seconds=100.0, stuck_after_seconds=1000.0)
async def test_one_that_has_worked_enough_is_replaced_by_a_new_one(work, pool, coordinator) -> None:
    [old] = pool.executors
    for item in range(3):
        pool.queue.put(item)
    await work.has_done(3)
    await until(lambda: old.metrics().items_processed == 3)
    await coordinator.check_health()
    assert old not in pool.executors
    assert len(pool.executors) == 1
    assert coordinator.events[-1].kind == "restarted"
    assert (pool.restarted, pool.replaced) == (1, 0)
    await until(lambda: not pool._stopping)
    assert pool.totals().items_processed == 3


@scenario(PoolSettings(), health_check_interval_seconds=NEVER)
async def test_a_look_that_comes_late_itself_judges_nobody(work, pool, coordinator) -> None:
    """Who was held up with the loop could not give a sign of life."""
    now = coordinator._looked_at
    coordinator._clock = lambda: now
    gone = pool.executors[0]
    gone._task.cancel()
    await asyncio.gather(gone._task, return_exceptions=True)
    now += 2 * NEVER
    await coordinator.check_health()
    assert pool.executors == [gone]
    now += 1.0
    await coordinator.check_health()
    assert gone not in pool.executors


@scenario(PoolSettings(max_executors=4, batch_size=1), scaling_cooldown_seconds=NEVER)
async def test_a_pool_grows_under_load_once_per_cooldown(work, pool, coordinator) -> None:
    work.hanging = 10
    for item in range(10):
        pool.queue.put(item)
    await work.begun.wait()
    pool._last = msgspec.structs.replace(pool._last, at=pool.executors[0]._busy_since)
    await coordinator.check_load()
    assert len(pool.executors) == 2
    await coordinator.check_load()
    assert len(pool.executors) == 2
    assert coordinator.events[-1].detail.startswith("+1: utilisation")
    assert (pool.scaled_up, pool.scaled_down) == (1, 0)


@scenario(PoolSettings(min_executors=1, max_executors=4))
async def test_who_is_removed_finishes_his_batch_and_idle_ones_go_first(work, pool, coordinator) -> None:
    await pool.add(2)
    work.hanging = 1
    pool.queue.put("item")
    await work.begun.wait()
    [busy] = [executor for executor in pool.executors if executor.busy]
    pool.remove(2)
    assert pool.executors == [busy]


@scenario(PoolSettings())
async def test_a_planned_stop_raises_no_alarm(work, pool, coordinator) -> None:
    await coordinator.stop(1.0)
    await coordinator.check_health()
    assert [health.state for _, health in pool.health()] == ["stopping"]
    assert not coordinator.events


@scenario(PoolSettings(batch_size=10))
async def test_backpressure_reaches_everybody_also_who_comes_later(work, pool, coordinator) -> None:
    coordinator._store_use = lambda: StoreUse(size=2, active=2, waiting=2, saturation=0.5)
    await coordinator.check_store()
    await pool.add(1)
    assert [executor._factor for executor in pool.executors] == [0.5, 0.5]
    coordinator._store_use = lambda: StoreUse(size=2, active=0, waiting=0, saturation=0.0)
    for _ in range(6):
        await coordinator.check_store()
    assert [executor._factor for executor in pool.executors] == [1.0, 1.0]
    assert coordinator.backpressure_events == len(coordinator.events) > 1


@scenario(PoolSettings(circuit_breaker_threshold=2))
async def test_a_database_that_does_not_answer_opens_the_breaker_of_who_waits_for_it(work, pool, coordinator) -> None:
    work.hanging = 1
    pool.queue.put("item")
    await work.begun.wait()
    coordinator.store_failed()
    coordinator.store_failed()
    assert pool.gate.breaker.state is BreakerState.OPEN
    coordinator.store_answered()
    assert pool.gate.breaker.state is BreakerState.CLOSED


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        (CoordinatorSettings(target_utilization=1.0), "orchestration.coordinator.target_utilization"),
        (CoordinatorSettings(scaling_cooldown_seconds=-1), "orchestration.coordinator.scaling_cooldown_seconds"),
        (CoordinatorSettings(degraded_error_rate=0.9), "orchestration.coordinator.degraded_error_rate"),
        (PoolSettings(min_executors=5), "pool.min_executors"),
        (PoolSettings(batch_size=0), "pool.batch_size"),
    ],
)
def test_what_cannot_work_is_refused_by_its_path(settings: CoordinatorSettings | PoolSettings, path: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        settings.check("pool") if isinstance(settings, PoolSettings) else settings.check()
    assert caught.value.fields["field"] == path
    assert path in caught.value.message
