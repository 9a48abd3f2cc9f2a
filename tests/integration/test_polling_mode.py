"""Polling mode: no dispatcher; pollers on a connection of their own claim ready tasks and answer through the inbox."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from turnout import RoutingConfig, RoutingRule, Runner, task, workflow
from turnout.authoring.registry import Registry
from turnout.authoring.workflow import Workflow
from turnout.errors import RunFailed
from turnout.executors.polling import PollingExecutor
from turnout.executors.thread import ThreadExecutor
from turnout.orchestration.loaders.loader import StoreLoader
from turnout.orchestration.loaders.stored_runs import GraphCache
from turnout.store import connect

PATIENCE = 30.0


@pytest.fixture
def make_poller(store_url: str) -> Iterator[Callable[..., PollingExecutor]]:
    """Makes pollers on this test's database, each with a store of its own as in another process."""
    with ExitStack() as stack:

        def make(*workflows: Workflow[..., Any], threads: int = 4, **options: Any) -> PollingExecutor:
            store = connect(store_url)
            store.open()
            stack.callback(store.close)
            registry = Registry()
            for each in workflows:
                registry.add(each)
            poller = PollingExecutor(
                store, StoreLoader(store, registry, GraphCache(store)), ThreadExecutor(threads=threads), **options
            )
            poller.start()
            stack.callback(poller.stop, 1.0)
            return poller

        yield make


@task
def double(x: int) -> int:
    return 2 * x


@task
async def add(x: int, y: int) -> int:
    return x + y


@workflow(name="polled_sum")
def total(x: int) -> int:
    return add(double(x), double(10))


def test_a_run_without_a_dispatcher_is_done_by_a_poller(
    make_runner: Callable[..., Runner], make_poller: Callable[..., PollingExecutor]
) -> None:
    runner = make_runner(workflows=[total], dispatcher=None)
    handle = runner.submit(total, 1)
    poller = make_poller(total)
    assert handle.wait(PATIENCE) == "completed"
    assert handle.result() == 22
    assert poller.metrics().total_executed == 3


def test_two_pollers_run_every_body_once(
    make_runner: Callable[..., Runner], make_poller: Callable[..., PollingExecutor]
) -> None:
    calls: list[int] = []

    @task
    def count(n: int) -> int:
        calls.append(n)
        return n

    @workflow(name="polled_counts")
    def counts(n: int) -> int:
        return count(count(n))

    runner = make_runner(workflows=[counts], dispatcher=None)
    make_poller(counts)
    make_poller(counts)
    handles = [runner.submit(counts, n) for n in range(50)]
    assert {handle.wait(PATIENCE) for handle in handles} == {"completed"}
    assert sorted(calls) == sorted([*range(50), *range(50)])


def test_a_failure_and_a_retry_come_back_through_the_inbox(
    make_runner: Callable[..., Runner], make_poller: Callable[..., PollingExecutor]
) -> None:
    attempts: list[int] = []

    @task(retries=1)
    def fragile() -> None:
        attempts.append(1)
        raise LookupError("not in the drawer")

    @workflow(name="polled_failure")
    def failing() -> None:
        return fragile()

    runner = make_runner(workflows=[failing], dispatcher=None)
    make_poller(failing)
    with pytest.raises(RunFailed, match="not in the drawer"):
        runner.submit(failing).result(PATIENCE)
    assert len(attempts) == 2


def test_a_key_of_the_rules_can_be_served_by_pollers_beside_the_dispatcher(
    make_runner: Callable[..., Runner], make_poller: Callable[..., PollingExecutor]
) -> None:
    routing = RoutingConfig("default").with_rule(RoutingRule("**::add", "away"))
    runner = make_runner(workflows=[total], routing=routing, polling=["away"])
    poller = make_poller(total, keys=("away",))
    handle = runner.submit(total, 1)
    assert handle.wait(PATIENCE) == "completed"
    assert poller.metrics().total_executed == 1


def test_a_cancelled_run_stops_what_a_poller_runs(
    make_runner: Callable[..., Runner], make_poller: Callable[..., PollingExecutor]
) -> None:
    entered, cancelled = threading.Event(), threading.Event()

    @task
    async def endless() -> None:
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    @workflow(name="polled_endless")
    def never() -> None:
        return endless()

    runner = make_runner(workflows=[never], dispatcher=None)
    make_poller(never, lease=3.0)
    handle = runner.submit(never)
    assert entered.wait(PATIENCE)
    handle.cancel()
    assert handle.wait(PATIENCE) == "cancelled"
    assert cancelled.wait(PATIENCE)
