"""One attempt of an executor that takes batches, awaited."""

from __future__ import annotations

import asyncio

from turnout.contracts.executor import BatchExecutor
from turnout.model.events import ExecutionResult, TaskReadyEvent


async def execute_one(executor: BatchExecutor, event: TaskReadyEvent) -> ExecutionResult:
    """The attempt's result. If the waiting is cancelled, so is the attempt."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[ExecutionResult] = loop.create_future()

    def report(result: ExecutionResult) -> None:
        loop.call_soon_threadsafe(lambda: answer.done() or answer.set_result(result))

    executor.execute_many((event,), report)
    try:
        return await answer
    except asyncio.CancelledError:
        executor.cancel(event)
        raise
