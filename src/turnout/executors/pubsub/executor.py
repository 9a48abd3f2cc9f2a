"""How do attempts get to a handler that subscribes to steps, and its results back?

Everything here runs on the engine's event loop. Delivery is at least once: a step that is not answered is published
again under the same identity, so a handler may run it twice, and whichever answer comes first is taken, once.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
import zmq

from turnout.contracts.executor import Loader, Report, Work
from turnout.errors import StoreError
from turnout.executors.pubsub.settings import PUBSUB, PubSubSettings
from turnout.executors.pubsub.sockets import Sockets
from turnout.executors.pubsub.subscribers import Subscriber, Subscribers
from turnout.executors.pubsub.window import Batch, Window
from turnout.executors.workers.flights import token_of
from turnout.model.events import ErrorInfo, ExecutionResult, ExecutionStatus, ExecutorMetrics, TaskReadyEvent
from turnout.model.spec import TaskSpec
from turnout.wire.documents import Step, StepBatch
from turnout.wire.frames import Malformed
from turnout.wire.topics import VERSION, read_results, steps_frame
from turnout.wire.translation import result_of, step_of

log = logging.getLogger("turnout.pubsub")

TICK = 0.05
DELIVERIES = 5
"""How often one attempt is published at most; then it is lost, and what follows is the engine's to say."""
NOBODY = "nobody subscribes to its steps"
ONCE = (
    "it runs at most once, and a step that is not answered is published again: let workers have it, "
    "or drop at_most_once"
)


class Counts(msgspec.Struct):
    """What was seen of the other side, for people."""

    malformed: int = 0
    """Messages that could not be read."""
    unmatched: int = 0
    """Results that came twice, or too late, or for nobody."""


class _Held(msgspec.Struct, eq=False):
    event: TaskReadyEvent
    report: Report
    work: Work | None = None


