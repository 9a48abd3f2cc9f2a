"""The thread executor: batches, deadlines, cancellation, capacity and stopping."""

from __future__ import annotations

import asyncio
import contextvars
import json
import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial

import msgspec
import pytest

from tests.fake_loader import WAIT, FakeLoader, Results
from tests.kit.waiting import until
from turnout.contracts.clock import boot_time
from turnout.contracts.executor import Work
from turnout.errors import ExecutionFailed, InvalidInput, InvalidSetting, StoreUnreachable
from turnout.executors.thread import ThreadExecutor
from turnout.model.events import ExecutionStatus, TaskReadyEvent
from turnout.model.info import TaskInfo, current_task
from turnout.runtime.attempt import Attempt
from turnout.runtime.thread_capacity import ASYNC_SPARE

SHORT = 0.3
"""A timeout that a body is sure to be in before it is over, on a busy machine too."""


class Bench:
    """An executor on a fake loader, and gates that its bodies wait at."""

    def __init__(self, **settings: int) -> None:
        self.loader = FakeLoader()
        self.executor = ThreadExecutor(**settings)  # type: ignore[arg-type]
        self.executor.bind(self.loader)
        self.results = Results()
        self.go = threading.Event()
        self.entered = threading.Semaphore(0)
        self.left = threading.Semaphore(0)

    def submit(self, *events: object) -> None:
        self.executor.execute_many(events, self.results)  # type: ignore[arg-type]

    def waiting(self) -> bool:
        self.entered.release()
        try:
            return self.go.wait(WAIT)
        finally:
            self.left.release()

    async def sleeping(self) -> None:
        self.entered.release()
        try:
            await asyncio.Event().wait()
        finally:
            self.left.release()

    def in_body(self, count: int = 1) -> None:
        for _ in range(count):
            assert self.entered.acquire(timeout=WAIT)

    def out_of_body(self, count: int = 1) -> None:
        for _ in range(count):
            assert self.left.acquire(timeout=WAIT)

    def stop(self, timeout: float = WAIT) -> None:
        asyncio.run(self.executor.stop(timeout))


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench(threads=2, coroutines=4, max_backlog=0)
    yield made
    made.go.set()
    made.stop(0.0)


def test_a_batch_brings_one_result_for_each_event(bench: Bench) -> None:
    events = [bench.loader.add(lambda n=n: n) for n in range(500)]
    bench.submit(*events)
    outputs = {result.task_id: result.output for result in bench.results.take(500)}
    assert outputs == {event.task_id: str(n) for n, event in enumerate(events)}
    assert bench.results.empty


def test_an_attempt_that_is_handed_over_twice_runs_once(bench: Bench) -> None:
    event = bench.loader.add(bench.waiting)
    bench.submit(event, event)
    bench.in_body()
    bench.submit(event)
    with pytest.raises(ExecutionFailed):
        asyncio.run(bench.executor.execute(event))
    bench.go.set()
    bench.results.one()
    assert bench.executor.metrics().total_executed == 1


def test_a_shadow_runs_beside_the_attempt_that_it_copies(bench: Bench) -> None:
    event = bench.loader.add(lambda: 1)
    shadow = msgspec.structs.replace(event, shadow=True)
    bench.submit(event, shadow)
    assert sorted(result.shadow for result in bench.results.take(2)) == [False, True]


def test_sync_and_async_bodies_run_at_once(bench: Bench) -> None:
    bench.submit(*(bench.loader.add(bench.waiting) for _ in range(2)))
    bench.in_body(2)

    async def quick() -> str:
        return threading.current_thread().name

    # Its name is not known to be async yet; a thread has to look at it first.
    bench.go.set()
    bench.results.take(2)
    bench.go.clear()
    bench.submit(bench.loader.add(quick, name="quick"))
    assert "async" in (bench.results.one().output or "")
    bench.submit(*(bench.loader.add(bench.waiting) for _ in range(2)))
    bench.in_body(4 - 2)
    bench.submit(bench.loader.add(quick, name="quick"))
    assert "async" in (bench.results.one().output or "")


