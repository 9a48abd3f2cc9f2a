"""The contract of executors, kept by a publisher of steps: with its sockets and without an engine."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
import zmq

from tests.fake_loader import WAIT, FakeLoader, Results
from tests.letter_handler import LetterHandler
from turnout.contracts.executor import TaskExecutor
from turnout.errors import StoreUnreachable
from turnout.executors.pubsub.executor import ZmqPubSubExecutor
from turnout.executors.pubsub.settings import PubSubSettings
from turnout.model.events import ExecutionResult, ExecutionStatus


class Pair:
    """An executor that serves a handler which is moved by hand."""

    def __init__(self, loader: FakeLoader) -> None:
        name = uuid.uuid4().hex
        settings = PubSubSettings(
            rust_step_publisher=f"inproc://steps-{name}", rust_result_subscriber=f"inproc://results-{name}"
        )
        self.context = zmq.Context[Any]()
        self.executor = ZmqPubSubExecutor(settings, context=self.context)
        self.executor.bind(loader)
        self.room = asyncio.Event()
        self.executor.on_capacity(self.room.set)
        self.handler: LetterHandler | None = None

    async def subscribe(self) -> LetterHandler:
        handler = self.handler = LetterHandler(self.executor.step_endpoint, self.executor.result_endpoint, self.context)
        while not self.room.is_set():
            await asyncio.to_thread(handler.look, 0.01)
        return handler


@asynccontextmanager
async def pair(loader: FakeLoader) -> AsyncIterator[Pair]:
    found = Pair(loader)
    await found.executor.start()
    try:
        yield found
    finally:
        await found.executor.stop(0)
        if found.handler is not None:
            found.handler.leave()
        found.context.term()


async def answered(handler: LetterHandler, output: Any) -> None:
    def answer() -> None:
        handler.answer(handler.take(), output)

    await asyncio.to_thread(answer)


@pytest.mark.parametrize("from_store", [False, True])
def test_an_attempt_comes_back_with_its_output(from_store: bool) -> None:
    loader = FakeLoader(from_store=from_store)

    async def main() -> ExecutionResult:
        async with pair(loader) as found:
            handler = await found.subscribe()
            running = asyncio.ensure_future(found.executor.execute(loader.add(None)))
            await answered(handler, {"sum": 3})
            return await asyncio.wait_for(running, WAIT)

    result = asyncio.run(main())
    assert (result.status, result.output) == (ExecutionStatus.COMPLETED, '{"sum":3}')


def test_it_has_the_members_that_the_protocol_names_and_room_only_for_who_is_there() -> None:
    async def main() -> None:
        async with pair(FakeLoader()) as found:
            executor = found.executor
            assert isinstance(executor, TaskExecutor) and executor.kinds == {"handler"}
            assert executor.capacity == 0 and not executor.has_capacity()
            await found.subscribe()
            assert executor.capacity == 1000 and executor.has_capacity()

    asyncio.run(main())


def test_while_nobody_subscribes_an_attempt_goes_back_as_not_started() -> None:
    loader = FakeLoader()

    async def main() -> ExecutionResult:
        async with pair(loader) as found:
            return await asyncio.wait_for(found.executor.execute(loader.add(None)), WAIT)

    result = asyncio.run(main())
    assert result.status is ExecutionStatus.RETURNED
    assert result.error is not None and result.error.message == "no subscriber takes its steps"


def test_work_that_cannot_be_had_goes_back_or_fails() -> None:
    loader = FakeLoader(from_store=True)

    async def main() -> list[ExecutionResult]:
        async with pair(loader) as found:
            await found.subscribe()
            results: list[ExecutionResult] = []
            for error in (StoreUnreachable("away"), ValueError("no such body")):
                loader.error = error
                results.append(await asyncio.wait_for(found.executor.execute(loader.add(None)), WAIT))
            return results

    away, broken = asyncio.run(main())
    assert away.status is ExecutionStatus.RETURNED and away.error_message == StoreUnreachable("").code
    assert broken.status is ExecutionStatus.RETRY and broken.error_message == "no such body"


def test_what_may_run_only_once_is_never_published() -> None:
    loader = FakeLoader()
    event = loader.add(None)
    work = loader.works[event.task_id]
    loader.works[event.task_id] = msgspec.structs.replace(
        work, task=msgspec.structs.replace(work.task, at_most_once=True)
    )

    async def main() -> tuple[ExecutionResult, int]:
        async with pair(loader) as found:
            await found.subscribe()
            result = await asyncio.wait_for(found.executor.execute(event), WAIT)
            return result, len(found.executor.publisher.window)

    result, published = asyncio.run(main())
    assert result.status is ExecutionStatus.FAILED and not result.retryable and published == 0


def test_stopping_waits_for_answers_and_loses_what_has_none() -> None:
    loader, results = FakeLoader(), Results()

    async def main() -> None:
        async with pair(loader) as found:
            handler = await found.subscribe()
            executor = found.executor
            executor.execute_many([loader.add(None)], results)
            batch = await asyncio.to_thread(handler.take)
            stopping = asyncio.ensure_future(executor.stop(WAIT))
            await asyncio.sleep(0)
            assert not executor.has_capacity()
            handler.answer(batch, 1)
            await asyncio.wait_for(stopping, WAIT)

    asyncio.run(main())
    assert results.one().status is ExecutionStatus.COMPLETED

    async def without_an_answer() -> None:
        async with pair(loader) as found:
            handler = await found.subscribe()
            found.executor.execute_many([loader.add(None)], results)
            await asyncio.to_thread(handler.take)
            await found.executor.stop(0)

    asyncio.run(without_an_answer())
    assert results.one().status is ExecutionStatus.LOST


def test_a_cancelled_attempt_ends_at_once_and_only_once() -> None:
    loader, results = FakeLoader(), Results()

    async def main() -> None:
        async with pair(loader) as found:
            await found.subscribe()
            event = loader.add(None)
            found.executor.execute_many([event], results)
            found.executor.cancel(event)
            found.executor.cancel(event)
            assert found.executor.metrics().active_tasks == 0

    asyncio.run(main())
    assert results.one().status is ExecutionStatus.CANCELLED and results.empty
