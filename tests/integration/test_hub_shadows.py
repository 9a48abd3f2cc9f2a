"""Shadow copies on workers: compared, and never used, whatever happens to hub and worker in between."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from kit.waiting import until
from small_worker import SmallWorker

from turnout import Runner, Workflow, remote, task, workflow
from turnout.dispatcher import RoutingConfig, RoutingRule
from turnout.executors.workers.settings import HubSettings
from turnout.orchestration.stages.results import ShadowMetrics
from turnout.wire.documents import ResultMetadata, Step, StepResult

QUICK = HubSettings(address="tcp://127.0.0.1:0", heartbeat=0.2, lease=1.0, resend=0.2)


@task
def answer(x: int) -> int:
    return x + 1


@workflow
def shadowed(x: int) -> int:
    return answer(x)


handled = Workflow("handled", tasks=[remote("answer", handler="answer")])


def rules(*some: RoutingRule) -> RoutingConfig:
    return RoutingConfig("default", some)


@contextmanager
def runner_of(url: str, routing: RoutingConfig, hub: HubSettings = QUICK) -> Iterator[Runner]:
    with Runner(url, hub=hub, routing=routing, workflows=[shadowed, handled], handle_sigterm=False) as runner:
        yield runner


def address_of(runner: Runner) -> str:
    assert runner.hub is not None
    return runner.hub


def figures(runner: Runner) -> ShadowMetrics:
    return runner._core.engine.shadows.metrics  # pyright: ignore[reportPrivateUsage]


def nothing_is_left(runner: Runner, worker: SmallWorker) -> None:
    executor: Any = runner._core.dispatcher.executors["workers"]  # pyright: ignore[reportPrivateUsage]
    until(lambda: len(worker.held_steps) == 0)
    until(lambda: len(executor.in_flight) == 0)
    assert not executor.pool._reserved


def test_a_copy_goes_to_a_worker_and_is_compared(store_url: str, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[Step] = []

    def other(step: Step) -> Any:
        seen.append(step)
        return step.metadata.positional[0]

    routing = rules(RoutingRule("**::answer", "workers", shadow=True))
    with runner_of(store_url, routing) as runner:
        with SmallWorker(address_of(runner), handlers={answer.ref: other}) as worker:
            until(lambda: runner.workers())
            handle = runner.submit(shadowed, 1)
            assert handle.result() == 2
            until(lambda: figures(runner).different == 1)
            nothing_is_left(runner, worker)
        [told] = handle.tasks()
        assert (told.executor, told.attempt) == ("default", 1)
    assert "differs: completed 2, shadow completed 1" in caplog.text
    [step] = seen
    assert step.metadata.shadow and step.metadata.idempotency_key == f"{step.step_id}.shadow"


def test_labels_choose_the_worker_and_without_one_there_is_no_copy(store_url: str) -> None:
    routing = rules(RoutingRule("**::answer", "workers", {"zone": "b"}, shadow=True))
    same = {answer.ref: lambda step: step.metadata.positional[0] + 1}
    with runner_of(store_url, routing) as runner, SmallWorker(address_of(runner), handlers=same) as elsewhere:
        until(lambda: len(runner.workers()) == 1)
        assert runner.run(shadowed, 1) == 2
        assert figures(runner).without_room == 1 and not elsewhere.begun
        with SmallWorker(address_of(runner), handlers=same, labels={"zone": "b"}) as there:
            until(lambda: len(runner.workers()) == 2)
            assert runner.run(shadowed, 1) == 2
            until(lambda: figures(runner).same == 1)
            nothing_is_left(runner, there)
        assert not elsewhere.begun


def test_a_worker_without_room_gets_no_copy(store_url: str) -> None:
    routing = rules(RoutingRule("**::answer", "workers", shadow=True))
    with runner_of(store_url, routing) as runner:
        with SmallWorker(address_of(runner), handlers={answer.ref: lambda step: 0}, credits=1) as worker:
            worker.held.set()
            until(lambda: runner.workers())
            assert [runner.run(shadowed, x) for x in range(3)] == [1, 2, 3]
            assert figures(runner).without_room == 2
            worker.held.clear()
            until(lambda: figures(runner).different == 1)
            nothing_is_left(runner, worker)


def test_a_copy_whose_worker_vanishes_is_not_waited_for(store_url: str, caplog: pytest.LogCaptureFixture) -> None:
    routing = rules(RoutingRule("**::answer", "workers", shadow=True))
    with runner_of(store_url, routing) as runner:
        worker = SmallWorker(address_of(runner), handlers={answer.ref: lambda step: 0})
        worker.held.set()
        with worker:
            until(lambda: runner.workers())
            assert runner.run(shadowed, 1) == 2
            until(lambda: len(worker.held_steps))
        until(lambda: figures(runner).unanswered == 1)
        assert runner.run(shadowed, 1) == 2
    assert "differs" not in caplog.text


RUBY = RoutingRule("**::handled::*", "workers", {"lang": "ruby"})
GO = RoutingRule("**::handled::*", "workers", {"lang": "go"}, shadow=True)


def test_two_kinds_of_workers_are_compared_with_one_another(store_url: str) -> None:
    with runner_of(store_url, rules(RUBY, GO)) as runner:
        ruby = SmallWorker(address_of(runner), handlers={"answer": lambda step: {"it": 1}}, labels={"lang": "ruby"})
        go = SmallWorker(address_of(runner), handlers={"answer": lambda step: {"it": 2}}, labels={"lang": "go"})
        with ruby, go:
            until(lambda: len(runner.workers()) == 2)
            assert runner.submit_with(handled, input={}).result() == {"it": 1}
            until(lambda: figures(runner).different == 1)
            nothing_is_left(runner, ruby)
            nothing_is_left(runner, go)


def test_the_result_of_a_copy_never_becomes_the_real_one_when_the_hub_is_started_again(store_url: str) -> None:
    def one(step: Step) -> Any:
        return {"said": "copy" if step.metadata.shadow else "real"}

    # One worker has both the attempt and its copy.
    hub = HubSettings(address="tcp://127.0.0.1:0", heartbeat=0.2, lease=20.0, resend=0.2)
    both = {"lang": "ruby", "kind": "any"}
    routing = rules(RUBY, RoutingRule("**::handled::*", "workers", {"kind": "any"}, shadow=True))
    with runner_of(store_url, routing, hub) as first:
        address = address_of(first)
        worker = SmallWorker(address, handlers={"answer": one}, labels=both)
        worker.held.set()
        worker.__enter__()
        until(lambda: first.workers())
        run_id = first.submit_with(handled, input={}).id
        until(lambda: len(worker.held_steps) == 2)
    copy = next(each for each in worker.held_steps if each.token.endswith(":shadow"))
    # It has ended by the time that there is a hub again, and the attempt itself has not.
    metadata = ResultMetadata(token=copy.token)
    output = one(worker.held_steps.begin(copy.token))
    ended = StepResult(step_id=copy.step.step_id, status="completed", output=output, metadata=metadata)
    worker.held_steps.finish(copy.token, ended)
    again = HubSettings(address=address, heartbeat=0.2, lease=20.0, resend=0.2)
    with runner_of(store_url, routing, again) as second:
        until(lambda: copy.token not in worker.held_steps.table)
        worker.held.clear()
        assert second.get(run_id).result() == {"said": "real"}
        until(lambda: len(worker.held_steps) == 0)
        worker.vanish()