def test_an_async_task_that_has_become_sync_is_run_by_a_thread(bench: Bench) -> None:
    async def asynchronous() -> int:
        return 1

    bench.submit(bench.loader.add(asynchronous, name="changed"))
    assert bench.results.one().output == "1"
    bench.submit(bench.loader.add(lambda: 2, name="changed"))
    assert bench.results.one().output == "2"


def test_an_async_body_whose_work_must_be_fetched_is_fetched_by_a_thread(bench: Bench) -> None:
    async def body() -> int:
        return 1

    for from_store in (False, True):
        bench.loader.from_store = from_store
        bench.submit(bench.loader.add(body))
        assert bench.results.one().output == "1"


def test_callables_that_hide_an_async_function_are_awaited(bench: Bench) -> None:
    async def double(x: int) -> int:
        await asyncio.sleep(0)
        return 2 * x

    class Doubler:
        async def __call__(self, x: int) -> int:
            return await double(x)

    def hiding(x: int) -> object:
        return double(x)

    bodies = [hiding, partial(double), Doubler(), partial(hiding)]
    bench.submit(*(bench.loader.add(body, 4, name=f"n{n}") for n, body in enumerate(bodies)))
    assert [result.output for result in bench.results.take(len(bodies))] == ["8"] * len(bodies)


def test_bodies_know_their_attempt_and_share_no_context_variables(bench: Bench) -> None:
    leak: contextvars.ContextVar[int] = contextvars.ContextVar("leak", default=0)

    def body() -> list[object]:
        info = current_task()
        assert info is not None
        before = leak.get()
        leak.set(1)
        return [info.task_id, info.attempt, info.max_attempts, info.token, info.idempotency_key, before]

    async def async_body() -> list[object]:
        await asyncio.sleep(0)
        return body()

    events = [bench.loader.add(each, attempt=2, name=each.__name__) for each in (body, async_body) for _ in range(4)]
    bench.submit(*events)
    seen = {result.task_id: json.loads(result.output or "") for result in bench.results.take(8)}
    for event in events:
        assert seen[event.task_id] == [event.task_id, 2, 3, f"{event.task_id}:2", event.task_id, 0]
    assert current_task() is None


def test_the_work_may_bring_its_own_way_of_calling_the_body(bench: Bench) -> None:
    def call(info: TaskInfo) -> str:
        return f"called for attempt {info.attempt}"

    bench.submit(bench.loader.add(lambda: "plain", call=call))
    assert bench.results.one().output == '"called for attempt 1"'


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()])
def test_no_exception_ends_a_thread_or_the_loop(bench: Bench, error: BaseException) -> None:
    def body() -> None:
        raise error

    async def async_body() -> None:
        raise error

    for _ in range(3):
        bench.submit(bench.loader.add(body), bench.loader.add(async_body, name="async"))
        statuses = {result.status for result in bench.results.take(2)}
        assert statuses == {ExecutionStatus.RETRY}
    bench.submit(bench.loader.add(lambda: 1))
    assert bench.results.one().status is ExecutionStatus.COMPLETED


def test_results_have_the_wall_times_of_the_body(bench: Bench) -> None:
    before = time.time()
    bench.submit(bench.loader.add(lambda: None))
    result = bench.results.one()
    assert result.started_at is not None
    assert result.finished_at is not None
    assert before <= result.started_at <= result.finished_at <= time.time()


def test_the_size_of_outputs_is_bounded_by_a_setting() -> None:
    bench = Bench(max_output_bytes=10)
    bench.submit(bench.loader.add(lambda: "x" * 20))
    error = bench.results.one().error
    assert error is not None
    assert error.type == "TooLarge"
    bench.stop()


# -- loading -------------------------------------------------------------------------------------------------------
def test_an_outage_of_the_store_hands_the_attempt_back(bench: Bench) -> None:
    event = bench.loader.add(lambda: 1)
    bench.loader.error = StoreUnreachable("gone")
    bench.submit(event)
    result = bench.results.one()
    assert (result.status, result.error_message) == (ExecutionStatus.RETURNED, "store_unreachable")


