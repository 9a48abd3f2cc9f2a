"""The gate of a pool: who may go through, and that nobody can leave it blocking for good."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from kit.clock import Clock

from turnout.model.breaker import BreakerSettings, BreakerState
from turnout.orchestration.coordination.pool_breaker import PoolBreaker
from turnout.orchestration.coordination.settings import CoordinatorSettings, PoolSettings
from turnout.orchestration.stages.stage import Stage, WorkQueue
from turnout.orchestration.stages.stage_executor import StageExecutor

WAIT = 20.0


def opened(clock: Clock) -> PoolBreaker:
    """Open, and due to be tried."""
    gate = PoolBreaker(BreakerSettings(threshold=1), clock)
    gate.failed()
    assert gate.breaker.state is BreakerState.OPEN
    clock.now += 60.0
    return gate


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, WAIT))


def executor_at(gate: PoolBreaker, queue: WorkQueue, process: Callable[[list[Any]], Any]) -> StageExecutor:
    return StageExecutor(Stage.START, queue, process, PoolSettings(), gate=gate, coordinator=CoordinatorSettings())


async def nothing(items: list[Any]) -> None:
    pass


async def forever(items: list[Any]) -> None:
    await asyncio.Event().wait()


async def deaf(items: list[Any]) -> None:
    """Hears only the second time that it is cancelled."""
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        await asyncio.Event().wait()


def test_a_probe_that_finds_nothing_to_do_leaves_its_place_to_another() -> None:
    async def scenario() -> None:
        clock, queue = Clock(), WorkQueue()
        gate = opened(clock)
        first, second = executor_at(gate, queue, nothing), executor_at(gate, queue, nothing)
        assert await gate.wait()
        await first.process_batch()
        assert gate.breaker.state is BreakerState.HALF_OPEN
        assert await gate.wait()
        queue.put("item")
        await second.process_batch()
        assert gate.breaker.state is BreakerState.CLOSED

    run(scenario())


@pytest.mark.parametrize("process", [forever, deaf])
def test_a_probe_that_is_abandoned_counts_as_a_failure_and_others_may_try_later(process: Any) -> None:
    async def scenario() -> None:
        clock, queue = Clock(), WorkQueue()
        gate = opened(clock)
        executor = executor_at(gate, queue, process)
        queue.put("item")
        await executor.start()
        while not executor.busy:
            await asyncio.sleep(0)
        await executor.stop(0.0)
        assert gate.breaker.state is BreakerState.OPEN
        clock.now += 60.0
        assert await gate.wait()
        await executor_at(gate, queue, nothing).process_batch()
        assert gate.breaker.state is BreakerState.CLOSED

    run(scenario())


def test_failures_that_are_not_in_a_row_do_not_open_it() -> None:
    async def scenario() -> None:
        gate, queue = PoolBreaker(BreakerSettings(threshold=2)), WorkQueue()
        outcomes = [False, True] * 4

        async def process(items: list[Any]) -> None:
            if not outcomes.pop():
                raise RuntimeError("broken")

        executor = executor_at(gate, queue, process)
        while outcomes:
            queue.put("item")
            await executor.process_batch()
            queue.take(9)
        assert gate.breaker.state is BreakerState.CLOSED

    run(scenario())


def test_those_who_wait_go_on_as_soon_as_it_is_reset() -> None:
    async def scenario() -> None:
        gate = PoolBreaker(BreakerSettings(threshold=1, recovery=3600.0))
        gate.failed()
        waiting = [asyncio.ensure_future(gate.wait()) for _ in range(3)]
        await asyncio.sleep(0)
        gate.reset()
        for _ in range(5):
            await asyncio.sleep(0)
        assert [one.done() and one.result() for one in waiting] == [True] * 3

    run(scenario())
