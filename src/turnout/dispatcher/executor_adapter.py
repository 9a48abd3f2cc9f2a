"""Gives executors that authors write the batch interface.

This is the only place that looks which optional members an executor has, once, when it is registered.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeGuard, cast

from turnout.contracts.executor import BatchExecutor, Loader, Report, TaskExecutor
from turnout.contracts.workers import Assigner, HolderPorts, NumbersRuns, ResultHolder
from turnout.dispatcher.attempt_tasks import AttemptTasks
from turnout.errors import InvalidRouting
from turnout.model.events import ExecutionResult, ExecutorMetrics, TaskReadyEvent
from turnout.model.resources import Resources
from turnout.model.spec import TaskSpec
from turnout.model.values import MAX_BYTES

log = logging.getLogger("turnout.dispatcher")

REQUIRED = ("name", "local", "kinds", "bind", "execute", "has_capacity", "metrics")


class ExecutorRoles(NamedTuple):
    """The roles that an executor has for the dispatcher."""

    executor: BatchExecutor
    assigner: Assigner | None
    result_holder: ResultHolder | None
    numbers: NumbersRuns | None
    holder_ports: HolderPorts | None
    starts: bool
    """It has a start of its own, before which it gets no attempt."""


def roles_of(key: str, executor: TaskExecutor, output_limit: int = MAX_BYTES) -> ExecutorRoles:
    """Returns the roles of an executor that is registered under this key. Raises InvalidRouting if it is none."""
    inherits = is_batch_executor(executor)

    def has(role: type, member: str) -> bool:
        return role in type(executor).__mro__ if inherits else _method(executor, member) is not None

    return ExecutorRoles(
        executor if is_batch_executor(executor) else ExecutorAdapter(key, executor, output_limit),
        cast("Assigner", executor) if has(Assigner, "assign") else None,
        cast("ResultHolder", executor) if has(ResultHolder, "acknowledge") else None,
        cast("NumbersRuns", executor) if has(NumbersRuns, "bind_numbers") else None,
        cast("HolderPorts", executor) if has(HolderPorts, "bind_holders") else None,
        starts=has(BatchExecutor, "start"),
    )


def is_batch_executor(executor: TaskExecutor) -> TypeGuard[BatchExecutor]:
    """True if its class inherits ``BatchExecutor``, and so has every member of it."""
    return BatchExecutor in type(executor).__mro__


class ExecutorAdapter(BatchExecutor):
    """Gives an author's executor the members that it lacks.

    Without ``execute_many``, each attempt is a call of ``execute`` in an asyncio task, whose result is checked here.
    All methods are called on the engine's event loop.
    """

    def __init__(self, key: str, executor: TaskExecutor, output_limit: int = MAX_BYTES) -> None:
        missing = [name for name in REQUIRED if not hasattr(executor, name)]
        if missing:
            raise InvalidRouting(
                f'executor "{key}" ({type(executor).__name__}) lacks {", ".join(missing)}; '
                "see turnout.dispatcher.TaskExecutor",
                code="not_an_executor",
                executor=key,
                missing=missing,
            )
        self._key = key
        self._executor = executor
        reattach = _method(executor, "reattach")
        self._tasks = AttemptTasks(key, executor, reattach, output_limit)
        self._cancelling: set[asyncio.Future[Any]] = set()
        many = _method(executor, "execute_many")
        self._execute_many: Callable[[Sequence[TaskReadyEvent], Report], None] = many or self._tasks.execute_many
        self._cancel = _method(executor, "cancel")
        self._withdraw = _method(executor, "withdraw")
        self._on_capacity = _method(executor, "on_capacity")
        self._refuses = _method(executor, "refuses")
        self._fits = _method(executor, "fits")
        self._start = _method(executor, "start")
        self._stop = _method(executor, "stop")
        self._capacity_of = _method(executor, "capacity_of")
        self._numbered = getattr(executor, "capacity", None) is not None
        self.local = executor.local
        self.kinds = executor.kinds
        self.enforces_timeouts = _flag(executor, "enforces_timeouts")
        self.isolates = _flag(executor, "isolates")
        self.reattaches = reattach is not None
        self.outlives = self.reattaches or _flag(executor, "outlives")
        self.trusted = many is None or _flag(executor, "trusted")

    @property
    def name(self) -> str:
        return self._executor.name

    @property
    def capacity(self) -> int | None:
        return int(cast("Any", self._executor).capacity) if self._numbered else None

    def capacity_of(self, body: str) -> int | None:
        return self._capacity_of(body) if self._numbered and self._capacity_of is not None else self.capacity

    def has_capacity(self) -> bool:
        # What was handed over before must have begun, so that the executor could count it.
        return not self._tasks.starting and bool(self._executor.has_capacity())

    def bind(self, loader: Loader) -> None:
        self._executor.bind(loader)

    def metrics(self) -> ExecutorMetrics:
        return self._executor.metrics()

    def refuses(self, task: TaskSpec) -> str | None:
        return self._refuses(task) if self._refuses is not None else None

    def fits(self, resources: Resources) -> str | None:
        return self._fits(resources) if self._fits is not None else None

    def on_capacity(self, callback: Callable[[], None]) -> None:
        if self._on_capacity is not None:
            self._on_capacity(callback)

    async def start(self) -> None:
        if self._start is not None:
            await _done(self._start())

    async def stop(self, timeout: float) -> None:
        """Lets calls of ``execute`` and ``cancel`` end within the timeout and cancels the rest, then stops the executor
        itself. Calls of ``execute`` of an executor that reattaches are left to the next orchestrator."""
        deadline = time.monotonic() + timeout
        if self.reattaches:
            self.leave()
        await self._tasks.stop(timeout)
        if self._cancelling:
            # What was cancelled has its result, so no later orchestrator asks for it to stop.
            _, late = await asyncio.wait(self._cancelling, timeout=max(0.0, deadline - time.monotonic()))
            for asked in late:
                asked.cancel()
        if self._stop is not None:
            await _done(self._stop(max(0.0, deadline - time.monotonic())))

    async def execute(self, event: TaskReadyEvent) -> ExecutionResult:
        return await self._executor.execute(event)

    def execute_many(self, events: Sequence[TaskReadyEvent], report: Report) -> None:
        # Attempts that were begun before come one by one.
        again = self.reattaches and events[0].again
        (self._tasks.execute_many if again else self._execute_many)(events, report)

    def cancel(self, event: TaskReadyEvent) -> None:
        """Asks the executor itself; if that is not possible, its ``execute`` is cancelled."""
        attempt = self._tasks.of(event)
        if attempt is not None:
            attempt.cancel_asked = True
        if not self._ask_to_stop(event) and attempt is not None:
            attempt.task.cancel()

    def leave(self) -> int:
        return self._tasks.leave()

    def abandon(self, event: TaskReadyEvent) -> None:
        self._ask_to_stop(event)
        self._tasks.abandon(event)

    def withdraw(self, events: Sequence[TaskReadyEvent], reason: str) -> Awaitable[Any] | None:
        """Takes back calls of ``execute`` that have not begun; the executor itself is asked for the others."""
        others = self._tasks.withdraw(events, reason)
        if self._withdraw is None or not others:
            return None
        waiting = self._withdraw(others, reason)
        return waiting if inspect.isawaitable(waiting) else None

    def _ask_to_stop(self, event: TaskReadyEvent) -> bool:
        if self._cancel is None:
            return False
        try:
            waiting = self._cancel(event)
            if inspect.isawaitable(waiting):
                asked = asyncio.ensure_future(waiting)
                self._cancelling.add(asked)
                asked.add_done_callback(self._was_asked)
        except Exception:
            log.exception("executor %s could not cancel %s", self._key, event.task_id)
            return False
        return True

    def _was_asked(self, asked: asyncio.Future[Any]) -> None:
        self._cancelling.discard(asked)
        if not asked.cancelled() and (error := asked.exception()) is not None:
            log.error("executor %s failed to cancel an attempt", self._key, exc_info=error)


def batch_executors(executors: Iterable[tuple[str, TaskExecutor]]) -> dict[str, BatchExecutor]:
    """Returns each executor with its batch face, by key."""
    return {key: each if is_batch_executor(each) else ExecutorAdapter(key, each) for key, each in executors}


def _method(executor: TaskExecutor, name: str) -> Callable[..., Any] | None:
    found = getattr(executor, name, None)
    return found if callable(found) else None


def _flag(executor: TaskExecutor, name: str) -> bool:
    return bool(getattr(executor, name, False))


async def _done(waiting: object) -> None:
    if inspect.isawaitable(waiting):
        await waiting