@pytest.mark.parametrize("is_async", [False, True])
def test_an_attempt_whose_time_to_begin_passes_while_it_is_loaded_never_begins(bench: Bench, is_async: bool) -> None:
    begun: list[str] = []
    until = boot_time() + WAIT

    async def asynchronous() -> None:
        begun.append("async")

    bench.submit(bench.loader.add(asynchronous, name="a") if is_async else bench.loader.add(lambda: 1))
    bench.results.one()
    begun.clear()

    class Stopped(FakeLoader):
        """Loads in time, and gives the work when the time is over, as a process does that was stopped meanwhile."""

        def load_blocking(self, event: TaskReadyEvent) -> Work:
            nonlocal until
            work = super().load_blocking(event)
            assert work.may_begin()
            until = boot_time() - 0.001
            return work

    loader = Stopped()
    bench.executor.bind(loader)
    body = asynchronous if is_async else partial(begun.append, "sync")
    bench.submit(loader.add(body, name="a" if is_async else "t", fence=lambda: until))
    result = bench.results.one()
    assert (result.status, result.error_message) == (ExecutionStatus.RETURNED, "attempt_fenced")
    assert begun == []
    assert bench.executor.metrics().active_tasks == 0


def test_arguments_that_cannot_be_made_fail_for_good(bench: Bench) -> None:
    event = bench.loader.add(lambda: 1)
    bench.loader.error = InvalidInput("the output has no key 'total'")
    bench.submit(event)
    assert bench.results.one().status is ExecutionStatus.FAILED


# -- deadlines -----------------------------------------------------------------------------------------------------
def test_a_sync_body_that_exceeds_its_timeout_ends_at_once_and_keeps_its_thread(bench: Bench) -> None:
    infos: list[TaskInfo] = []

    def body() -> bool:
        infos.append(current_task())  # type: ignore[arg-type]
        return bench.waiting()

    bench.submit(bench.loader.add(body, timeout=SHORT))
    bench.in_body()
    result = bench.results.one()
    assert result.status is ExecutionStatus.TIMED_OUT
    assert result.started_at is not None
    assert infos[0].cancelled
    assert bench.executor.capacity == 1
    freed = threading.Event()
    bench.executor.on_capacity(freed.set)
    bench.go.set()
    assert freed.wait(WAIT)
    assert bench.executor.capacity == 2
    assert bench.results.empty


def test_an_async_body_that_exceeds_its_timeout_is_cancelled(bench: Bench) -> None:
    bench.submit(bench.loader.add(bench.sleeping, timeout=SHORT))
    assert bench.results.one().status is ExecutionStatus.TIMED_OUT
    bench.out_of_body()


def test_a_deadline_counts_from_the_start_and_ends_with_the_body(bench: Bench) -> None:
    blockers = [bench.loader.add(bench.waiting) for _ in range(2)]
    bench.submit(*blockers)
    bench.in_body(2)
    bench.submit(bench.loader.add(lambda: 1, timeout=WAIT))
    assert len(bench.executor._deadlines) == 0
    bench.go.set()
    assert {result.status for result in bench.results.take(3)} == {ExecutionStatus.COMPLETED}
    assert len(bench.executor._deadlines) == 0


def test_an_async_body_that_blocks_its_loop_still_times_out(bench: Bench) -> None:
    async def body() -> None:
        bench.waiting()

    bench.submit(bench.loader.add(body, timeout=SHORT))
    assert bench.results.one().status is ExecutionStatus.TIMED_OUT


# -- cancelling ----------------------------------------------------------------------------------------------------
def test_a_cancelled_attempt_that_has_not_started_never_does(bench: Bench) -> None:
    ran = threading.Event()
    bench.submit(*(bench.loader.add(bench.waiting) for _ in range(2)))
    bench.in_body(2)
    event = bench.loader.add(ran.set)
    bench.submit(event)
    bench.executor.cancel(event)
    result = bench.results.one()
    assert (result.task_id, result.status, result.started_at) == (event.task_id, ExecutionStatus.CANCELLED, None)
    bench.go.set()
    bench.results.take(2)
    bench.stop()
    assert not ran.is_set()


