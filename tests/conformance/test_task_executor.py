"""What every task executor promises: run on those for Python bodies and on a custom one of thirty lines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests import process_bodies as bodies
from tests.fake_loader import WAIT, FakeLoader
from tests.gates import Gate, pass_gate
from turnout.contracts.executor import Loader, TaskExecutor
from turnout.errors import PermanentFailure, RetryAfter
from turnout.executors.process import ProcessExecutor
from turnout.executors.thread import ThreadExecutor
from turnout.model.events import ExecutionResult, ExecutionStatus, ExecutorMetrics, TaskReadyEvent
from turnout.model.info import info_of


class SmallExecutor:
    """A custom executor as an author would write it: one thread hop per attempt, two at a time."""

    name = "small"
    local = True
    kinds = frozenset({"python"})

    def __init__(self, places: int = 2) -> None:
        self._places, self._active, self._executed, self._failed = places, 0, 0, 0

    def bind(self, loader: Loader) -> None:
        self._loader = loader

    def has_capacity(self) -> bool:
        return self._active < self._places

    def metrics(self) -> ExecutorMetrics:
        return ExecutorMetrics(active_tasks=self._active, total_executed=self._executed, total_failed=self._failed)

    async def execute(self, event: TaskReadyEvent) -> ExecutionResult:
        self._active += 1
        try:
            work = await self._loader.load(event)
            if work.body is None:
                return ExecutionResult.returned(event, "code_missing")
            value = await asyncio.to_thread(work.invoke, info_of(event))
            result = ExecutionResult.success(event, await value if asyncio.iscoroutine(value) else value)
        except RetryAfter as error:
            result = ExecutionResult.failed(event, error, retry_after=error.seconds)
        except Exception as error:
            result = ExecutionResult.failed(event, error, retryable=not isinstance(error, PermanentFailure))
        finally:
            self._active -= 1
        self._executed += 1
        self._failed += result.status is not ExecutionStatus.COMPLETED
        return result


MAKERS: dict[str, Callable[[], Any]] = {
    "thread": lambda: ThreadExecutor(threads=2),
    "process": lambda: ProcessExecutor(2),
    "small": SmallExecutor,
}


@pytest.fixture(params=sorted(MAKERS))
def make(request: pytest.FixtureRequest) -> Callable[[], Any]:
    return MAKERS[request.param]


@asynccontextmanager
async def running(make: Callable[[], Any], loader: FakeLoader) -> AsyncIterator[Any]:
    executor = make()
    executor.bind(loader)
    if hasattr(executor, "start"):
        await executor.start()
    try:
        yield executor
    finally:
        if hasattr(executor, "stop"):
            await executor.stop(WAIT)


def run(make: Callable[[], Any], loader: FakeLoader, event: TaskReadyEvent) -> ExecutionResult:
    async def main() -> ExecutionResult:
        async with running(make, loader) as executor:
            return await asyncio.wait_for(executor.execute(event), WAIT)

    return asyncio.run(main())


def test_it_has_the_members_that_the_protocol_names(make: Callable[[], Any]) -> None:
    executor = make()
    assert isinstance(executor, TaskExecutor)
    assert isinstance(executor.name, str)
    assert executor.kinds <= {"python", "shell", "handler"}


@pytest.mark.parametrize("from_store", [False, True])
def test_a_sync_body_completes_with_its_return_value_as_json(make: Callable[[], Any], from_store: bool) -> None:
    loader = FakeLoader(from_store=from_store)
    event = loader.add(bodies.add, 1, 2)
    result = run(make, loader, event)
    assert result.status is ExecutionStatus.COMPLETED
    assert result.output == '{"sum":3}'
    assert (result.run_id, result.task_id, result.attempt) == (event.run_id, event.task_id, event.attempt)


@pytest.mark.parametrize("from_store", [False, True])
def test_an_async_body_completes_with_its_return_value_as_json(make: Callable[[], Any], from_store: bool) -> None:
    loader = FakeLoader(from_store=from_store)
    assert run(make, loader, loader.add(bodies.later, 7)).output == "[7]"


def test_an_exception_becomes_a_result_with_its_type_message_and_traceback(make: Callable[[], Any]) -> None:
    loader = FakeLoader()
    result = run(make, loader, loader.add(bodies.no_such_order))
    assert result.status is ExecutionStatus.RETRY
    assert result.retryable
    assert result.error is not None
    assert (result.error.type, result.error.message) == ("LookupError", "no such order")
    assert "builtins.LookupError" in result.error.mro
    assert 'raise LookupError("no such order")' in result.error.traceback


def test_a_permanent_failure_is_not_retryable(make: Callable[[], Any]) -> None:
    loader = FakeLoader()
    result = run(make, loader, loader.add(bodies.stolen))
    assert result.status is ExecutionStatus.FAILED
    assert not result.retryable
    assert result.error_message == "the card is stolen"


def test_retry_after_carries_its_delay(make: Callable[[], Any]) -> None:
    loader = FakeLoader()
    result = run(make, loader, loader.add(bodies.in_a_while))
    assert result.status is ExecutionStatus.RETRY
    assert result.retry_after == 12.5


def test_an_output_that_is_not_json_fails_the_attempt(make: Callable[[], Any]) -> None:
    loader = FakeLoader()
    result = run(make, loader, loader.add(bodies.not_json))
    assert result.error is not None
    assert result.error.type == "NotJson"


def test_a_body_that_is_not_here_is_returned_and_not_failed(make: Callable[[], Any]) -> None:
    loader = FakeLoader()
    result = run(make, loader, loader.add(None))
    assert result.status is ExecutionStatus.RETURNED
    assert result.error_message == "code_missing"


def test_a_loader_that_fails_becomes_a_failed_result(make: Callable[[], Any]) -> None:
    loader = FakeLoader()
    event = loader.add(bodies.pid)
    loader.error = RuntimeError("no memory of it")
    result = run(make, loader, event)
    assert result.status is ExecutionStatus.RETRY
    assert result.error_message == "no memory of it"


def test_it_has_capacity_again_once_an_attempt_has_ended_and_counts_both(make: Callable[[], Any]) -> None:
    loader = FakeLoader()

    async def main(gate: Gate) -> tuple[bool, ExecutorMetrics, ExecutorMetrics]:
        waiting = [loader.add(pass_gate, gate.port, name) for name in ("first", "second")]
        failing = loader.add(bodies.divide_by_zero)
        async with running(make, loader) as executor:
            tasks = [asyncio.create_task(executor.execute(event)) for event in waiting]
            await asyncio.to_thread(gate.arrived, 2)
            full = executor.has_capacity()
            busy = executor.metrics()
            gate.open()
            await asyncio.wait_for(asyncio.gather(*tasks), WAIT)
            assert executor.has_capacity()
            await executor.execute(failing)
            return full, busy, executor.metrics()

    with Gate() as gate:
        full, busy, after = asyncio.run(main(gate))
    assert not full
    assert busy.active_tasks == 2
    assert (after.active_tasks, after.total_executed, after.total_failed) == (0, 3, 1)


def test_attempts_run_side_by_side(make: Callable[[], Any]) -> None:
    loader = FakeLoader()

    async def main(gate: Gate) -> list[ExecutionResult]:
        events = [loader.add(pass_gate, gate.port, name) for name in ("first", "second")]
        async with running(make, loader) as executor:
            tasks = [asyncio.create_task(executor.execute(event)) for event in events]
            await asyncio.to_thread(gate.arrived, 2)
            gate.open()
            return await asyncio.gather(*tasks)

    with Gate() as gate:
        assert {result.output for result in asyncio.run(main(gate))} == {'"first"', '"second"'}
