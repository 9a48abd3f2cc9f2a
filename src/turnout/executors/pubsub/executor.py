"""Publishes attempts to a handler that subscribes to steps, and takes its results.

Everything here runs on the engine's event loop. Delivery is at least once: a step that is not answered is published
again under the same identity, so a handler may run it twice, and whichever answer comes first is taken, once.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import msgspec
import zmq

from turnout.contracts.executor import BatchExecutor, Loader, Report, Work
from turnout.contracts.workers import NumbersRuns, RunNumbers
from turnout.errors import StoreError
from turnout.executors.pubsub.numbers import KnownNumbers
from turnout.executors.pubsub.publisher import NO_SUBSCRIBER, Publisher
from turnout.executors.pubsub.settings import PUBSUB, PubSubSettings
from turnout.executors.workers.in_flight import token_of
from turnout.model.events import ErrorInfo, ExecutionResult, ExecutionStatus, ExecutorMetrics, TaskReadyEvent
from turnout.model.resources import Resources
from turnout.model.spec import TaskSpec
from turnout.wire.documents import Step, StepResult
from turnout.wire.result_codec import result_of
from turnout.wire.step_codec import step_of

ONCE = (
    "it runs at most once, and a step that is not answered is published again: let workers have it, "
    "or drop at_most_once"
)


class _Held(msgspec.Struct, eq=False):
    event: TaskReadyEvent
    report: Report
    work: Work | None = None


class ZmqPubSubExecutor(BatchExecutor, NumbersRuns):
    """Publishes steps to one subscriber and takes the results that it publishes.

    ``context`` is for ``inproc://`` endpoints where the handler uses another than ``zmq.Context.instance()``.
    """

    local: bool = False
    kinds: frozenset[str] = frozenset({"handler"})
    enforces_timeouts: bool = False
    isolates: bool = False
    outlives: bool = False
    trusted: bool = False

    def __init__(
        self, settings: PubSubSettings | None = None, *, name: str = PUBSUB, context: zmq.Context[Any] | None = None
    ) -> None:
        self.settings = settings or PubSubSettings()
        self.settings.check()
        self._name = name
        self.publisher = Publisher(self.settings, self, self._served, context)
        self._held: dict[str, _Held] = {}
        """Attempts without a result, by token."""
        self._loader: Loader | None = None
        self._numbers = KnownNumbers()
        self._room: Callable[[], None] = lambda: None
        self._loading: set[asyncio.Task[None]] = set()
        self._stopping = False
        self._executed: Counter[str] = Counter()

    @classmethod
    def of(cls, *, name: str = PUBSUB, **options: Any) -> ZmqPubSubExecutor:
        """Makes the executor from a table of options: ``use = "zmq_pubsub"`` and the keys of ``step_execution``."""
        return cls(PubSubSettings.of(options), name=name)

    # -- the contract of executors ------------------------------------------------------------------------------
    @property
    def name(self) -> str:
        return self._name

    @property
    def step_endpoint(self) -> str:
        """The endpoint of steps; with the port that was chosen, once it is bound."""
        return self.publisher.sockets.step_endpoint

    @property
    def result_endpoint(self) -> str:
        return self.publisher.sockets.result_endpoint

    @property
    def capacity(self) -> int:
        """The number of attempts that it holds, while no subscriber is served. ``metrics`` has the maximum."""
        return self.settings.step_queue_hwm if self._open else len(self._held)

    def capacity_of(self, body: str) -> int:
        return self.capacity

    def has_capacity(self) -> bool:
        return len(self._held) < self.capacity

    def bind(self, loader: Loader) -> None:
        self._loader = loader

    def bind_numbers(self, numbers: RunNumbers) -> None:
        """Takes the source of the numbers by which handlers know runs."""
        self._numbers = KnownNumbers(numbers)

    def on_capacity(self, callback: Callable[[], None]) -> None:
        self._room = callback

    def refuses(self, task: TaskSpec) -> str | None:
        return ONCE if task.at_most_once else None

    def fits(self, resources: Resources) -> str | None:
        """Returns None: a subscriber is told what a step asks for, and is chosen by its handlers."""
        return None

    def metrics(self) -> ExecutorMetrics:
        total = sum(self._executed.values())
        failed = total - self._executed[ExecutionStatus.COMPLETED]
        return ExecutorMetrics(
            active_tasks=len(self._held),
            total_executed=total,
            total_failed=failed,
            capacity=self.settings.step_queue_hwm,
        )

    async def start(self) -> None:
        self.publisher.open()

    async def stop(self, timeout: float) -> None:
        """Waits until the timeout for answers to published steps. All other attempts are ``returned``."""
        self._stopping = True
        reason = f'executor "{self._name}" was stopped'
        await self.publisher.close(timeout, reason)
        for task in tuple(self._loading):
            task.cancel()
        for held in tuple(self._held.values()):
            self._end(held, ExecutionResult.returned(held.event, reason))

    def cancel(self, event: TaskReadyEvent) -> None:
        """Ends the attempt without its result, since no message stops a handler."""
        held = self._held.get(_token(event))
        if held is not None:
            self.publisher.window.remove(_token(event))
            self._end(held, ExecutionResult.cancelled(event))

    def withdraw(self, events: Sequence[TaskReadyEvent], reason: str) -> None:
        """Reports ``returned`` for attempts that were not published. A published one counts as begun: no message takes
        it back."""
        for event in events:
            held = self._held.get(_token(event))
            if held is not None and not self.publisher.window.is_published(_token(event)):
                self.publisher.window.remove(_token(event))
                self._end(held, ExecutionResult.returned(event, reason))

    # -- publishing ---------------------------------------------------------------------------------------------
    @property
    def _open(self) -> bool:
        return self.publisher.serving and not self._stopping

    def _served(self) -> None:
        self._room()

    def execute_many(self, events: Sequence[TaskReadyEvent], report: Report) -> None:
        assert self._loader is not None
        unnumbered: list[_Held] = []
        for event in events:
            held = self._held[_token(event)] = _Held(event, report)
            if not self._open:
                self._end(held, ExecutionResult.returned(event, NO_SUBSCRIBER))
                continue
            held.work = self._loader.load_now(event)
            if held.work is None:
                self._spawn(self._load(held))
            elif event.run_id in self._numbers:
                self._give(held, held.work)
            else:
                unnumbered.append(held)
        if unnumbered:
            self._spawn(self._number(unnumbered))
        self.publisher.carry_on()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        loading = asyncio.ensure_future(work)
        self._loading.add(loading)
        loading.add_done_callback(self._loading.discard)

    async def _load(self, held: _Held) -> None:
        assert self._loader is not None
        try:
            held.work = await self._loader.load(held.event)
        except StoreError as error:
            self._end(held, ExecutionResult.returned(held.event, error.code))
        except Exception as error:
            self._end(held, ExecutionResult.failed(held.event, error))
        else:
            await self._number([held])

    async def _number(self, batch: Sequence[_Held]) -> None:
        """Publishes these once their runs have numbers."""
        try:
            await self._numbers.learn([held.event.run_id for held in batch])
        except StoreError as error:
            for held in batch:
                self._end(held, ExecutionResult.returned(held.event, error.code))
            return
        for held in batch:
            if self._held.get(_token(held.event)) is held and held.work is not None:
                self._give(held, held.work)
        self.publisher.carry_on()

    def _give(self, held: _Held, work: Work) -> None:
        event = held.event
        if work.task.at_most_once:
            self._end(held, ExecutionResult.failed(event, ErrorInfo("AtMostOnce", ONCE), retryable=False))
            return
        try:
            step = self._numbers.numbered(step_of(work, token=_token(event)))
        except Exception as error:
            self._end(held, ExecutionResult.failed(event, error, retryable=False))
        else:
            self.publisher.window.add(step, time.monotonic())

    # -- how steps end ------------------------------------------------------------------------------------------
    def answered(self, step: Step, result: StepResult) -> None:
        held = self._held[step.token]
        context = held.work.context if held.work is not None else None
        self._end(held, result_of(held.event, result, now=time.time(), context=context))

    def returned(self, steps: Sequence[Step], reason: str) -> None:
        for step in steps:
            held = self._held[step.token]
            self._end(held, ExecutionResult.returned(held.event, reason))

    def lost(self, steps: Sequence[Step], reason: str) -> None:
        for step in steps:
            held = self._held[step.token]
            self._end(held, ExecutionResult.lost(held.event, reason))

    def _end(self, held: _Held, result: ExecutionResult) -> None:
        if self._held.pop(_token(held.event), None) is not None:
            if result.status is not ExecutionStatus.RETURNED:
                self._executed[result.status] += 1
            held.report(result)


def _token(event: TaskReadyEvent) -> str:
    return token_of(event.task_id, event.attempt, event.shadow)
