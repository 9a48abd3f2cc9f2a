"""A loader for tests of executors: bodies by task name, from memory, as slow or as broken as the test wants it."""

from __future__ import annotations

import itertools
import queue
from collections.abc import Callable
from typing import Any

import msgspec

from turnout.authoring.invocation import caller
from turnout.contracts.executor import Work
from turnout.executors.work_runner import WorkRunner
from turnout.model.events import ExecutionResult, TaskReadyEvent
from turnout.model.retry import RetryPolicy
from turnout.model.spec import Body, TaskSpec

WAIT = 20.0
"""Seconds after which a test that waits for a signal has failed; never a time that a passing test takes."""

_numbers = itertools.count(1)


class FakeLoader:
    """``loader.add(body, …)`` makes the event of a new attempt of that body."""

    def __init__(self, *, from_store: bool = False) -> None:
        self.from_store = from_store
        """Nothing can be had at once: executors have to use ``load`` or ``load_blocking``."""
        self.error: BaseException | None = None
        self.works: dict[str, Work] = {}
        self.runner = WorkRunner()

    def add(
        self,
        body: Callable[..., Any] | None,
        *args: Any,
        attempt: int = 1,
        begun: int | None = None,
        name: str = "t",
        **more: Any,
    ) -> TaskReadyEvent:
        """``begun``: how many of the attempts before began, if not all of them."""
        task_id = f"run.{next(_numbers)}"
        event = TaskReadyEvent(
            run_id="run",
            task_id=task_id,
            task_name=f"public::embedded::w::{name}",
            attempt=attempt,
            max_attempts=3,
            begun=attempt - 1 if begun is None else begun,
            shadow=more.pop("shadow", False),
        )
        task = TaskSpec(name=name, body=Body("python", f"tests:{name}"), retry=RetryPolicy(attempts=3))
        more.setdefault("bind_body", None if body is None else caller(body, args, {}, None))
        self.works[task_id] = Work(
            event=event,
            task=task,
            body=body,
            args=args,
            idempotency_key=task_id,
            token=f"{task_id}:{attempt}",
            runner=self.runner,
            **more,
        )
        return event

    async def load(self, event: TaskReadyEvent) -> Work:
        return self.load_blocking(event)

    def load_now(self, event: TaskReadyEvent) -> Work | None:
        return None if self.from_store else self.load_blocking(event)

    def load_blocking(self, event: TaskReadyEvent) -> Work:
        if self.error is not None:
            raise self.error
        return msgspec.structs.replace(self.works[event.task_id], event=event)


class Results:
    """Collects results as they come, from any thread; ``take(n)`` waits for the next n."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[ExecutionResult] = queue.SimpleQueue()

    def __call__(self, result: ExecutionResult) -> None:
        self._queue.put(result)

    def take(self, count: int = 1) -> list[ExecutionResult]:
        return [self._queue.get(timeout=WAIT) for _ in range(count)]

    def one(self) -> ExecutionResult:
        return self.take()[0]

    @property
    def empty(self) -> bool:
        return self._queue.empty()
