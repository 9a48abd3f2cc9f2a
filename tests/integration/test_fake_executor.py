"""A scripted executor under a real Runner: every way in which an attempt can end."""

from __future__ import annotations

import pytest

from turnout import Runner, task, workflow
from turnout.contracts.executor import TaskExecutor
from turnout.dispatcher import BreakerSettings
from turnout.errors import RunFailed
from turnout.runner import EngineSettings
from turnout.testing import FakeExecutor, completes, crashes, fails, refuses, times_out, vanishes


@task(retries=2)
def charge(amount: int) -> str:
    raise AssertionError("scripted")


@task
def ship(payment: str) -> str:
    return f"shipped for {payment}"


@workflow(name="scripted_flow")
def flow(amount: int) -> str:
    return ship(charge(amount))


def test_it_is_an_executor() -> None:
    assert isinstance(FakeExecutor(), TaskExecutor)


def test_attempts_end_as_the_script_says_and_other_bodies_run(make_runner) -> None:
    steps = [fails("no answer"), crashes(), vanishes(), refuses(), times_out(3), completes("5 coins")]
    fake = FakeExecutor({"charge": steps})
    runner: Runner = make_runner(executors={"default": fake})
    assert runner.run(flow, 5) == "shipped for 5 coins"
    assert [event.attempt for event in fake.attempts_of("charge")] == [1, 2, 3, 4, 5, 6]
    assert len(fake.attempts_of("public::embedded::scripted_flow::ship")) == 1
    assert len(fake.events) == 7


def test_the_last_step_stays(make_sqlite_runner) -> None:
    fake = FakeExecutor({"charge": fails(ValueError("never"))})
    with pytest.raises(RunFailed, match="never") as caught:
        make_sqlite_runner(executors={"default": fake}).run(flow, 5)
    assert caught.value.fields["failures"][0].attempts == 3


def test_a_failure_that_is_not_retryable_is_final(make_sqlite_runner) -> None:
    fake = FakeExecutor({"charge": [fails("broken", retryable=False), completes("unused")]})
    with pytest.raises(RunFailed, match="broken"):
        make_sqlite_runner(executors={"default": fake}).run(flow, 5)
    assert len(fake.events) == 1


def test_an_executor_that_is_scripted_to_be_unavailable_is_probed_until_it_is_not(make_runner) -> None:
    fake = FakeExecutor({"charge": [*[refuses("no cluster", unavailable=True)] * 4, completes("5 coins")]})
    settings = EngineSettings(stop_grace=1.0, executor_breaker=BreakerSettings(threshold=2, recovery=0.01))
    runner: Runner = make_runner(executors={"default": fake}, settings=settings)
    assert runner.run(flow, 5) == "shipped for 5 coins"
    assert len(fake.attempts_of("charge")) == 5
