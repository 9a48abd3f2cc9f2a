"""What every task executor promises: run on those for Python bodies, on a worker's, and on the recipe of the docs."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests import process_bodies as bodies
from tests.fake_loader import WAIT, FakeLoader
from tests.gates import Gate, pass_gate
from turnout import task
from turnout.contracts.clock import boot_time
from turnout.contracts.executor import Loader, TaskExecutor, Work
from turnout.dispatcher.result_validation import accepted, raised
from turnout.executors.process import ProcessExecutor
from turnout.executors.thread import ThreadExecutor
from turnout.model.events import ExecutionResult, ExecutionStatus, ExecutorMetrics, TaskReadyEvent
from turnout.model.info import TaskInfo
from turnout.runtime.capture import capture
from turnout.wire.documents import Step
from turnout.wire.step_codec import step_of
from turnout.worker.handlers import Handlers
from turnout.worker.step_loader import StepLoader

RECIPE = Path(__file__).parents[2] / "docs" / "how-to/custom-executor.md"
GRACE = 5.0
"""Seconds beyond a timeout in which an attempt may end, at most: a killed process has so long to clean up."""


def recipe() -> Any:
    """The executor that docs/how-to/custom-executor.md shows, as it stands there, with two places."""
    block = re.search(r"^```python\n(.*?)^```$", RECIPE.read_text(), re.MULTILINE | re.DOTALL)
    assert block is not None
    names: dict[str, Any] = {"__name__": "recipe"}
    exec(compile(block[1], str(RECIPE), "exec"), names)
    executor = names["FourAtOnce"]()
    executor.capacity = 2
    return executor


class Remote(ThreadExecutor):
    """What a worker in Python has: attempts come as steps, as JSON."""

    def bind(self, loader: Loader) -> None:
        super().bind(_Wire(loader))


class _Wire:
    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    async def load(self, event: TaskReadyEvent) -> Work:
        return self.load_blocking(event)

    def load_now(self, event: TaskReadyEvent) -> Work | None:
        return None

    def load_blocking(self, event: TaskReadyEvent) -> Work:
        work = self._loader.load_blocking(event)
        if work.body is None:
            return work
        sent = msgspec.json.decode(msgspec.json.encode(step_of(work, token=work.token)), type=Step)
        handlers = Handlers(shell=False)
        handlers.add(sent.handler_class, task(retry_if=work.retry_predicate)(work.body))
        loader = StepLoader(handlers, work.output)
        return loader.put(sent) if work.fence is None else loader.put(sent, work.fence)


MAKERS: dict[str, Callable[[], Any]] = {
    "thread": lambda: ThreadExecutor(threads=2),
    "process": lambda: ProcessExecutor(2, grace=0.5),
    "worker": lambda: Remote(threads=2),
    "recipe": recipe,
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
        await loader.runner.stop()


def run(make: Callable[[], Any], loader: FakeLoader, event: TaskReadyEvent) -> ExecutionResult:
    async def main() -> ExecutionResult:
        async with running(make, loader) as executor:
            return await execute(executor, event)

    return asyncio.run(main())


async def execute(executor: Any, event: TaskReadyEvent) -> ExecutionResult:
    """The result as the dispatcher takes it: an executor may raise as well."""
    try:
        return await asyncio.wait_for(executor.execute(event), WAIT)
    except Exception as error:
        return raised(event, error)


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


@pytest.mark.parametrize("body", [bodies.leave_a_mark, bodies.leave_a_mark_later])
@pytest.mark.parametrize("left", [-1.0, 0.001])
def test_a_body_does_not_begin_when_its_time_to_is_over(
    make: Callable[[], Any], tmp_path: Path, body: Callable[..., Any], left: float
) -> None:
    """Also if it passes on the way: a child takes longer to start than this."""
    loader, mark = FakeLoader(), tmp_path / "mark"
    until = boot_time() + (left if make is MAKERS["process"] else -1.0)
    event = loader.add(body, str(mark), fence=lambda: until)
    result = accepted(event, run(make, loader, event), "any")
    assert (result.status, result.error_message) == (ExecutionStatus.RETURNED, "attempt_fenced")
    assert not mark.exists()


@pytest.mark.parametrize("body", [bodies.leave_a_mark_with, bodies.leave_a_mark_with_later])
def test_a_body_does_not_begin_when_its_time_to_passes_while_values_are_converted(
    make: Callable[[], Any], tmp_path: Path, body: Callable[..., Any]
) -> None:
    loader, mark = FakeLoader(), tmp_path / "mark"
    until = boot_time() + (1.0 if make is MAKERS["process"] else 0.2)
    event = loader.add(body, {"until": until}, str(mark), fence=lambda: until)
    result = accepted(event, run(make, loader, event), "any")
    assert (result.status, result.error_message) == (ExecutionStatus.RETURNED, "attempt_fenced")
    assert not mark.exists()


def test_a_body_begins_while_its_time_to_is_not_over(make: Callable[[], Any], tmp_path: Path) -> None:
    loader, mark = FakeLoader(), tmp_path / "mark"
    until = boot_time() + 3600.0
    assert run(make, loader, loader.add(bodies.leave_a_mark, str(mark), fence=lambda: until)).error is None
    assert mark.exists()


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
    assert busy.capacity in (2, None) and busy.running in (2, None), "what it does not say is what it takes"
    assert (after.capacity, after.running or 0) == (busy.capacity, 0)
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


# -- what bodies are told and say ------------------------------------------------------------------------------------
@pytest.mark.parametrize("body", [bodies.told, bodies.told_later])
def test_a_body_is_told_all_about_its_attempt(make: Callable[[], Any], body: Callable[..., Any]) -> None:
    loader = FakeLoader()
    labels, saved = {"gpu": "true"}, {"page": 7}
    event = loader.add(
        body,
        attempt=2,
        name="charge",
        workflow="public::embedded::w",
        index=3,
        labels=labels,
        timeout=30.0,
        saved=saved,
    )
    result = run(make, loader, event)
    assert result.error is None
    assert msgspec.json.decode(result.output or "") == {
        "run_id": "run",
        "task_id": event.task_id,
        "task_name": "public::embedded::w::charge",
        "name": "charge",
        "workflow": "public::embedded::w",
        "attempt": 2,
        "max_attempts": 3,
        "is_last_attempt": False,
        "index": 3,
        "item": 3,
        "labels": {"gpu": "true"},
        "timeout": 30.0,
        "saved": {"page": 7},
        "idempotency_key": event.task_id,
        "token": f"{event.task_id}:2",
        "shadow": False,
        "cancelled": False,
    }
    assert result.started_at is not None and result.finished_at is not None


@pytest.mark.parametrize("body", [bodies.told, bodies.told_later])
def test_the_first_attempt_that_begins_is_number_one_whatever_was_handed_back(
    make: Callable[[], Any], body: Callable[..., Any]
) -> None:
    loader = FakeLoader()
    event = loader.add(body, attempt=2, begun=0, timeout=30.0)
    told = msgspec.json.decode(run(make, loader, event).output or "")
    assert (told["attempt"], told["max_attempts"], told["is_last_attempt"]) == (1, 2, False)
    assert told["token"] == f"{event.task_id}:2", "the fencing token counts every placement"


class Heard:
    """Takes what bodies say."""

    echo = False

    def __init__(self) -> None:
        self.said: list[tuple[str, int, str, str]] = []

    def __call__(self, source: TaskReadyEvent | TaskInfo, stream: str, text: str) -> None:
        self.said.append((source.task_id, source.ordinal, str(stream), text))

    def of(self, stream: str) -> str:
        return "".join(text for _, _, said, text in self.said if said == stream)


@pytest.mark.parametrize("body", [bodies.say_something, bodies.say_something_later])
def test_what_a_body_says_is_kept_for_its_attempt(make: Callable[[], Any], body: Callable[..., Any]) -> None:
    loader, heard = FakeLoader(), Heard()
    event = loader.add(body, attempt=2, begun=0, output=heard, timeout=30.0)
    end = capture()
    try:
        assert run(make, loader, event).error is None
    finally:
        end()
    assert {(task_id, attempt) for task_id, attempt, _, _ in heard.said} == {(event.task_id, 2)}
    assert heard.of("stdout").rstrip("\n") == "said by print"
    assert "said by the logger" in heard.of("log")
    assert msgspec.json.decode(heard.of("progress")) == {"done": 1.0, "total": 2.0, "message": "halfway"}


# -- how attempts end otherwise --------------------------------------------------------------------------------------
@pytest.mark.parametrize("body", [bodies.put_off, bodies.put_off_later])
def test_a_body_that_defers_itself_is_deferred_and_finds_what_it_saved(
    make: Callable[[], Any], body: Callable[..., Any]
) -> None:
    loader = FakeLoader()
    result = run(make, loader, loader.add(body))
    assert result.status is ExecutionStatus.DEFERRED
    assert result.deferral is not None
    assert (result.deferral.seconds, result.deferral.saved) == (1.0, '{"seen":1}')
    again = FakeLoader()
    assert run(make, again, again.add(body, attempt=2, saved={"seen": 1})).output == "1"


def test_a_branch_carries_its_choice(make: Callable[[], Any]) -> None:
    loader = FakeLoader()
    assert run(make, loader, loader.add(bodies.choose, "left")).chosen == ("left",)


def test_the_retry_predicate_is_asked(make: Callable[[], Any]) -> None:
    loader = FakeLoader()
    event = loader.add(bodies.no_such_order, retry_predicate=bodies.hopeless)
    assert run(make, loader, event).status is ExecutionStatus.FAILED


def test_a_sync_body_that_exceeds_its_timeout_ends_as_timed_out(make: Callable[[], Any]) -> None:
    loader = FakeLoader()

    async def main(gate: Gate) -> tuple[ExecutionResult, float]:
        event = loader.add(bodies.deaf, gate.port, timeout=0.3)
        async with running(make, loader) as executor:
            task = asyncio.create_task(execute(executor, event))
            await asyncio.to_thread(gate.arrived)
            began = time.monotonic()
            result = await task
            took = time.monotonic() - began
            gate.open()
            return result, took

    with Gate() as gate:
        result, took = asyncio.run(main(gate))
    assert result.status is ExecutionStatus.TIMED_OUT
    assert result.error_message == "exceeded its timeout of 0.3 s"
    assert took < 0.3 + GRACE


def test_an_async_body_that_exceeds_its_timeout_ends_as_timed_out(make: Callable[[], Any]) -> None:
    loader = FakeLoader()
    result = run(make, loader, loader.add(bodies.never, timeout=0.1))
    assert result.status is ExecutionStatus.TIMED_OUT


@pytest.mark.parametrize("body", [bodies.wait_to_be_cancelled, bodies.wait_to_be_cancelled_later])
def test_a_body_whose_attempt_is_cancelled_is_asked_to_stop(make: Callable[[], Any], body: Callable[..., Any]) -> None:
    loader = FakeLoader()

    async def main(gate: Gate) -> None:
        event = loader.add(body, gate.port)
        async with running(make, loader) as executor:
            task = asyncio.create_task(executor.execute(event))
            await asyncio.to_thread(gate.arrived)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.to_thread(gate.gone, "waiting")

    with Gate() as gate:
        asyncio.run(main(gate))


def test_an_attempt_that_deferred_itself_is_no_failure_in_the_figures(make: Callable[[], Any]) -> None:
    loader = FakeLoader()

    async def main() -> ExecutorMetrics:
        async with running(make, loader) as executor:
            await execute(executor, loader.add(bodies.put_off))
            return executor.metrics()

    figures = asyncio.run(main())
    assert (figures.total_executed, figures.total_failed) == (1, 0)
