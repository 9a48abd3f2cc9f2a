"""What a task is given on its way to a worker: what cannot be had or sent fails that task, clearly, and no other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from small_worker import SmallWorker

from turnout import Runner, task, workflow
from turnout.dispatcher import RoutingConfig, RoutingRule
from turnout.errors import RunFailed
from turnout.executors.workers.settings import HubSettings
from turnout.wire.documents import Step

EVERYTHING = RoutingConfig("default", (RoutingRule("**", "workers"),))


@task
def first() -> Any:
    return {"there": 1}


@task(retries=2)
def second(x: Any) -> Any:
    return x


@workflow
def passed_on(x: Any) -> Any:
    return second(x)


@workflow
def not_there() -> Any:
    return second(first()["missing"])


def argument(step: Step) -> Any:
    return [*step.metadata.positional, *step.metadata.args.values()][0]


HANDLERS: dict[str, Callable[[Step], Any]] = {first.ref: lambda step: {"there": 1}, second.ref: argument}


@contextmanager
def hub_of(url: str, **settings: Any) -> Iterator[tuple[Runner, SmallWorker]]:
    hub = HubSettings(address="tcp://127.0.0.1:0", heartbeat=0.2, lease=1.0, resend=0.1, **settings)
    flows = [passed_on, not_there]
    with Runner(url, hub=hub, routing=EVERYTHING, workflows=flows, handle_sigterm=False) as runner:
        assert runner.hub is not None
        with SmallWorker(runner.hub, handlers=HANDLERS) as worker:
            yield runner, worker


def nothing_is_left(runner: Runner) -> None:
    executor: Any = runner._core.dispatcher.executors["workers"]  # pyright: ignore[reportPrivateUsage]
    while len(executor.in_flight):
        time.sleep(0.01)
    assert not executor.pool._reserved


def test_a_number_that_the_codec_cannot_say_fails_its_task_and_the_hub_goes_on(store_url: str) -> None:
    with hub_of(store_url) as (runner, worker):
        handle = runner.submit(passed_on, 2**70)
        with pytest.raises(RunFailed, match="cannot be encoded in msgpack"):
            handle.result()
        assert [one.attempt for one in handle.tasks()] == [1]
        # Only a hub whose clock still goes notices that a worker is silent.
        worker.held.set()
        later = runner.submit(passed_on, 1)
        while not len(worker.held_steps):
            time.sleep(0.01)
        worker.vanish()
        assert runner.hub is not None
        with SmallWorker(runner.hub, handlers=HANDLERS):
            assert later.result() == 1
        nothing_is_left(runner)


def test_arguments_that_are_larger_than_a_message_fail_their_task_and_no_other(store_url: str) -> None:
    with hub_of(store_url, max_message_bytes=50_000) as (runner, _):
        large, *others = [runner.submit(passed_on, "x" * size) for size in (60_000, 20_000, 20_000, 20_000)]
        with pytest.raises(RunFailed, match="a message may have 50,000"):
            large.result()
        assert [len(other.result()) for other in others] == [20_000] * 3
        nothing_is_left(runner)


def test_a_task_whose_argument_is_not_there_fails_and_its_place_is_free_again(store_url: str) -> None:
    with hub_of(store_url) as (runner, _):
        handle = runner.submit(not_there)
        with pytest.raises(RunFailed, match="has nothing at"):
            handle.result()
        assert runner.run(passed_on, 1) == 1
        nothing_is_left(runner)
