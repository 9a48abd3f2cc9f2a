"""Attempts on workers: a real hub in a Runner, real sockets, small workers in threads of the test."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest
from kit.waiting import until
from small_worker import SmallWorker

from turnout import Runner, Workflow, remote, task, workflow
from turnout.dispatcher import RoutingConfig, RoutingRule
from turnout.errors import HubUnavailable, RunFailed, StoreUnreachable
from turnout.executors.workers.settings import HubSettings
from turnout.model.states import TaskState
from turnout.runner import EngineSettings
from turnout.wire.documents import ResultMetadata, Step, StepError, StepResult
from turnout.worker import Handlers, Worker, WorkerSettings

EVERYTHING = RoutingConfig("default", (RoutingRule("**", "workers"),))
QUICK = HubSettings(address="tcp://127.0.0.1:0", heartbeat=0.2, lease=1.0, resend=0.2)


@task
def add_one(x: int) -> int:
    return x + 1


@task
def double(x: int) -> int:
    return x * 2


@task(at_most_once=True)
def pay(x: int) -> int:
    return x


@workflow
def sums(x: int) -> int:
    return double(add_one(x))


@workflow
def payment(x: int) -> int:
    return pay(x)


@workflow(worker_selector={"gpu": "true"})
def labelled(x: int) -> int:
    return add_one(x)


@workflow(worker_selector={"gpu": "true"})
def retried(x: int) -> int:
    return add_one.options(retries=1)(x)


def argument(step: Step) -> Any:
    return [*step.metadata.positional, *step.metadata.args.values()][0]


HANDLERS: dict[str, Callable[[Step], Any]] = {
    add_one.ref: lambda step: argument(step) + 1,
    double.ref: lambda step: argument(step) * 2,
    pay.ref: argument,
}


@contextmanager
def runner_of(url: str, hub: HubSettings = QUICK, **options: Any) -> Iterator[Runner]:
    workflows = [sums, payment, labelled, retried]
    with Runner(url, hub=hub, routing=EVERYTHING, workflows=workflows, handle_sigterm=False, **options) as runner:
        yield runner


def address_of(runner: Runner) -> str:
    assert runner.hub is not None
    return runner.hub


def test_a_run_goes_over_workers(store_url: str) -> None:
    with runner_of(store_url) as runner, SmallWorker(address_of(runner), handlers=HANDLERS) as worker:
        handles = [runner.submit(sums, number) for number in range(20)]
        assert [handle.result() for handle in handles] == [(number + 1) * 2 for number in range(20)]
        assert len(worker.begun) == 40 and set(worker.begun.values()) == {1}
        until(lambda: len(worker.held_steps) == 0)


def test_a_step_tells_its_labels_and_the_time_left_and_its_attempt_the_version_of_its_handler(store_url: str) -> None:
    steps: list[Step] = []

    def versioned(step: Step) -> StepResult:
        steps.append(step)
        metadata = ResultMetadata(token=step.token, handler_version="1.2.3")
        ends = {"output": 2} if step.metadata.attempt else {"error": StepError("not yet")}
        return StepResult(
            step_id=step.step_id, status="failed" if "error" in ends else "completed", metadata=metadata, **ends
        )

    handlers, labels = {add_one.ref: versioned}, {"gpu": "true", "zone": "a"}
    with runner_of(store_url) as runner, SmallWorker(address_of(runner), handlers=handlers, labels=labels):
        handle = runner.submit_with(retried, 1, timeout=3600)
        assert handle.result() == 2
        assert [attempt.handler_version for attempt in handle.attempts()] == ["1.2.3", "1.2.3"]
    assert {step.metadata.labels["gpu"] for step in steps} == {"true"}
    assert all(3_500_000 < (step.metadata.deadline_ms or 0) <= 3_600_000 for step in steps)


def test_a_task_that_no_worker_matches_names_the_labels_and_starts_when_one_joins(store_url: str) -> None:
    with runner_of(store_url) as runner, SmallWorker(address_of(runner), handlers=HANDLERS):
        handle = runner.submit(labelled, 1)
        until(lambda: handle.tasks()[0].reason)
        reason = handle.tasks()[0].reason
        assert reason is not None and reason.startswith("no_worker_matches{gpu=true}")
        with SmallWorker(address_of(runner), handlers=HANDLERS, labels={"gpu": "true"}) as matching:
            assert handle.result() == 2
            assert len(matching.begun) == 1


def test_a_worker_that_vanishes_loses_its_attempts_and_another_does_them(store_url: str) -> None:
    with runner_of(store_url) as runner:
        going = SmallWorker(address_of(runner), handlers=HANDLERS)
        going.held.set()
        with going:
            handle = runner.submit(sums, 1)
            until(lambda: len(going.held_steps))
            going.vanish()
        with SmallWorker(address_of(runner), handlers=HANDLERS) as staying:
            assert handle.result() == 4
            assert not going.begun and sum(staying.begun.values()) == 2


def test_a_worker_that_was_frozen_changes_nothing_when_it_wakes(store_url: str) -> None:
    began, go_on = threading.Event(), threading.Event()

    def slow(step: Step) -> Any:
        began.set()
        go_on.wait()
        return argument(step) + 100

    with runner_of(store_url) as runner:
        frozen = SmallWorker(address_of(runner), handlers={**HANDLERS, add_one.ref: slow})
        with frozen:
            handle = runner.submit(sums, 1)
            began.wait()
            # Its thread is busy in the handler, so it gives no sign of life.
            with SmallWorker(address_of(runner), handlers=HANDLERS):
                assert handle.result() == 4
            go_on.set()
            until(lambda: len(frozen.held_steps) == 0)
        assert [one.attempt for one in handle.tasks()] == [2, 1]


def test_the_worker_keeps_its_result_until_it_is_durable_over_a_restart_of_the_runner(store_url: str) -> None:
    ended = threading.Event()

    def noted(step: Step) -> Any:
        ended.set()
        return argument(step) + 1

    hub = HubSettings(address="tcp://127.0.0.1:0", heartbeat=0.2, lease=20.0, resend=0.2)
    with runner_of(store_url, hub) as first:
        address = address_of(first)
        worker = SmallWorker(address, handlers={**HANDLERS, add_one.ref: noted})
        worker.held.set()
        worker.__enter__()
        handle = first.submit(sums, 1)
        until(lambda: len(worker.held_steps))
        run_id = handle.id
    # The orchestrator is gone while the worker holds a step that it has not begun.
    worker.held.clear()
    again = HubSettings(address=address, heartbeat=0.2, lease=20.0, resend=0.2)
    with runner_of(store_url, again) as second:
        assert second.get(run_id).result() == 4
        assert set(worker.begun.values()) == {1}, "nothing was run again"
        assert [one.attempt for one in second.get(run_id).tasks()] == [1, 1]
        worker.vanish()


def test_nobody_is_declared_dead_by_the_clock_before_those_who_are_there_were_renewed(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with runner_of(store_url, settings=EngineSettings(sweep=0.2)) as runner:
        core: Any = runner._core  # pyright: ignore[reportPrivateUsage]
        hub, store = core.dispatcher.executors["workers"], core.engine.store
        calls: list[str] = []

        async def keep_holders() -> None:
            calls.append("renewed")
            if calls.count("renewed") < 3:
                raise StoreUnreachable("the database is away")

        monkeypatch.setattr(hub, "keep_holders", keep_holders)
        glance, bury = store.glance, store.bury_sessions
        # A lease that is over is what makes a sweep ask who is to be declared dead.
        monkeypatch.setattr(store, "glance", lambda *args: msgspec.structs.replace(glance(*args), overdue=True))
        monkeypatch.setattr(store, "bury_sessions", lambda **options: calls.append("buried") or bury(**options))
        until(lambda: calls.count("buried") >= 2)
        assert calls[:6] == ["renewed", "renewed", "renewed", "buried", "renewed", "buried"]


def test_a_cancelled_run_stops_its_worker(store_url: str) -> None:
    with runner_of(store_url) as runner:
        worker = SmallWorker(address_of(runner), handlers=HANDLERS)
        worker.held.set()
        with worker:
            handle = runner.submit(sums, 1)
            until(lambda: len(worker.held_steps))
            handle.cancel()
            until(lambda: handle.status().state.terminal)
            until(lambda: len(worker.held_steps) == 0)
            assert not worker.begun


def test_at_most_once_is_asked_for_before_it_begins_and_given_again_only_if_it_has_not(store_url: str) -> None:
    with runner_of(store_url) as runner:
        going = SmallWorker(address_of(runner), handlers=HANDLERS)
        going.held.set()
        with going:
            handle = runner.submit(payment, 7)
            until(lambda: len(going.held_steps))
            going.frozen.set()
            with SmallWorker(address_of(runner), handlers=HANDLERS) as other:
                assert handle.result() == 7
                assert set(other.begun.values()) == {1}
        assert not going.begun


def test_at_most_once_that_has_begun_is_not_given_to_another(store_url: str) -> None:
    began, go_on = threading.Event(), threading.Event()

    def slow(step: Step) -> Any:
        began.set()
        go_on.wait()

    with runner_of(store_url) as runner, SmallWorker(address_of(runner), handlers={pay.ref: slow}):
        handle = runner.submit(payment, 7)
        began.wait()
        with SmallWorker(address_of(runner), handlers=HANDLERS) as other:
            with pytest.raises(RunFailed):
                handle.result()
            assert not other.begun
        go_on.set()


def test_a_handler_that_fails_fails_its_task(store_url: str) -> None:
    def broken(step: Step) -> Any:
        raise ValueError("no such order")

    with runner_of(store_url) as runner, SmallWorker(address_of(runner), handlers={add_one.ref: broken}):
        handle = runner.submit(sums, 1)
        with pytest.raises(RunFailed, match="no such order"):
            handle.result()
        assert handle.tasks()[0].state is TaskState.FAILED


def test_an_output_beyond_the_runners_limit_fails_its_task(store_url: str) -> None:
    large = {**HANDLERS, add_one.ref: lambda step: "x" * 200}
    with runner_of(store_url, max_output_bytes=100) as runner, SmallWorker(address_of(runner), handlers=large):
        handle = runner.submit(sums, 1)
        with pytest.raises(RunFailed):
            handle.result()
        error = handle.tasks()[0].error
        assert error is not None and error.code == "output_too_large"


def test_what_a_worker_says_of_a_failure_is_made_fit_to_be_kept(store_url: str) -> None:
    def bad(step: Step) -> StepResult:
        metadata = ResultMetadata(token=step.token, outcome="crashed")
        said = StepError("zero \0 byte", "Crash\0ed")
        return StepResult(step_id=step.step_id, status="error", error=said, metadata=metadata)

    crashing = {**HANDLERS, add_one.ref: bad}
    with runner_of(store_url) as runner, SmallWorker(address_of(runner), handlers=crashing):
        handle = runner.submit(sums, 1)
        with pytest.raises(RunFailed):
            handle.result()
        error = handle.tasks()[0].error
        assert error is not None and "zero" in error.message and "\0" not in error.message


def test_two_hubs_share_a_worker_and_one_takes_over_what_the_other_had(store_url: str) -> None:
    ends = {"sums": threading.Event()}

    def slow(step: Step) -> Any:
        ends["sums"].wait()
        return argument(step) + 1

    hub = HubSettings(address="tcp://127.0.0.1:0", heartbeat=0.2, lease=3.0, resend=0.2)
    with runner_of(store_url, hub) as staying:
        with runner_of(store_url, hub) as going:
            addresses = (address_of(going), address_of(staying))
            worker = SmallWorker(*addresses, handlers={**HANDLERS, add_one.ref: slow})
            worker.held.set()
            worker.__enter__()
            handle = going.submit(sums, 1)
            until(lambda: len(worker.held_steps))
            run_id = handle.id
        ends["sums"].set()
        worker.held.clear()
        assert staying.get(run_id).result() == 4
        assert set(worker.begun.values()) == {1}
        worker.vanish()


def test_a_worker_hears_of_hubs_that_open_later_and_works_for_them_too(store_url: str) -> None:
    # The status that names a hub is stored with the orchestrator's own heartbeats.
    lively = EngineSettings(heartbeat=0.2)
    with runner_of(store_url, settings=lively) as first:
        handlers = Handlers([sys.modules[__name__]])
        worker = Worker(handlers, WorkerSettings(connect=(address_of(first),)))
        working = threading.Thread(target=worker.run)
        working.start()
        try:
            assert first.submit(sums, 1).result() == 4
            with runner_of(store_url, settings=lively) as second:
                assert second.submit(sums, 2).result() == 6
        finally:
            worker.stop()
            working.join()


def test_in_context_style_a_result_that_comes_to_another_hub_keeps_the_context(store_url: str) -> None:
    began, go_on = threading.Event(), threading.Event()

    def shout(step: Step) -> Any:
        began.set()
        go_on.wait()
        return {"shout": step.metadata.context}

    etl = Workflow("etl", tasks=[remote("shout", handler="shout")])
    hub = HubSettings(address="tcp://127.0.0.1:0", heartbeat=0.2, lease=60.0, resend=0.2)
    options = {"hub": hub, "handle_sigterm": False}
    with Runner(store_url, workflows=[etl], **options) as staying:
        with Runner(store_url, workflows=[etl], **options) as going:
            worker = SmallWorker(address_of(going), address_of(staying), handlers={"shout": shout})
            worker.__enter__()
            run_id = going.submit_with(etl, input={"said": "hi"}).id
            began.wait()
        go_on.set()
        assert staying.get(run_id).result() == {"said": "hi", "shout": {"said": "hi"}}
        assert set(worker.begun.values()) == {1}
        worker.vanish()


def test_an_address_that_is_taken_is_said_at_the_start(store_url: str) -> None:
    with runner_of(store_url) as runner:
        taken = HubSettings(address=address_of(runner))
        with pytest.raises(HubUnavailable, match="cannot listen"), runner_of(store_url, taken):
            raise AssertionError("it opened")