def test_a_cancelled_sync_body_is_asked_to_return_and_its_result_is_dropped(bench: Bench) -> None:
    infos: list[TaskInfo] = []

    def body() -> bool:
        infos.append(current_task())  # type: ignore[arg-type]
        return bench.waiting()

    event = bench.loader.add(body)
    bench.submit(event)
    bench.in_body()
    bench.executor.cancel(event)
    assert bench.results.one().status is ExecutionStatus.CANCELLED
    assert infos[0].cancelled
    bench.go.set()
    bench.out_of_body()
    bench.executor.cancel(event)
    bench.stop()
    assert bench.results.empty


def test_a_cancelled_async_body_is_really_cancelled(bench: Bench) -> None:
    event = bench.loader.add(bench.sleeping)
    bench.submit(event)
    bench.in_body()
    bench.executor.cancel(event)
    assert bench.results.one().status is ExecutionStatus.CANCELLED
    bench.out_of_body()


def test_cancelling_what_waits_for_a_result_cancels_the_attempt(bench: Bench) -> None:
    event = bench.loader.add(bench.sleeping)

    async def main() -> None:
        waiting = asyncio.create_task(bench.executor.execute(event))
        await asyncio.to_thread(bench.in_body)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.to_thread(bench.out_of_body)

    asyncio.run(main())


# -- capacity ------------------------------------------------------------------------------------------------------
def test_sleeping_coroutines_leave_room_for_sync_bodies(bench: Bench) -> None:
    told = threading.Semaphore(0)
    bench.executor.on_capacity(told.release)
    bench.submit(*(bench.loader.add(bench.sleeping) for _ in range(4)))
    bench.in_body(4)
    assert told.acquire(timeout=WAIT)
    assert bench.executor.capacity == 2 + 4
    assert bench.executor.has_capacity()
    bench.submit(*(bench.loader.add(bench.waiting, name="sync") for _ in range(2)))
    bench.in_body(2)
    assert not bench.executor.has_capacity()


def test_async_bodies_get_in_while_sync_bodies_hold_all_threads() -> None:
    bench = Bench(threads=1, coroutines=100, max_backlog=0)

    async def quick() -> int:
        return 1

    bench.submit(bench.loader.add(quick, name="quick"))
    bench.results.one()
    bench.submit(bench.loader.add(bench.waiting))
    bench.in_body()
    assert bench.executor.capacity == 1 + ASYNC_SPARE
    bench.submit(bench.loader.add(quick, name="quick"))
    assert bench.results.one().output == "1"
    bench.go.set()
    bench.stop()


def test_quick_bodies_earn_a_backlog() -> None:
    bench = Bench(threads=2, max_backlog=100)
    assert bench.executor.capacity == 2
    bench.submit(*(bench.loader.add(lambda: None) for _ in range(50)))
    bench.results.take(50)
    bench.stop()
    assert bench.executor.capacity > 2


# -- the backlog ---------------------------------------------------------------------------------------------------
def test_the_result_of_a_quick_body_does_not_wait_for_the_next_one() -> None:
    bench = Bench(threads=4)
    bench.submit(*(bench.loader.add(lambda: 1) for _ in range(200)))
    bench.results.take(200)
    for _ in range(20):
        quick, slow = bench.loader.add(lambda: 1), bench.loader.add(bench.waiting)
        bench.submit(quick, slow)
        assert bench.results.one().task_id == quick.task_id
        bench.in_body()
        bench.go.set()
        assert bench.results.one().task_id == slow.task_id
        bench.go.clear()
    assert bench.executor.metrics().total_executed == 240
    bench.stop()


def test_what_has_not_begun_is_withdrawn_and_what_has_goes_on(bench: Bench) -> None:
    events = [bench.loader.add(bench.waiting) for _ in range(4)]
    bench.submit(*events)
    bench.in_body(2)
    bench.executor.withdraw(events, "paused")
    returned = bench.results.take(2)
    assert {(result.status, result.error_message) for result in returned} == {(ExecutionStatus.RETURNED, "paused")}
    bench.go.set()
    assert {result.status for result in bench.results.take(2)} == {ExecutionStatus.COMPLETED}
    bench.stop()
    assert not bench.entered.acquire(blocking=False)
    assert bench.results.empty


