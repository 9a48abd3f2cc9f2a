"""The threads in which the orchestrator calls the store: so many connections at once, the rest is for others."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class StoreThreads:
    """Runs store calls in threads, no more at once than its limit; the others wait in order. Used on one event loop."""

    def __init__(self, connections: int, usage: float) -> None:
        self._most = max(1, int(connections * usage))
        self.limit = self._most
        self.active = 0
        self._waiting: deque[tuple[Callable[[], Any], asyncio.Future[Any]]] = deque()
        self._threads = ThreadPoolExecutor(self._most, thread_name_prefix="turnout-store")

    def apply_backpressure(self, factor: float) -> None:
        """Less takes effect with the next call: what is under way is not many."""
        self.limit = max(1, int(self._most * factor))
        self._next()

    def run(self, call: Callable[[], T]) -> asyncio.Future[T]:
        """The call's result, once it had its turn."""
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append((call, answer))
        self._next()
        return answer

    def close(self) -> None:
        self._threads.shutdown(wait=False)
        for _, answer in self._waiting:
            answer.cancel()
        self._waiting.clear()

    def _next(self) -> None:
        while self._waiting and self.active < self.limit:
            call, answer = self._waiting.popleft()
            if answer.done():
                continue
            self.active += 1
            done = asyncio.get_running_loop().run_in_executor(self._threads, call)
            done.add_done_callback(lambda done, answer=answer: self._answer(done, answer))

    def _answer(self, done: asyncio.Future[Any], answer: asyncio.Future[Any]) -> None:
        self.active -= 1
        if done.cancelled():
            answer.cancel()
        elif (error := done.exception()) is not None:
            if not answer.done():
                answer.set_exception(error)
        elif not answer.done():
            answer.set_result(done.result())
        self._next()
