"""How does an executor that takes batches run one attempt for somebody who waits for it?"""

from __future__ import annotations

import asyncio
from typing import Protocol

from turnout.contracts.executor import BatchExecutor
from turnout.model.events import ExecutionResult, TaskReadyEvent


class CancellingExecutor(BatchExecutor, Protocol):
    def cancel(self, event: TaskReadyEvent) -> None: ...


async def execute_one(executor: CancellingExecutor, event: TaskReadyEvent) -> ExecutionResult:
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
