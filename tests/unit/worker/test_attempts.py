"""Attempts of a worker: what its executors report is taken once, in order, whatever is reported together."""

from __future__ import annotations

import threading
from types import ModuleType

from unit.wire.network import step

from turnout.wire.documents import Step
from turnout.worker.attempts import Attempts
from turnout.worker.handlers import Handlers, handler
from turnout.worker.step_loader import always

WAIT = 20.0
"""Seconds after which a test that waits for a signal has failed; never a time that a passing test takes."""


@handler("echo", version="7")
def echo(step: Step) -> str:
    return step.token


def attempts_of(woken: threading.Semaphore) -> Attempts:
    module = ModuleType("handlers")
    module.echo = echo  # type: ignore[attr-defined]
    handlers = Handlers([module])
    return Attempts(handlers, 4, processes=False, grace=0.1, output=None, wake=woken.release)


def test_every_reported_result_is_taken_once_and_frees_its_slot() -> None:
    woken = threading.Semaphore(0)
    attempts = attempts_of(woken)
    steps = [step(f"{name}.1") for name in "abc"]
    try:
        assert attempts.begin([(each, always) for each in steps]) == []
        ended = []
        while len(ended) < len(steps):
            assert woken.acquire(timeout=WAIT)
            ended += attempts.ended()
        assert sorted(result.output for _, result in ended) == ["a.1", "b.1", "c.1"]
        assert {result.metadata.handler_version for _, result in ended} == {"7"}
        assert attempts.ended() == [] and attempts.free == 1
        for key, _ in ended:
            attempts.let_go(key)
        assert attempts.free == 4 and len(attempts) == 0
    finally:
        attempts.stop(0.0)


def test_two_attempts_of_one_step_are_counted_apart() -> None:
    woken = threading.Semaphore(0)
    attempts = attempts_of(woken)
    first, second = step("a.1", attempt=0), step("a.2", attempt=1)
    try:
        attempts.begin([(first, always), (second, always)])
        assert attempts.busy_with(first) and attempts.busy_with(second)
        ended = []
        while len(ended) < 2:
            assert woken.acquire(timeout=WAIT)
            ended += attempts.ended()
        by_token = {result.token: key for key, result in ended}
        attempts.let_go(by_token["a.1"])
        assert not attempts.busy_with(first) and attempts.busy_with(second)
        attempts.let_go(by_token["a.2"])
        assert not attempts.busy_with(second)
    finally:
        attempts.stop(0.0)