def test_what_is_being_loaded_is_withdrawn_too(bench: Bench) -> None:
    loading, go_on = threading.Event(), threading.Event()
    event = bench.loader.add(bench.waiting)
    load = bench.loader.load_blocking

    def slowly(wanted: TaskReadyEvent) -> Work:
        loading.set()
        assert go_on.wait(WAIT)
        return load(wanted)

    bench.loader.from_store, bench.loader.load_blocking = True, slowly  # type: ignore[method-assign]
    bench.submit(event)
    assert loading.wait(WAIT)
    bench.executor.withdraw([event], "paused")
    assert bench.results.one().status is ExecutionStatus.RETURNED
    go_on.set()
    bench.stop()
    assert not bench.entered.acquire(blocking=False)


def test_an_attempt_is_withdrawn_or_begins_and_never_both() -> None:
    bench = Bench(threads=4, coroutines=16)
    begun: list[str] = []

    async def async_body(name: str) -> None:
        begun.append(name)

    def body(name: str) -> None:
        begun.append(name)

    events = [bench.loader.add(async_body if n % 2 else body, name=f"n{n % 2}") for n in range(2_000)]
    for task_id, work in bench.loader.works.items():
        bench.loader.works[task_id] = msgspec.structs.replace(work, args=(task_id,))

    def withdraw() -> None:
        for event in events[::3]:
            bench.executor.withdraw([event], "paused")

    withdrawing = threading.Thread(target=withdraw)
    for first in range(0, 2_000, 100):
        bench.submit(*events[first : first + 100])
        if first == 200:
            withdrawing.start()
    results = {result.task_id: result.status for result in bench.results.take(2_000)}
    withdrawing.join()
    bench.stop()
    returned = {task_id for task_id, status in results.items() if status is ExecutionStatus.RETURNED}
    assert sorted(begun) == sorted(results.keys() - returned)
    assert bench.results.empty


def test_the_highest_priority_overtakes_what_has_not_begun() -> None:
    bench = Bench(threads=1)
    begun: list[str] = []
    bench.submit(bench.loader.add(bench.waiting))
    bench.in_body()
    ranked = {"later": (0, 0), "first": (9, -5), "task": (0, 3), "second": (1, 0), "last": (-1, 100)}
    bench.submit(
        *(
            msgspec.structs.replace(bench.loader.add(partial(begun.append, name)), priority=run, task_priority=own)
            for name, (run, own) in ranked.items()
        )
    )
    bench.go.set()
    bench.results.take(6)
    bench.stop()
    assert begun == ["first", "second", "task", "later", "last"]


def test_what_waits_behind_bodies_that_last_is_handed_back_for_others() -> None:
    bench = Bench(threads=1)
    bench.submit(*(bench.loader.add(bench.waiting) for _ in range(3)))
    bench.in_body()
    returned = bench.results.take(2)
    assert {(result.status, result.error_message) for result in returned} == {(ExecutionStatus.RETURNED, "no_capacity")}
    bench.go.set()
    assert bench.results.one().status is ExecutionStatus.COMPLETED
    bench.stop()


def test_one_quick_body_does_not_open_the_executor_for_slow_ones_of_another_task() -> None:
    bench = Bench(threads=2, max_backlog=2_048)
    for _ in range(100):
        bench.submit(bench.loader.add(lambda: None, name="quick"))
    bench.results.take(100)
    assert bench.executor.capacity_of("public::embedded::w::slow") == 2
    assert bench.executor.capacity_of("public::embedded::w::quick") > 2
    bench.stop()


def test_an_async_body_gets_in_while_sync_bodies_hold_all_threads_by_its_name() -> None:
    bench = Bench(threads=1, coroutines=100, max_backlog=0)

    async def quick() -> int:
        return 1

    bench.submit(bench.loader.add(quick, name="quick"))
    bench.results.one()
    bench.submit(bench.loader.add(bench.waiting))
    bench.in_body()
    until(lambda: not bench.executor._coroutines.running)  # its result comes before its task is over
    assert bench.executor.capacity_of("public::embedded::w::quick") == 1 + 100
    assert bench.executor.capacity_of("public::embedded::w::t") == 1
    bench.go.set()
    bench.stop()


