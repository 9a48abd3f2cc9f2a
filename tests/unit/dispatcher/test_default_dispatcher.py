"""Every event brings exactly one result, whatever the executor does."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kit.examples import examples

from turnout.contracts.dispatcher import Dispatcher
from turnout.dispatcher import (
    DefaultDispatcher,
    ExecutionResult,
    ExecutionStatus,
    InvalidRouting,
    NoCapacity,
    Report,
    RoutingConfig,
    RoutingRule,
    TaskExecutor,
    TaskReadyEvent,
)

Make = Callable[..., Any]


def run(scenario: Callable[[], Any]) -> None:
    """Plays the scenario on a loop of its own; a scenario that hangs fails."""

    async def bounded() -> None:
        await asyncio.wait_for(scenario(), 20)

    asyncio.run(bounded())


def test_it_keeps_the_contracts(executor: Make) -> None:
    dispatcher: Dispatcher = DefaultDispatcher()
    assert isinstance(executor(), TaskExecutor)
    assert dispatcher.resolve_executor_key("a::b") == "default"


def test_settings_change_at_run_time_and_the_decision_is_explained(
    executor: Make, task_of: Make, workflow_of: Make
) -> None:
    dispatcher = DefaultDispatcher()
    dispatcher.register_executor("default", executor())
    dispatcher.register_executor("workers", executor(local=False))
    assert dispatcher.settings.local_keys == ("default",)
    dispatcher.set_settings(hub_configured=True, default_execution_mode="distributed")
    decision = dispatcher.decide(task_of(), workflow_of(), "run")
    assert decision.executor_key == "workers"
    assert dispatcher.explain(task_of(), workflow_of(), "run").decision == decision


def test_a_remembered_decision_never_outlives_what_it_was_made_from(
    executor: Make, task_of: Make, workflow_of: Make
) -> None:
    dispatcher = DefaultDispatcher()
    for key, local in (("default", True), ("gpu", True), ("workers", False)):
        dispatcher.register_executor(key, executor(local=local))
    task, flow = task_of(), workflow_of()

    def where(run_id: str = "run", **more: Any) -> str:
        return dispatcher.decide(more.get("task", task), more.get("flow", flow), run_id).executor_key

    assert where() == where() == "default"
    assert where(task=task_of(executor="gpu")) == "gpu"
    assert where(flow=workflow_of(worker_selector={"zone": "a"})) == "default"
    dispatcher.set_settings(hub_configured=True)
    assert where(flow=workflow_of(worker_selector={"zone": "a"})) == "workers"
    by_input = task_of(worker_selector={"zone": "${zone}"})
    zones = [dispatcher.decide(by_input, flow, "run", f'{{"zone": "{zone}"}}').labels for zone in ("a", "b")]
    assert zones == [{"zone": "a"}, {"zone": "b"}], "labels of the input are decided for each run"
    dispatcher.set_routing(RoutingConfig("default", (RoutingRule("**", "gpu"),)))
    assert where() == "gpu"
    dispatcher.set_routing(RoutingConfig("default", (RoutingRule("**", "gpu", percent=50),)))
    assert {where(f"run-{number}") for number in range(50)} == {"default", "gpu"}


def raise_(error: BaseException) -> Any:
    raise error


@pytest.mark.parametrize(
    ("behave", "status", "message"),
    [
        (lambda event: ExecutionResult.success(event, 1), "completed", None),
        (lambda event: ExecutionResult.failed(event, "said so", retryable=False), "failed", "said so"),
        (lambda event: raise_(ValueError("broken")), "retry", "broken"),
        (lambda event: raise_(NoCapacity("full")), "returned", "full"),
        (lambda event: raise_(SystemExit(3)), "retry", 'executor "default" called exit'),
        (lambda event: raise_(asyncio.CancelledError()), "retry", 'executor "default" cancelled the attempt by itself'),
        (lambda event: None, "retry", 'executor "default" returned nonsense: NoneType instead of an ExecutionResult'),
        (lambda event: "completed", "retry", 'executor "default" returned nonsense: str instead of an ExecutionResult'),
        (
            lambda event: ExecutionResult.success(
                TaskReadyEvent(run_id="x", task_id="y", task_name="z", attempt=9, max_attempts=9)
            ),
            "retry",
            'executor "default" returned nonsense: a result of another attempt',
        ),
    ],
)
def test_one_result_from_an_executor_that(
    executor: Make, engine: Make, event_of: Make, behave: Any, status: str, message: str | None
) -> None:
    async def scenario() -> None:
        desk = engine({"default": executor(behave)}).start()
        desk.send(event_of(1))
        (result,) = await desk.results_of(1)
        assert (result.task_id, result.attempt, result.status, result.error_message) == ("run.1", 1, status, message)
        assert desk.dispatcher.in_flight() == {}
        metrics = desk.dispatcher.metrics()["default"]
        assert (metrics.dispatched, metrics.results, metrics.in_flight, metrics.dropped) == (1, {status: 1}, 0, 0)

    run(scenario)


def test_an_execute_that_is_no_coroutine_is_taken_at_its_word(executor: Make, engine: Make, event_of: Make) -> None:
    async def scenario() -> None:
        desk = engine({"default": executor(execute=lambda event: ExecutionResult.success(event, 7))}).start()
        desk.send(event_of())
        (result,) = await desk.results_of(1)
        assert result.output == "7"

    run(scenario)


class Batches:
    """Mixed into an executor: takes batches, and leaves it to the test when to report."""

    capacity = 1_000
    trusted = True

    def __init__(self) -> None:
        self.taken: list[TaskReadyEvent] = []
        self.report: Report = lambda result: None

    def execute_many(self, events: Sequence[TaskReadyEvent], report: Report) -> None:
        self.taken.extend(events)
        self.report = report


@pytest.fixture
def batches(executor: Any) -> Callable[..., Any]:
    class BatchingExecutor(Batches, executor):
        def __init__(self, **more: Any) -> None:
            executor.__init__(self)
            Batches.__init__(self)
            for name, value in more.items():
                setattr(self, name, value)

    return BatchingExecutor


def test_results_from_threads_come_in_one_batch(batches: Make, engine: Make, event_of: Make) -> None:
    async def scenario() -> None:
        backend = batches()
        desk = engine({"default": backend}).start()
        desk.send(*(event_of(number) for number in range(300)))
        assert len(desk.dispatcher.in_flight()) == 300

        def work(part: list[TaskReadyEvent]) -> None:
            for event in part:
                backend.report(ExecutionResult.success(event))

        threads = [threading.Thread(target=work, args=(backend.taken[start::3],)) for start in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            # The loop stands still meanwhile, so all of them gather.
            thread.join()
        await desk.results_of(300)
        assert desk.batches == [300]
        assert desk.freed == ["default"]

    run(scenario)


def test_results_from_threads_all_arrive_while_the_loop_runs(batches: Make, engine: Make, event_of: Make) -> None:
    async def scenario() -> None:
        backend = batches(capacity=100_000)
        desk = engine({"default": backend}).start()
        desk.send(*(event_of(number) for number in range(20_000)))
        parts = [backend.taken[start::4] for start in range(4)]

        def work(part: list[TaskReadyEvent]) -> None:
            for event in part:
                backend.report(ExecutionResult.success(event))

        threads = [threading.Thread(target=work, args=(part,)) for part in parts]
        for thread in threads:
            thread.start()
        results = await desk.results_of(20_000)
        assert len({result.task_id for result in results}) == len(results) == 20_000

    run(scenario)


@pytest.mark.parametrize("trusted", [True, False])
def test_duplicates_and_strangers_are_dropped_and_counted(
    batches: Make, engine: Make, event_of: Make, trusted: bool
) -> None:
    async def scenario() -> None:
        backend, other = batches(trusted=trusted), batches(trusted=trusted)
        desk = engine({"default": backend, "other": other}).start()
        desk.send(event_of(1), event_of(2))
        desk.send(event_of(3), key="other")
        backend.report(ExecutionResult.success(event_of(1), "first"))
        backend.report(ExecutionResult.success(event_of(1), "second"))
        backend.report(ExecutionResult.success(event_of(2, attempt=2)))
        backend.report(ExecutionResult.success(event_of(3), "not its own"))
        backend.report("nonsense")  # pyright: ignore[reportArgumentType]
        other.report(ExecutionResult.success(event_of(3), "its own"))
        results = await desk.results_of(2)
        assert [(result.task_id, result.output) for result in results] == [("run.1", '"first"'), ("run.3", '"its own"')]
        assert desk.dispatcher.metrics()["default"].dropped == 4
        assert set(desk.dispatcher.in_flight()) == {("run.2", 1)}

    run(scenario)


def test_only_trusted_outputs_go_unchecked(batches: Make, engine: Make, event_of: Make) -> None:
    async def scenario() -> None:
        desk = engine({"default": batches(trusted=False)}).start()
        desk.send(event_of(1))
        bad = ExecutionResult(
            run_id="run", task_id="run.1", attempt=1, status=ExecutionStatus.COMPLETED, output='"\\u0000"'
        )
        desk.dispatcher.executors["default"].report(bad)
        (result,) = await desk.results_of(1)
        assert result.status is ExecutionStatus.FAILED
        assert "NUL" in result.error_message

    run(scenario)


def test_what_was_reported_before_execute_many_raised_stands(batches: Make, engine: Make, event_of: Make) -> None:
    async def scenario() -> None:
        def breaks(events: Sequence[TaskReadyEvent], report: Report) -> None:
            report(ExecutionResult.success(events[0]))
            raise RuntimeError("half-way")

        desk = engine({"default": batches(execute_many=breaks)}).start()
        desk.send(*(event_of(number) for number in range(3)))
        results = await desk.results_of(3)
        assert [result.status for result in results] == ["completed", "retry", "retry"]
        assert results[1].error_message == "half-way"
        assert desk.dispatcher.metrics()["default"].dropped == 0

    run(scenario)


def test_an_execute_many_that_blocks_is_named_in_the_log(
    batches: Make, engine: Make, event_of: Make, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnout.dispatcher.delivery.SLOW_HAND_OVER", 0.0)

    async def scenario() -> None:
        desk = engine({"default": batches()}).start()
        with caplog.at_level(logging.WARNING, "turnout.dispatcher"):
            desk.send(event_of())
        assert "executor default held up the engine" in caplog.text

    run(scenario)


def test_an_executor_that_never_answers_is_timed_out_and_its_late_result_dropped(
    batches: Make, engine: Make, event_of: Make
) -> None:
    async def scenario() -> None:
        cancelled: list[TaskReadyEvent] = []
        backend = batches(cancel=cancelled.append)
        desk = engine({"default": backend}, timeout_grace=0.01).start()
        desk.dispatcher.timeouts = lambda event: 0.01
        desk.send(event_of())
        (result,) = await desk.results_of(1)
        assert result.status is ExecutionStatus.TIMED_OUT
        assert cancelled == [event_of()]
        backend.report(ExecutionResult.success(event_of()))
        desk.send(event_of(2))
        backend.report(ExecutionResult.success(event_of(2)))
        await desk.results_of(2)
        assert [each.task_id for each in desk.results] == ["run.1", "run.2"]
        assert desk.dispatcher.metrics()["default"].dropped == 1

    run(scenario)


def test_a_hanging_coroutine_is_timed_out_and_cancelled(executor: Make, engine: Make, event_of: Make) -> None:
    async def scenario() -> None:
        ended = asyncio.Event()

        async def hang(event: TaskReadyEvent) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        desk = engine({"default": executor(hang)}, timeout_grace=0.0).start()
        desk.dispatcher.timeouts = lambda event: 0.01
        desk.send(event_of())
        (result,) = await desk.results_of(1)
        await ended.wait()
        assert result.status is ExecutionStatus.TIMED_OUT
        assert desk.dispatcher.metrics()["default"].dropped == 0

    run(scenario)


def test_no_backstop_where_the_executor_enforces_timeouts(batches: Make, engine: Make, event_of: Make) -> None:
    async def scenario() -> None:
        asked: list[TaskReadyEvent] = []
        desk = engine({"default": batches(enforces_timeouts=True)}).start()
        desk.dispatcher.timeouts = asked.append
        desk.send(event_of())
        assert asked == []

    run(scenario)


def test_a_timeout_that_cannot_be_told_does_not_stop_the_hand_over(batches: Make, engine: Make, event_of: Make) -> None:
    async def scenario() -> None:
        backend = batches()
        desk = engine({"default": backend}).start()
        desk.dispatcher.timeouts = lambda event: raise_(KeyError("gone"))
        desk.send(event_of())
        assert backend.taken == [event_of()]

    run(scenario)


def test_places_are_reserved_flown_and_freed(batches: Make, engine: Make, event_of: Make) -> None:
    async def scenario() -> None:
        backend = batches(capacity=2)
        desk = engine({"default": backend}).start()
        dispatcher = desk.dispatcher
        assert [dispatcher.reserve("default") for _ in range(3)] == [True, True, False]
        dispatcher.release("default")
        assert dispatcher.reserve("default")
        dispatcher.dispatch("default", [event_of(1), event_of(2)])
        assert not dispatcher.has_capacity("default") and not dispatcher.has_capacity()
        backend.capacity = 3
        assert dispatcher.reserve("default"), "a capacity that grew counts at once"
        backend.report(ExecutionResult.success(event_of(1)))
        await desk.until(lambda: "default" in desk.freed)
        assert dispatcher.metrics()["default"].in_flight == 1
        assert dispatcher.metrics()["default"].reserved == 1
        backend.capacity = 0
        assert not dispatcher.has_capacity()

    run(scenario)


def test_a_release_wakes_whoever_was_refused(batches: Make, engine: Make) -> None:
    async def scenario() -> None:
        desk = engine({"default": batches(capacity=1)}).start()
        assert desk.dispatcher.reserve("default") and not desk.dispatcher.reserve("default")
        desk.dispatcher.release("default")
        await desk.until(lambda: desk.freed == ["default"])

    run(scenario)


def test_an_executor_may_say_that_places_became_free(batches: Make, engine: Make) -> None:
    async def scenario() -> None:
        given: list[Callable[[], None]] = []
        desk = engine({"default": batches(on_capacity=given.append), "early": batches(on_capacity=given.append)})
        tell, tell_early = given
        tell_early()
        desk.start()
        await desk.until(lambda: desk.freed == ["early"])
        thread = threading.Thread(target=lambda: [tell() for _ in range(10)])
        thread.start()
        thread.join()
        await desk.until(lambda: "default" in desk.freed)
        assert desk.freed == ["early", "default"]
        assert desk.results == []

    run(scenario)


def test_without_a_capacity_attempts_are_handed_over_one_at_a_time(
    executor: Make, engine: Make, event_of: Make
) -> None:
    async def scenario() -> None:
        active = peak = 0
        go = asyncio.Event()

        async def work(event: TaskReadyEvent) -> ExecutionResult:
            nonlocal active, peak
            active += 1
            peak = max(peak, active)
            await go.wait()
            active -= 1
            return ExecutionResult.success(event)

        backend = executor(work, has_capacity=lambda: active < 2)
        desk = engine({"default": backend}).start()
        waiting = [event_of(number) for number in range(10)]

        def fill(key: str) -> None:
            while waiting and desk.dispatcher.reserve(key):
                assert not desk.dispatcher.reserve(key), "one place at a time"
                desk.dispatcher.dispatch(key, [waiting.pop()])
                assert not desk.dispatcher.reserve(key), "not before the executor could count the last one"

        desk.dispatcher.start(desk._take, lambda key: (fill(key), desk._capacity_freed(key)))
        fill("default")
        await desk.until(lambda: active == 2)
        go.set()
        await desk.results_of(10)
        assert peak == 2

    run(scenario)


def test_an_executor_that_refuses_is_not_asked_again_at_once(executor: Make, engine: Make, event_of: Make) -> None:
    async def scenario() -> None:
        backend = executor(lambda event: raise_(NoCapacity("full")))
        desk = engine({"default": backend}).start()
        desk.send(event_of(1))
        await desk.results_of(1)
        assert not desk.dispatcher.reserve("default")
        assert "default" not in desk.freed
        await desk.until(lambda: "default" in desk.freed)
        backend.behave = ExecutionResult.success
        desk.send(event_of(2))
        await desk.results_of(2)
        assert desk.dispatcher.reserve("default")

    run(scenario)


def test_an_executor_that_cannot_say_its_capacity_has_none(executor: Make, engine: Make) -> None:
    async def scenario() -> None:
        desk = engine({"default": executor(has_capacity=lambda: raise_(OSError("down")))}).start()
        assert not desk.dispatcher.reserve("default")

    run(scenario)


def test_one_slow_executor_does_not_hold_up_another(executor: Make, engine: Make, event_of: Make) -> None:
    async def scenario() -> None:
        desk = engine({"default": executor(lambda event: asyncio.Event().wait()), "quick": executor()}).start()
        desk.send(event_of(1))
        desk.send(event_of(2), key="quick")
        (result,) = await desk.results_of(1)
        assert result.task_id == "run.2"
        assert set(desk.dispatcher.in_flight()) == {("run.1", 1)}
        await desk.dispatcher.stop(0)

    run(scenario)


def test_cancel_reaches_the_executor_or_its_coroutine(
    executor: Make, batches: Make, engine: Make, event_of: Make
) -> None:
    async def scenario() -> None:
        async def told(event: TaskReadyEvent) -> None:
            backend.report(ExecutionResult.cancelled(event, "as told"))

        backend = batches(cancel=told)
        desk = engine({"default": executor(lambda event: asyncio.Event().wait()), "many": backend}).start()
        desk.send(event_of(1))
        desk.dispatcher.cancel(event_of(1))
        (result,) = await desk.results_of(1)
        assert result.status is ExecutionStatus.CANCELLED, "before its coroutine had run at all"
        desk.send(event_of(2))
        await asyncio.sleep(0)
        desk.dispatcher.cancel(event_of(2))
        await desk.results_of(2)
        desk.send(event_of(3), key="many")
        desk.dispatcher.cancel(event_of(3))
        results = await desk.results_of(3)
        assert [each.status for each in results] == ["cancelled"] * 3
        assert results[2].error_message == "as told"
        desk.dispatcher.cancel(event_of(4))
        assert desk.dispatcher.has_capacity("default")

    run(scenario)


def test_a_cancel_that_fails_falls_back_to_the_coroutine(executor: Make, engine: Make, event_of: Make) -> None:
    async def scenario() -> None:
        backend = executor(lambda event: asyncio.Event().wait(), cancel=lambda event: raise_(OSError("no")))
        desk = engine({"default": backend}).start()
        desk.send(event_of())
        desk.dispatcher.cancel(event_of())
        (result,) = await desk.results_of(1)
        assert result.status is ExecutionStatus.CANCELLED

    run(scenario)


def test_a_shadow_flies_beside_its_attempt_and_never_answers_for_it(
    batches: Make, engine: Make, event_of: Make
) -> None:
    async def scenario() -> None:
        backend, new = batches(), batches(trusted=False)
        desk = engine({"default": backend, "new": new}).start()
        desk.send(event_of(1))
        desk.send(event_of(1, shadow=True), key="new")
        assert list(desk.dispatcher.in_flight().values()) == [event_of(1)]
        # Made by hand, without the mark: still the shadow's.
        new.report(ExecutionResult.success(event_of(1), "shadow"))
        backend.report(ExecutionResult.success(event_of(1), "real"))
        results = await desk.results_of(2)
        assert [(result.shadow, result.output) for result in results] == [(True, '"shadow"'), (False, '"real"')]

    run(scenario)


def test_an_attempt_in_flight_is_not_handed_over_twice(batches: Make, engine: Make, event_of: Make) -> None:
    async def scenario() -> None:
        backend, free = batches(), list[str]()
        backend.assign, backend.unassign = lambda line: "w", free.append
        desk = engine({"default": backend}).start()
        desk.send(event_of(1), event_of(1))
        assert backend.taken == [event_of(1)] and free == [event_of(1).holder]
        assert desk.dispatcher.metrics()["default"].reserved == 0
        assert desk.dispatcher.metrics()["default"].in_flight == 1

    run(scenario)


def test_an_unknown_key_gives_the_attempt_back(executor: Make, engine: Make, event_of: Make) -> None:
    async def scenario() -> None:
        desk = engine({"default": executor()}).start()
        assert not desk.dispatcher.reserve("gone") and not desk.dispatcher.has_capacity("gone")
        desk.dispatcher.release("gone")
        desk.dispatcher.dispatch("gone", [event_of()])
        (result,) = await desk.results_of(1)
        assert result.status is ExecutionStatus.RETURNED

    run(scenario)


def test_a_listener_that_raises_does_not_stop_later_results(executor: Make, engine: Make, event_of: Make) -> None:
    async def scenario() -> None:
        desk = engine({"default": executor()})
        calls: list[int] = []
        done = asyncio.Event()

        def results(batch: Sequence[ExecutionResult]) -> None:
            calls.append(len(batch))
            if len(calls) == 1:
                raise RuntimeError("not today")
            done.set()

        def freed(key: str) -> None:
            if len(calls) == 1:
                desk.send(event_of(2))
                raise RuntimeError("nor this")

        desk.dispatcher.start(results, freed)
        desk.send(event_of(1))
        await done.wait()
        assert calls == [1, 1]

    run(scenario)


def test_rules_replaced_at_run_time_leave_running_attempts_where_they_are(
    executor: Make, batches: Make, engine: Make, event_of: Make, task_of: Make, workflow_of: Make
) -> None:
    async def scenario() -> None:
        backend = batches()
        desk = engine({"default": backend, "new": executor()}).start()
        decided = desk.dispatcher.decide(task_of(), workflow_of(), "run")
        desk.send(event_of(1), key=decided.executor_key)
        desk.dispatcher.set_routing(RoutingConfig("default", (RoutingRule("**", "new"),)))
        assert desk.dispatcher.decide(task_of(), workflow_of(), "run").executor_key == "new"
        backend.report(ExecutionResult.success(event_of(1)))
        (result,) = await desk.results_of(1)
        assert result.status is ExecutionStatus.COMPLETED

    run(scenario)


def test_executors_are_opened_bound_and_stopped(executor: Make, engine: Make) -> None:
    async def scenario() -> None:
        story: list[str] = []

        async def start() -> None:
            story.append("started")

        async def stop(timeout: float) -> None:
            story.append("stopped")

        backend = executor(start=start, stop=stop, bind=lambda loader: story.append("bound"))
        desk = engine({"default": backend})
        desk.dispatcher.bind(object())
        await desk.dispatcher.open()
        desk.start()
        assert desk.dispatcher.has_capacity("default")
        with pytest.raises(InvalidRouting) as caught:
            desk.dispatcher.register_executor("late", executor())
        assert caught.value.code == "registered_late"
        await desk.dispatcher.stop(1)
        await desk.dispatcher.stop(1)
        assert story == ["bound", "started", "stopped"]
        assert not desk.dispatcher.reserve("default")

    run(scenario)


def test_an_executor_that_is_not_opened_starts_by_itself_and_has_no_capacity_until_then(
    executor: Make, engine: Make
) -> None:
    async def scenario() -> None:
        go = asyncio.Event()
        desk = engine({"default": executor(start=go.wait)}).start()
        assert not desk.dispatcher.reserve("default")
        go.set()
        await desk.until(lambda: desk.freed == ["default"])
        assert desk.dispatcher.reserve("default")

    run(scenario)


def test_an_executor_that_fails_to_start_is_loud_in_open_and_gets_no_work_otherwise(
    executor: Make, engine: Make, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        stopped: list[float] = []
        good = executor(start=lambda: None, stop=stopped.append)

        async def refuse() -> None:
            raise OSError("no such cluster")

        with pytest.raises(OSError, match="no such cluster"):
            await engine({"default": good, "bad": executor(start=refuse)}).dispatcher.open()
        assert stopped == [0]
        failed = asyncio.Event()

        async def refuse_later() -> None:
            failed.set()
            raise OSError("no such cluster")

        desk = engine({"default": executor(start=refuse_later)}).start()
        await failed.wait()
        await asyncio.sleep(0)
        assert not desk.dispatcher.has_capacity()

    run(scenario)


def test_stop_lets_work_end_then_answers_for_the_rest(
    executor: Make, batches: Make, engine: Make, event_of: Make
) -> None:
    async def scenario() -> None:
        nearly = asyncio.Event()

        async def ends_soon(event: TaskReadyEvent) -> ExecutionResult:
            await nearly.wait()
            return ExecutionResult.success(event)

        async def stubborn(timeout: float) -> None:
            while True:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    if over.is_set():
                        raise

        over = asyncio.Event()
        executors = {
            "default": executor(ends_soon),
            "hung": executor(lambda event: asyncio.Event().wait()),
            "many": batches(stop=lambda timeout: raise_(OSError("broken stop"))),
            "stubborn": batches(stop=stubborn),
        }
        desk = engine(executors, timeout_grace=0.01).start()
        for number, key in enumerate(executors):
            desk.send(event_of(number), key=key)
        asyncio.get_running_loop().call_soon(nearly.set)
        began = time.monotonic()
        await desk.dispatcher.stop(0.05)
        assert time.monotonic() - began < 5
        over.set()
        statuses = {result.task_id: str(result.status) for result in desk.results}
        assert statuses == {"run.0": "completed", "run.1": "lost", "run.2": "lost", "run.3": "lost"}
        assert desk.dispatcher.in_flight() == {}
        executors["many"].report(ExecutionResult.success(event_of(2)))
        desk.dispatcher.dispatch("default", [event_of(9)])
        await desk.results_of(5)
        assert desk.results[-1].status is ExecutionStatus.RETURNED
        assert desk.dispatcher.metrics()["many"].dropped == 1

    run(scenario)


def test_a_report_after_the_loop_is_gone_does_no_harm(batches: Make, engine: Make, event_of: Make) -> None:
    backend = batches()

    async def scenario() -> None:
        engine({"default": backend}).start().send(event_of())

    run(scenario)
    backend.report(ExecutionResult.success(event_of()))


def test_nothing_is_handed_over_before_start(executor: Make, event_of: Make) -> None:
    dispatcher = DefaultDispatcher()
    dispatcher.register_executor("default", executor())
    with pytest.raises(RuntimeError, match="not started"):
        dispatcher.dispatch("default", [event_of()])


MOODS = ("good", "raises", "full", "nonsense", "stranger", "twice", "silent", "cancelled", "bad output")


def misbehave(mood: str, event: TaskReadyEvent, report: Report) -> None:
    match mood:
        case "raises":
            raise ValueError("broken")
        case "full":
            raise NoCapacity("full")
        case "nonsense":
            report(object())  # pyright: ignore[reportArgumentType]
        case "stranger":
            report(
                ExecutionResult.success(
                    TaskReadyEvent(run_id="x", task_id="y", task_name="z", attempt=1, max_attempts=1)
                )
            )
        case "twice":
            report(ExecutionResult.success(event))
            report(ExecutionResult.failed(event, "again"))
        case "bad output":
            report(
                ExecutionResult(
                    run_id=event.run_id,
                    task_id=event.task_id,
                    attempt=event.attempt,
                    status=ExecutionStatus.COMPLETED,
                    output="{",
                )
            )
        case "silent":
            pass
        case "cancelled":
            report(ExecutionResult.cancelled(event))
        case _:
            report(ExecutionResult.success(event))


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moods=st.lists(st.sampled_from(MOODS), min_size=1, max_size=12), many=st.booleans(), cut=st.integers(1, 12))
def test_exactly_one_result_for_each_event(
    executor: Make, batches: Make, engine: Make, event_of: Make, moods: list[str], many: bool, cut: int
) -> None:
    def mood_of(event: TaskReadyEvent) -> str:
        return moods[int(event.task_id.removeprefix("run."))]

    async def one(event: TaskReadyEvent) -> Any:
        said: list[Any] = []
        misbehave(mood_of(event), event, said.append)
        if not said:
            await asyncio.Event().wait()
        return said[0]

    def all_of_them(events: Sequence[TaskReadyEvent], report: Report) -> None:
        for event in events:
            misbehave(mood_of(event), event, report)

    async def scenario() -> None:
        backend = batches(execute_many=all_of_them, trusted=False) if many else executor(one, capacity=100)
        desk = engine({"default": backend}, timeout_grace=0.0).start()
        desk.dispatcher.timeouts = lambda event: 0.02
        events = [event_of(number) for number in range(len(moods))]
        for start in range(0, len(events), cut):
            desk.send(*events[start : start + cut])
        await desk.until(lambda: not desk.dispatcher.in_flight())
        await desk.dispatcher.stop(0)
        assert Counter(result.task_id for result in desk.results) == Counter(event.task_id for event in events)
        metrics = desk.dispatcher.metrics()["default"]
        assert (metrics.dispatched, sum(metrics.results.values())) == (len(events), len(events))
        assert (metrics.in_flight, metrics.reserved) == (0, 0)

    run(scenario)


def test_an_executor_that_no_known_task_is_sent_to_does_not_count_as_room(
    batches: Make, engine: Make, task_of: Make, workflow_of: Make
) -> None:
    async def scenario() -> None:
        dispatcher = engine({"default": batches(capacity=0), "spare": batches(capacity=5)}).start().dispatcher
        assert not dispatcher.has_capacity()
        assert list(dispatcher.used) == ["default"]
        dispatcher.validate([workflow_of(task_of(executor="spare"))])
        assert dispatcher.has_capacity()
        assert list(dispatcher.used) == ["default", "spare"]

    run(scenario)


def test_while_somebody_is_alone_nobody_else_gets_a_place_and_then_all_are_told(
    batches: Make, engine: Make, event_of: Make
) -> None:
    async def scenario() -> None:
        backend = batches(capacity=3)
        desk = engine({"default": backend}).start()
        dispatcher = desk.dispatcher
        assert dispatcher.idle("default")
        assert dispatcher.reserve("default", exclusive=True)
        assert not dispatcher.reserve("default")
        dispatcher.release("default")
        assert dispatcher.reserve("default", exclusive=True), "a commit that did not apply leaves nothing behind"
        dispatcher.dispatch("default", [event_of(1)])
        assert dispatcher.free_slots("default") == 0
        assert not dispatcher.reserve("default", exclusive=True)
        desk.freed.clear()
        backend.report(ExecutionResult.success(event_of(1)))
        await desk.until(lambda: "default" in desk.freed)
        assert dispatcher.free_slots("default") == 3

    run(scenario)


def test_somebody_who_wants_to_be_alone_waits_for_those_who_are_there(
    batches: Make, engine: Make, event_of: Make
) -> None:
    async def scenario() -> None:
        backend = batches(capacity=3)
        desk = engine({"default": backend}).start()
        dispatcher = desk.dispatcher
        assert dispatcher.reserve("default")
        dispatcher.dispatch("default", [event_of(1)])
        assert not dispatcher.reserve("default", exclusive=True)
        assert not dispatcher.reserve("default"), "nothing new starts while he waits"
        desk.freed.clear()
        backend.report(ExecutionResult.success(event_of(1)))
        await desk.until(lambda: "default" in desk.freed)
        assert dispatcher.reserve("default", exclusive=True)

    run(scenario)
