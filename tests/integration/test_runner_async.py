"""AsyncRunner: the same engine for programs with an event loop of their own."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from turnout import AsyncRunner, RoutingConfig, RoutingRule, task, workflow
from turnout.errors import IdempotencyConflict, InvalidRouting, RunCancelled, RunFailed, RunNotFound, WaitTimedOut
from turnout.executors.thread import ThreadExecutor
from turnout.model.states import RunState, TaskState

pytestmark = pytest.mark.timeout(60)


@task
async def double(number: int) -> int:
    return 2 * number


@task
def breaks() -> None:
    raise ValueError("no")


@workflow
def doubled(number: int) -> int:
    return double(number)


@workflow
def failing() -> None:
    breaks()


def on(url: str, work: Any, **options: Any) -> Any:
    """Run ``work(runner)`` in an event loop of its own."""

    async def main() -> Any:
        async with AsyncRunner(url, **({"workflows": ()} | options)) as runner:
            return await work(runner)

    return asyncio.run(main())


def test_runs_are_awaited(store_url):
    async def work(runner: AsyncRunner) -> None:
        assert await runner.run(doubled, 4) == 8
        run = await runner.submit(doubled, 5)
        assert await run.wait(20) is RunState.COMPLETED
        assert await run.result() == 10
        assert (await run.status()).state is RunState.COMPLETED
        assert [each.state for each in await run.tasks()] == [TaskState.COMPLETED]
        assert await (await runner.get(run.id)).result(20) == 10
        assert [view.id for view in await runner.list(workflow="doubled", limit=1)] == [run.id]
        with pytest.raises(RunNotFound):
            await runner.get("nonsense")
        with pytest.raises(RunFailed, match="ValueError: no"):
            await runner.run(failing)

    on(store_url, work)


def test_many_runs_go_on_at_once(store_url):
    async def work(runner: AsyncRunner) -> None:
        assert await asyncio.gather(*(runner.run(doubled, number) for number in range(30))) == [
            2 * number for number in range(30)
        ]
        handles = await runner.submit_many(doubled, [{"number": number} for number in range(30)])
        assert [await handle.result(20) for handle in handles] == [2 * number for number in range(30)]

    on(store_url, work)


def test_keys_orders_and_reruns_work_as_with_the_sync_face(store_url, gate):
    @task
    def held() -> None:
        gate.pass_through()

    @workflow
    def holding() -> None:
        held()

    async def work(runner: AsyncRunner) -> None:
        first = await runner.submit_with(doubled, 1, key="k")
        assert (await runner.submit_with(doubled, 1, key="k")).id == first.id
        with pytest.raises(IdempotencyConflict):
            await runner.submit_with(doubled, 2, key="k")
        assert await (await first.rerun(input={"number": 7}, from_task="double")).result(20) == 14
        run = await runner.submit(holding)
        assert await asyncio.to_thread(gate.reached)
        with pytest.raises(WaitTimedOut):
            await run.wait(0.05)
        await run.pause()
        assert (await run.status()).state is RunState.PAUSED
        await run.resume()
        await run.cancel("enough")
        with pytest.raises(RunCancelled, match="enough"):
            await run.result(20)
        gate.open()

    on(store_url, work)


def test_a_caller_that_blocks_its_loop_does_not_hold_up_the_engine(sqlite_url):
    async def work(runner: AsyncRunner) -> None:
        run = await runner.submit(doubled, 1)
        deadline = time.monotonic() + 20
        while runner.core.store.run(run.id).row.state is not RunState.COMPLETED:  # the loop is blocked meanwhile
            assert time.monotonic() < deadline
            time.sleep(0.005)

    on(sqlite_url, work)


def test_rules_are_replaced_and_refused_as_with_the_sync_face(sqlite_url):
    async def work(runner: AsyncRunner) -> None:
        await runner.set_routing(RoutingConfig("default").with_rule(RoutingRule("**::double", "gpu")))
        run = await runner.submit(doubled, 1)
        await run.wait(20)
        assert [each.executor for each in await run.tasks()] == ["gpu"]
        with pytest.raises(InvalidRouting):
            await runner.set_routing(RoutingConfig("nowhere"))

    on(sqlite_url, work, executors={"gpu": ThreadExecutor(name="gpu")})


def test_waiting_may_be_given_up_without_harm_to_the_run(sqlite_url, gate):
    @task
    def held() -> int:
        gate.pass_through()
        return 1

    @workflow
    def holding() -> int:
        return held()

    async def work(runner: AsyncRunner) -> None:
        run = await runner.submit(holding)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run.result(), 0.05)
        gate.open()
        assert await run.result(20) == 1

    on(sqlite_url, work)


def test_it_is_used_as_a_context(sqlite_url):
    with pytest.raises(RuntimeError, match="async with"):
        asyncio.run(AsyncRunner(sqlite_url).run(doubled, 1))