class ZmqPubSubExecutor:
    """Publishes steps to one subscriber and takes the results that it publishes.

    ``context`` is for ``inproc://`` endpoints where the handler uses another than ``zmq.Context.instance()``.
    """

    local: bool = False
    kinds: frozenset[str] = frozenset({"handler"})

    def __init__(
        self, settings: PubSubSettings | None = None, *, name: str = PUBSUB, context: zmq.Context[Any] | None = None
    ) -> None:
        self.settings = settings or PubSubSettings()
        self.settings.check()
        self._name = name
        own = uuid.uuid4().hex[:12]
        self.subscribers = Subscribers(own)
        self.window = Window(
            batch_size=self.settings.batch_size,
            timeout=self.settings.result_timeout_ms / 1000,
            deliveries=DELIVERIES,
            new_id=lambda: f"batch_{uuid.uuid4()}_{int(time.time())}",
        )
        self._context = context
        self._sockets: Sockets | None = None
        self._held: dict[str, _Held] = {}
        self._loader: Loader | None = None
        self._room: Callable[[], None] = lambda: None
        self._ticker: asyncio.Task[None] | None = None
        self._loading: set[asyncio.Task[None]] = set()
        self._stopping = False
        self._idle: asyncio.Event | None = None
        self.counts = Counts()
        self._executed: Counter[str] = Counter()

    @classmethod
    def of(cls, *, name: str = PUBSUB, **said: Any) -> ZmqPubSubExecutor:
        """The executor of a table of options: ``use = "zmq_pubsub"`` and the keys of ``step_execution``."""
        return cls(PubSubSettings.of(said), name=name)

    # -- the contract of executors ------------------------------------------------------------------------------
    @property
    def name(self) -> str:
        return self._name

    @property
    def step_endpoint(self) -> str:
        """Where steps are published; with the port that was found, once it is bound."""
        return self._sockets.step_endpoint if self._sockets is not None else self.settings.rust_step_publisher

    @property
    def result_endpoint(self) -> str:
        return self._sockets.result_endpoint if self._sockets is not None else self.settings.rust_result_subscriber

    @property
    def capacity(self) -> int:
        """While nobody is served there is room for nothing more."""
        return self.settings.step_queue_hwm if self._serving() else len(self._held)

    def has_capacity(self) -> bool:
        return len(self._held) < self.capacity

    def bind(self, loader: Loader) -> None:
        self._loader = loader

    def on_capacity(self, callback: Callable[[], None]) -> None:
        self._room = callback

    def refuses(self, task: TaskSpec) -> str | None:
        return ONCE if task.at_most_once else None

    def metrics(self) -> ExecutorMetrics:
        total = sum(self._executed.values())
        failed = total - self._executed[ExecutionStatus.COMPLETED]
        return ExecutorMetrics(active_tasks=len(self._held), total_executed=total, total_failed=failed)

    async def start(self) -> None:
        self._sockets = Sockets(
            self.settings,
            self._context,
            came=self._came,
            left=self._left,
            heard=self._heard,
            after=self._carry_on,
        )
        self._sockets.open()
        self._ticker = asyncio.ensure_future(self._tick())
        log.info("steps are published on %s, results heard from %s", self.step_endpoint, self.result_endpoint)

    async def stop(self, timeout: float) -> None:
        """What was not published goes back; what was has until the timeout to be answered."""
        self._stopping = True
        self._return(self.window.never_published(), "the executor is stopping")
        if self.window.unanswered:
            self._idle = asyncio.Event()
            waiting = asyncio.ensure_future(self._idle.wait())
            await asyncio.wait({waiting}, timeout=timeout)
            waiting.cancel()
        self._lose(self.window.all_published(), f'executor "{self._name}" was stopped')
        for task in (self._ticker, *self._loading):
            if task is not None:
                task.cancel()
        for held in list(self._held.values()):
            self._end(held, ExecutionResult.returned(held.event, "the executor is stopping"))
        if self._sockets is not None:
            self._sockets.close()

    async def execute(self, event: TaskReadyEvent) -> ExecutionResult:
        """One attempt; the dispatcher uses ``execute_many``."""
        answer: asyncio.Future[ExecutionResult] = asyncio.get_running_loop().create_future()
        self.execute_many([event], answer.set_result)
        return await answer

    def cancel(self, event: TaskReadyEvent) -> None:
        """There is no message that would stop a handler: its result is not waited for."""
        held = self._held.get(_token(event))
        if held is not None:
            self.window.remove(_token(event))
            self._end(held, ExecutionResult.cancelled(event))

    # -- giving -------------------------------------------------------------------------------------------------
    def execute_many(self, events: Sequence[TaskReadyEvent], report: Report) -> None:
        assert self._loader is not None
        for event in events:
            held = self._held[_token(event)] = _Held(event, report)
            if not self._serving():
                self._end(held, ExecutionResult.returned(event, NOBODY))
            elif (work := self._loader.load_now(event)) is None:
                self._load_later(held)
            else:
                self._give(held, work)
        self._carry_on()

    def _load_later(self, held: _Held) -> None:
        task = asyncio.ensure_future(self._load(held))
        self._loading.add(task)
        task.add_done_callback(self._loading.discard)

    async def _load(self, held: _Held) -> None:
        assert self._loader is not None
        try:
            work = await self._loader.load(held.event)
        except StoreError as error:
            self._end(held, ExecutionResult.returned(held.event, error.code))
        except Exception as error:
            self._end(held, ExecutionResult.failed(held.event, error))
        else:
            if self._held.get(_token(held.event)) is held:
                self._give(held, work)
                self._carry_on()

    def _give(self, held: _Held, work: Work) -> None:
        event, held.work = held.event, work
        if work.task.at_most_once:
            self._end(held, ExecutionResult.failed(event, ErrorInfo("AtMostOnce", ONCE), retryable=False))
            return
        try:
            step = step_of(work, token=_token(event), task_context=work.run_input, previous_results=work.previous)
        except Exception as error:
            self._end(held, ExecutionResult.failed(event, error, retryable=False))
        else:
            self.window.add(step, time.monotonic())

    # -- hearing ------------------------------------------------------------------------------------------------
    def _came(self, topic: bytes) -> None:
        assert self._sockets is not None
        before = self.subscribers.refused
        new = self.subscribers.came(topic, time.monotonic())
        if new is not None:
            self._sockets.grant(new.channel)
        if self.subscribers.refused > before:
            log.error(
                "a second subscriber of %s is refused: it gets no steps while another is served. Give each handler "
                "program an executor with endpoints of its own, or use workers and a hub",
                self.step_endpoint,
            )
        elif new is not None:
            self._sockets.listen_again()

    def _left(self, topic: bytes) -> None:
        assert self._sockets is not None
        self._sockets.revoke(self.subscribers.channels)
        before = self.subscribers.served
        self.subscribers.left(topic, time.monotonic())
        if before is not None and self.subscribers.present == 0:
            unanswered = self.window.unanswered
            level = logging.WARNING if unanswered else logging.INFO
            log.log(level, "the subscriber of %s has left with %d steps unanswered", self.step_endpoint, unanswered)

    def _heard(self, frames: list[bytes]) -> None:
        try:
            if len(frames) != 1:
                raise Malformed(f"{len(frames)} frames instead of 1")
            heard = read_results(frames[0])
        except Malformed as error:
            self.counts.malformed += 1
            log.warning("a message on %s is dropped: %s", self.result_endpoint, error)
            return
        if self.subscribers.is_question(heard.batch_id):
            self._serve(self.subscribers.answered(heard.batch_id))
            return
        now = time.time()
        taken = self.window.answer(heard)
        self.counts.unmatched += len(heard.results) - len(taken)
        for step, result in taken:
            held = self._held[step.token]
            context = held.work.context if held.work is not None else None
            self._end(held, result_of(held.event, result, now=now, context=context))

    # -- what follows -------------------------------------------------------------------------------------------
    def _serving(self) -> bool:
        return self.subscribers.served is not None and not self._stopping

    def _serve(self, subscriber: Subscriber | None) -> None:
        if subscriber is not None:
            log.info("a subscriber of %s is served", self.step_endpoint)
            now = time.monotonic()
            self.window.served(subscriber.number, now)
            self._publish(self.window.overdue(now), subscriber, now)
            self._room()

    def _carry_on(self) -> None:
        """What follows from what was heard or given."""
        assert self._sockets is not None
        now, subscribers = time.monotonic(), self.subscribers
        for channel, batch_id in subscribers.questions(now):
            if subscribers.asked_before:
                self._sockets.listen_again()
            self._send(StepBatch(batch_id=batch_id, protocol_version=VERSION, steps=()), channel)
        if not subscribers.present:
            self._return(self.window.never_published(), NOBODY)
        elif subscribers.served is not None:
            self._publish(self.window.fresh(), subscribers.served, now)
        if self._idle is not None and not self.window.unanswered:
            self._idle.set()

    def _look_at_the_time(self) -> None:
        now, subscribers = time.monotonic(), self.subscribers
        self._serve(subscribers.waited(now))
        self._return(self.window.never_published(now), "its subscriber takes nothing more")
        if subscribers.served is not None:
            self._publish(self.window.overdue(now), subscribers.served, now)
        self._lose(self.window.lost(now, anybody=subscribers.present > 0), "it was published and never answered")
        if self._sockets is not None:
            self._sockets.look()

    def _publish(self, batches: Iterable[Batch], served: Subscriber, now: float) -> None:
        for batch in batches:
            if not self._send(batch.document, served.channel):
                return
            if batch.deliveries:
                log.warning("batch %s is published again: %d steps are unanswered", batch.id, len(batch.steps))
            self.window.published(batch, served.number, now)

    def _send(self, document: StepBatch, channel: int) -> bool:
        return self._sockets is not None and self._sockets.publish(steps_frame(document, channel))

    def _return(self, steps: Sequence[Step], reason: str) -> None:
        for step in steps:
            held = self._held[step.token]
            self._end(held, ExecutionResult.returned(held.event, reason))

    def _lose(self, steps: Sequence[Step], reason: str) -> None:
        for step in steps:
            held = self._held[step.token]
            self._end(held, ExecutionResult.lost(held.event, reason))

    def _end(self, held: _Held, result: ExecutionResult) -> None:
        if self._held.pop(_token(held.event), None) is not None:
            if result.status is not ExecutionStatus.RETURNED:
                self._executed[result.status] += 1
            held.report(result)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            try:
                self._look_at_the_time()
            except Exception:
                log.exception("publishing steps stumbled and goes on")


def _token(event: TaskReadyEvent) -> str:
    return token_of(event.task_id, event.attempt, event.shadow)
