"""Executors of one's own, well behaved and not: no task is lost or stuck, and others are not held up."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from turnout import RoutingConfig, RoutingRule, TaskInfo, task, workflow
from turnout.dispatcher import ExecutionResult, ExecutorMetrics, Loader, NoCapacity, TaskExecutor, TaskReadyEvent
from turnout.errors import InvalidRouting, RunFailed
from turnout.model.info import info_of
from turnout.model.states import RunState, TaskState
from turnout.runner import EngineSettings

pytestmark = pytest.mark.timeout(60)


class Simple:
    """A custom executor as the guide shows it: bodies run one after the other, in a thread of the default pool."""

    local = True
    kinds = frozenset({"python"})
    name = "simple"

    def __init__(self) -> None:
        self._busy = False
        self._done = 0

    def bind(self, loader: Loader) -> None:
        self._loader = loader

    def has_capacity(self) -> bool:
        return not self._busy

    async def execute(self, event: TaskReadyEvent) -> ExecutionResult:
        self._busy = True
        try:
            work = await self._loader.load(event)
            info = info_of(event, idempotency_key=work.idempotency_key, token=work.token)
            return ExecutionResult.success(event, await asyncio.to_thread(work.invoke, info))
        except Exception as error:
            return ExecutionResult.failed(event, error)
        finally:
            self._busy = False
            self._done += 1

    def metrics(self) -> ExecutorMetrics:
        return ExecutorMetrics(active_tasks=int(self._busy), total_executed=self._done)


class Odd(Simple):
    """Does with an event what the test says, and counts how often it was asked."""

    name = "odd"

    def __init__(self, behave: Callable[[TaskReadyEvent], Any]) -> None:
        super().__init__()
        self.behave = behave
        self.asked: list[float] = []

    def has_capacity(self) -> bool:
        return True

    async def execute(self, event: TaskReadyEvent) -> Any:
        self.asked.append(time.monotonic())
        answer = self.behave(event)
        answer = await answer if inspect.isawaitable(answer) else answer
        return await super().execute(event) if answer is WORK else answer


WORK = object()
TO_ODD = RoutingConfig("default").with_rule(RoutingRule("**::odd", "odd"))


@task(name="odd", retries=2)
def body(info: TaskInfo) -> int:
    return info.attempt


@task
def other() -> str:
    return "other"


@workflow(name="odd_flow")
def flow() -> Any:
    return [body(), other()]


def test_a_custom_executor_of_thirty_lines_runs_tasks(make_runner):
    lines = [line for line in inspect.getsource(Simple).splitlines() if line.strip()]
    assert len(lines) <= 32
    simple = Simple()
    assert isinstance(simple, TaskExecutor)
    runner = make_runner(executors={"odd": simple}, routing=TO_ODD)
    handles = runner.submit_many(flow, [{}] * 10)
    assert [handle.result(20) for handle in handles] == [[1, "other"]] * 10
    assert simple.metrics().total_executed == 10


def test_an_executor_that_lacks_something_is_refused_with_what_it_lacks(make_sqlite_runner):
    class Half:
        name = "half"

        async def execute(self, event: TaskReadyEvent) -> None: ...

    with pytest.raises(InvalidRouting) as caught:
        make_sqlite_runner(executors={"half": Half()})
    assert caught.value.code == "not_an_executor"
    assert '"half"' in str(caught.value) and "has_capacity" in str(caught.value)


def test_an_executor_that_cannot_start_keeps_the_runner_from_starting(make_runner, query, store_url):
    class Broken(Simple):
        async def start(self) -> None:
            raise OSError("no GPU here")

    with pytest.raises(OSError, match="no GPU here"):
        make_runner(executors={"broken": Broken()})
    assert query(store_url, "select count(*) from session where ended_at is null") == [(0,)]
    assert "turnout-lease" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize(
    ("behave", "said"),
    [
        (lambda event: 1 / 0, "division by zero"),
        (lambda event: None, "NoneType instead of an ExecutionResult"),
        (lambda event: "done", "str instead of an ExecutionResult"),
        (
            lambda event: ExecutionResult(run_id="x", task_id="x.0", attempt=1, status="completed"),
            "a result of another attempt",
        ),
        (lambda event: ExecutionResult.failed(event, "out of paper"), "out of paper"),
        (lambda event: exit(3), "called exit"),
    ],
    ids=["raises", "none", "text", "another attempt", "fails", "exits"],
)
def test_a_misbehaving_executor_costs_attempts_and_then_the_task_fails(make_sqlite_runner, behave, said):
    odd = Odd(behave)
    runner = make_sqlite_runner(executors={"odd": odd}, routing=TO_ODD)
    run = runner.submit(flow)
    with pytest.raises(RunFailed, match=said) as caught:
        run.result(20)
    assert [failure.attempts for failure in caught.value.fields["failures"]] == [3]
    assert len(odd.asked) == 3
    assert {each.name: str(each.state) for each in run.tasks()} == {"odd": "failed", "other": "completed"}


def test_an_executor_that_raises_once_loses_nothing(make_runner):
    odd = Odd(lambda event: 1 / 0 if event.attempt == 1 else WORK)
    runner = make_runner(executors={"odd": odd}, routing=TO_ODD)
    assert runner.run(flow) == [2, "other"]


def test_an_executor_that_never_answers_is_given_up_on_when_the_task_has_a_timeout(make_sqlite_runner):
    released = asyncio.Event()

    @workflow
    def bounded() -> Any:
        return [body.options(timeout=0.1, retries=0)(), other()]

    @workflow
    def beside() -> str:
        return other()

    odd = Odd(lambda event: released.wait())
    runner = make_sqlite_runner(executors={"odd": odd}, routing=TO_ODD)
    run = runner.submit(bounded)
    assert [runner.run(beside) for _ in range(5)] == ["other"] * 5, "others are not held up"
    assert run.status().state is RunState.RUNNING
    with pytest.raises(RunFailed, match="TimeoutError"):
        run.result(20)


def test_an_attempt_on_an_executor_that_never_answers_can_be_cancelled(make_sqlite_runner):
    asked = threading.Event()

    async def ignore(event: TaskReadyEvent) -> None:
        asked.set()
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if closing.is_set():
                    raise

    closing = threading.Event()
    runner = make_sqlite_runner(
        executors={"odd": Odd(ignore)}, routing=TO_ODD, settings=EngineSettings(cancel_grace=0.2, stop_grace=0.2)
    )
    run = runner.submit(flow)
    assert asked.wait(20)
    run.cancel()
    assert run.wait(20) is RunState.CANCELLED
    closing.set()


def test_a_slow_executor_does_not_hold_up_another(make_runner, gate):
    odd = Odd(lambda event: asyncio.to_thread(gate.pass_through))
    runner = make_runner(executors={"odd": odd}, routing=TO_ODD)

    @workflow
    def beside() -> str:
        return other()

    runs = runner.submit_many(flow, [{}] * 20)
    assert [runner.run(beside) for _ in range(20)] == ["other"] * 20
    assert all(run.status().state is RunState.RUNNING for run in runs)


def test_an_executor_without_capacity_leaves_the_task_ready_with_its_reason_and_is_not_pestered(make_runner, until):
    def refuse(event: TaskReadyEvent) -> Any:
        raise NoCapacity("all printers are busy")

    odd = Odd(refuse)
    runner = make_runner(executors={"odd": odd}, routing=TO_ODD)
    run = runner.submit(flow)
    until(lambda: len(odd.asked) >= 4)
    seen = run.tasks()[0]
    assert seen.state in (TaskState.READY, TaskState.RUNNING)
    until(lambda: run.tasks()[0].state is TaskState.READY)
    assert run.tasks()[0].reason == "all printers are busy"
    pauses = [later - earlier for earlier, later in zip(odd.asked, odd.asked[1:], strict=False)]
    assert pauses[2] > 0.15, "each refusal in a row is followed by a longer pause"
    odd.behave = lambda event: WORK
    number, word = run.result(20)
    assert (number, word) == (1, "other"), "an attempt that no executor took has not begun"
    assert run.status().state is RunState.COMPLETED


def test_refusals_spend_no_budget(make_sqlite_runner):
    seen: list[int] = []

    def behave(event: TaskReadyEvent) -> Any:
        seen.append(event.attempt)
        if len(seen) <= 3:
            raise NoCapacity("not now")
        return 1 / 0

    @workflow
    def strict() -> Any:
        return body.options(retries=1)()

    runner = make_sqlite_runner(executors={"odd": Odd(behave)}, routing=TO_ODD)
    with pytest.raises(RunFailed, match="division"):
        runner.run(strict)
    assert seen == [1, 2, 3, 4, 5], "three refusals, then two attempts that count"


class Closed(Simple):
    """Has no capacity until it is opened; whether it says so is up to the test."""

    def __init__(self) -> None:
        super().__init__()
        self.open = False
        self.asked = 0
        self.tell: Callable[[], None] = lambda: None

    def on_capacity(self, callback: Callable[[], None]) -> None:
        self.tell = callback

    def has_capacity(self) -> bool:
        self.asked += 1
        return self.open and super().has_capacity()


@pytest.mark.parametrize("tells", [True, False], ids=["tells", "does not tell"])
def test_a_task_starts_when_its_executor_has_room_again(make_runner, tells):
    closed = Closed()
    runner = make_runner(executors={"odd": closed}, routing=TO_ODD)

    @workflow
    def beside() -> str:
        return other()

    run = runner.submit(flow)
    assert run.tasks()[0].state is TaskState.READY
    assert run.tasks()[0].reason == "no_capacity"
    assert [runner.run(beside) for _ in range(5)] == ["other"] * 5
    closed.open = True
    if tells:
        closed.tell()
    assert run.result(20) == [1, "other"]


def test_waiting_for_capacity_costs_no_busy_loop(make_sqlite_runner):
    closed = Closed()
    runner = make_sqlite_runner(executors={"odd": closed}, routing=TO_ODD)
    runs = runner.submit_many(flow, [{}] * 50)
    asked, used, began = closed.asked, time.process_time(), time.monotonic()
    threading.Event().wait(1.0)
    assert closed.asked - asked <= 300, "50 waiting runs"
    assert time.process_time() - used < 0.5 * (time.monotonic() - began)
    closed.open = True
    closed.tell()
    assert [run.result(20) for run in runs] == [[1, "other"]] * 50


def test_a_capacity_is_never_exceeded(make_runner):
    class Counting(Simple):
        capacity = 3

        def __init__(self) -> None:
            super().__init__()
            self.now = self.most = 0

        async def execute(self, event: TaskReadyEvent) -> ExecutionResult:
            self.now += 1
            self.most = max(self.most, self.now)
            try:
                return await super().execute(event)
            finally:
                self.now -= 1

    counting = Counting()
    runner = make_runner(executors={"odd": counting}, routing=TO_ODD)
    for run in runner.submit_many(flow, [{}] * 40):
        assert run.result(20) == [1, "other"]
    assert counting.most <= 3


def test_a_batch_executor_gets_batches_and_reports_from_any_thread(make_sqlite_runner):
    class Batch(Simple):
        capacity = 100

        def __init__(self) -> None:
            super().__init__()
            self.batches: list[int] = []

        def execute_many(self, events: Any, report: Callable[[ExecutionResult], None]) -> None:
            self.batches.append(len(events))
            threading.Thread(target=self._answer, args=(events, report)).start()

        def _answer(self, events: Any, report: Callable[[ExecutionResult], None]) -> None:
            for event in events:
                report(ExecutionResult.success(event, event.attempt))
                report(ExecutionResult.success(event, "a second answer changes nothing"))

    batch = Batch()
    runner = make_sqlite_runner(executors={"odd": batch}, routing=TO_ODD)
    handles = runner.submit_many(flow, [{}] * 50)
    assert [handle.result(20) for handle in handles] == [[1, "other"]] * 50
    assert sum(batch.batches) == 50 and max(batch.batches) > 1