# -- life ----------------------------------------------------------------------------------------------------------
def test_stopping_hands_back_what_has_not_started_and_waits_for_the_rest(bench: Bench) -> None:
    bench.submit(*(bench.loader.add(bench.waiting) for _ in range(5)))
    bench.in_body(2)

    async def main() -> None:
        stopping = asyncio.create_task(bench.executor.stop(WAIT))
        returned = await asyncio.to_thread(bench.results.take, 3)
        assert {result.status for result in returned} == {ExecutionStatus.RETURNED}
        bench.go.set()
        await stopping

    asyncio.run(main())
    assert {result.status for result in bench.results.take(2)} == {ExecutionStatus.COMPLETED}


def test_what_still_runs_after_the_grace_reports_nothing(bench: Bench) -> None:
    bench.submit(bench.loader.add(bench.waiting), bench.loader.add(bench.sleeping, name="async"))
    bench.in_body(2)
    bench.stop(0.0)
    bench.go.set()
    bench.out_of_body(2)
    assert bench.results.empty
    assert bench.executor.metrics().active_tasks == 0


def test_what_comes_after_the_stop_is_handed_back_and_a_start_takes_work_again(bench: Bench) -> None:
    bench.stop()
    assert not bench.executor.has_capacity()
    bench.submit(bench.loader.add(lambda: 1))
    result = bench.results.one()
    assert (result.status, result.error_message) == (ExecutionStatus.RETURNED, "executor_stopping")
    asyncio.run(bench.executor.start())
    bench.submit(bench.loader.add(lambda: 1))
    assert bench.results.one().status is ExecutionStatus.COMPLETED


def test_a_report_that_raises_costs_only_that_result(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: object) -> None:
        raise RuntimeError("nobody listens")

    bench.executor.execute_many([bench.loader.add(lambda: 1)], broken)
    bench.submit(bench.loader.add(lambda: 2))
    assert bench.results.one().output == "2"
    bench.stop()


def test_it_refuses_senseless_settings_and_work_without_a_loader() -> None:
    with pytest.raises(InvalidSetting):
        ThreadExecutor(threads=0)
    with pytest.raises(ExecutionFailed):
        ThreadExecutor().execute_many([FakeLoader().add(None)], lambda _: None)


def test_cancelling_at_random_moments_brings_exactly_one_result_each() -> None:
    bench = Bench(threads=4, coroutines=16)

    async def async_body() -> int:
        await asyncio.sleep(0)
        return 1

    events = [
        bench.loader.add(async_body if n % 2 else lambda: 1, name=f"n{n % 2}", timeout=0.001 if n % 5 == 0 else None)
        for n in range(2_000)
    ]
    cancelling = threading.Thread(target=lambda: [bench.executor.cancel(event) for event in events[::3]])
    for first in range(0, 2_000, 100):
        bench.submit(*events[first : first + 100])
        if first == 1_000:
            cancelling.start()
    results = bench.results.take(2_000)
    cancelling.join()
    bench.stop()
    assert len({result.task_id for result in results}) == 2_000
    assert bench.results.empty
    capacity = bench.executor._thread_capacity
    assert (capacity._stuck, capacity._on_loop, bench.executor._unanswered) == (0, 0, set())


def test_an_attempt_that_is_cancelled_while_it_is_taken_is_answered_once_and_not_waited_for() -> None:
    bench = Bench(threads=1)
    begin = bench.executor._begin

    def cancelled_first(attempts: Sequence[Attempt]) -> None:
        for attempt in attempts:
            bench.executor.cancel(attempt.event)
        begin(attempts)

    bench.executor._begin = cancelled_first  # type: ignore[method-assign]
    bench.submit(bench.loader.add(lambda: 1))
    (result,) = bench.results.take(1)
    assert result.status is ExecutionStatus.CANCELLED
    assert not bench.executor._unanswered
    bench.stop()
    assert bench.results.empty
