"""Store calls go out no more at once than the orchestrator's share of the connections."""

from __future__ import annotations

import asyncio
import threading

import pytest

from turnout.orchestration.background import StoreThreads

WAIT = 20.0


def run(scenario) -> None:  # pyright: ignore
    asyncio.run(asyncio.wait_for(scenario(), WAIT))


def test_calls_beyond_the_limit_wait_their_turn_and_all_are_answered() -> None:
    async def scenario() -> None:
        share, go, seen = StoreThreads(4, 0.5), threading.Event(), []

        def call(number: int) -> int:
            go.wait(WAIT)
            seen.append(number)
            return number

        answers = [share.run(lambda number=number: call(number)) for number in range(5)]
        assert share.active == 2
        go.set()
        assert await asyncio.gather(*answers) == list(range(5))
        share.close()

    run(scenario)


def test_under_backpressure_fewer_go_out_at_once_and_never_none() -> None:
    async def scenario() -> None:
        share = StoreThreads(10, 0.85)
        assert share.limit == 8
        share.apply_backpressure(0.5)
        assert share.limit == 4
        share.apply_backpressure(0.1)
        assert share.limit == 1
        assert await share.run(lambda: 7) == 7
        share.close()

    run(scenario)


def test_an_error_is_the_callers_and_frees_the_place() -> None:
    async def scenario() -> None:
        share = StoreThreads(1, 0.9)
        with pytest.raises(ZeroDivisionError):
            await share.run(lambda: 1 // 0)
        assert await share.run(lambda: 7) == 7
        share.close()

    run(scenario)


def test_who_gave_up_waiting_takes_no_place() -> None:
    async def scenario() -> None:
        share, go = StoreThreads(1, 0.9), threading.Event()
        first, second, third = share.run(lambda: go.wait(WAIT)), share.run(lambda: 2), share.run(lambda: 3)
        second.cancel()
        go.set()
        assert (await first, await third) == (True, 3)
        share.close()

    run(scenario)
