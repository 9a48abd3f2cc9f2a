"""Publishes steps and takes results, by the rules of window and subscribers.

Everything here runs on the engine's event loop.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import msgspec
import zmq

from turnout.executors.pubsub.pace import Pace
from turnout.executors.pubsub.settings import PubSubSettings
from turnout.executors.pubsub.sockets import Sockets
from turnout.executors.pubsub.subscribers import Subscriber, Subscribers
from turnout.executors.pubsub.window import Batch, Window
from turnout.wire.documents import Step, StepBatch, StepResult
from turnout.wire.messages import Malformed
from turnout.wire.topics import VERSION, read_results, steps_frame

log = logging.getLogger("turnout.pubsub")

TICK = 0.05
DELIVERIES = 5
"""How often one attempt is published at most; then it is lost, and the engine decides whether it is retried."""
PROBE_INTERVAL = 0.5
MAX_PROBES = 16
NO_SUBSCRIBER = "no subscriber takes its steps"


class Counts(msgspec.Struct):
    """Counts of unusable messages, for people."""

    malformed: int = 0
    """Messages that could not be read."""
    unmatched: int = 0
    """Results that came twice, or too late, or for no step."""


class Ends(Protocol):
    """Receives how each step ended, once."""

    def answered(self, step: Step, result: StepResult) -> None: ...

    def returned(self, steps: Sequence[Step], reason: str) -> None:
        """Called for steps that were never published."""
        ...

    def lost(self, steps: Sequence[Step], reason: str) -> None:
        """Called for steps that were published, and may have run."""
        ...


class Publisher:
    """Publishes steps, and reports how each ended to ``ends``."""

    def __init__(
        self, settings: PubSubSettings, ends: Ends, room: Callable[[], None], context: zmq.Context[Any] | None
    ) -> None:
        self.subscribers = Subscribers(uuid.uuid4().hex[:12])
        self._pace = Pace(settings.overtaken_batches, settings.overtaken_after_ms / 1000)
        self._probes: dict[str, int] = {}
        """Probes of the subscriber, by their ids, with their order among everything published."""
        self._next_probe = 0.0
        self.window = Window(
            batch_size=settings.batch_size,
            timeout=settings.result_timeout_ms / 1000,
            deliveries=DELIVERIES,
            new_id=lambda: f"batch_{uuid.uuid4()}_{int(time.time())}",
            pace=self._pace,
        )
        self.sockets = Sockets(
            settings, context, came=self._came, left=self._left, heard=self._heard, after=self.carry_on
        )
        self.counts = Counts()
        self._ends = ends
        self._room = room
        """Called when a subscriber begins to be served."""
        self._ticker: asyncio.Task[None] | None = None
        self._idle: asyncio.Event | None = None

    def open(self) -> None:
        self.sockets.open()
        self._ticker = asyncio.ensure_future(self._tick())
        log.info(
            "steps are published on %s, results received from %s",
            self.sockets.step_endpoint,
            self.sockets.result_endpoint,
        )

    async def close(self, timeout: float, reason: str) -> None:
        """Hands back the steps that were not published, and waits until the timeout for answers to the others."""
        self._ends.returned(self.window.never_published(), reason)
        if self.window.unanswered and self._ticker is not None:
            self._idle = asyncio.Event()
            waiting = asyncio.ensure_future(self._idle.wait())
            await asyncio.wait({waiting}, timeout=timeout)
            waiting.cancel()
        self._ends.lost(self.window.all_published(), reason)
        if self._ticker is not None:
            self._ticker.cancel()
        self.sockets.close()

    @property
    def serving(self) -> bool:
        return self.subscribers.served is not None

    def carry_on(self) -> None:
        """Publishes what can be published now: questions and waiting steps."""
        now, subscribers = time.monotonic(), self.subscribers
        for channel, batch_id in subscribers.questions(now):
            if subscribers.asked_before:
                self.sockets.listen_again()
            self._send(StepBatch(batch_id=batch_id, protocol_version=VERSION, steps=()), channel)
        if not subscribers.present:
            self._ends.returned(self.window.never_published(), NO_SUBSCRIBER)
        elif subscribers.served is not None:
            self._publish(self.window.fresh(), subscribers.served, now)
        if self._idle is not None and not self.window.unanswered:
            self._idle.set()

    def _check_deadlines(self) -> None:
        now, subscribers = time.monotonic(), self.subscribers
        self._serve(subscribers.waited(now))
        self._ends.returned(self.window.never_published(now), "its subscriber takes no more steps")
        if subscribers.served is not None:
            self._publish(self.window.overdue(now), subscribers.served, now)
            self._publish(self.window.overtaken(now), subscribers.served, now)
            self._probe(subscribers.served, now)
        self._ends.lost(self.window.lost(now, present=subscribers.present > 0), "it was published and never answered")

    def _probe(self, served: Subscriber, now: float) -> None:
        """Probes a subscriber that has not answered a batch and has no later batch to answer."""
        if now < self._next_probe or not self.window.wants_probe(now):
            return
        self._next_probe = now + PROBE_INTERVAL
        while len(self._probes) >= MAX_PROBES:
            del self._probes[next(iter(self._probes))]
        probe = f"probe_{uuid.uuid4()}_{int(time.time())}"
        if self._send(StepBatch(batch_id=probe, protocol_version=VERSION, steps=()), served.channel):
            self._probes[probe] = self.window.next_order()

    def _publish(self, batches: Iterable[Batch], served: Subscriber, now: float) -> None:
        for batch in batches:
            if not self._send(batch.document, served.channel):
                return
            if batch.deliveries:
                log.warning("batch %s is published again: %d steps are unanswered", batch.id, len(batch.steps))
            self.window.published(batch, served.number, now)

    def _send(self, document: StepBatch, channel: int) -> bool:
        return self.sockets.publish(steps_frame(document, channel))

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            try:
                self._check_deadlines()
                self.sockets.look()
            except Exception:
                log.exception("publishing steps failed and will be retried")

    # -- receiving ----------------------------------------------------------------------------------------------
    def _came(self, topic: bytes) -> None:
        before = self.subscribers.refused
        new = self.subscribers.came(topic, time.monotonic())
        if new is not None:
            self.sockets.grant(new.channel)
        if self.subscribers.refused > before:
            log.error(
                "a second subscriber of %s is refused: it gets no steps while another is served. Give each handler "
                "program an executor with endpoints of its own, or use workers and a hub",
                self.sockets.step_endpoint,
            )
        elif new is not None:
            self.sockets.listen_again()

    def _left(self, topic: bytes) -> None:
        self.sockets.revoke(self.subscribers.channels)
        before = self.subscribers.served
        self.subscribers.left(topic, time.monotonic())
        if before is not None and self.subscribers.present == 0:
            unanswered = self.window.unanswered
            level = logging.WARNING if unanswered else logging.INFO
            endpoint = self.sockets.step_endpoint
            log.log(level, "the subscriber of %s has left with %d steps unanswered", endpoint, unanswered)

    def _heard(self, frames: list[bytes]) -> None:
        try:
            if len(frames) != 1:
                raise Malformed(f"{len(frames)} frames instead of 1")
            heard = read_results(frames[0], self._may_be_wanted)
        except Malformed as error:
            self.counts.malformed += 1
            log.warning("a message on %s is dropped: %s", self.sockets.result_endpoint, error)
            return
        if self.subscribers.is_question(heard.batch_id):
            self._serve(self.subscribers.answered(heard.batch_id))
            return
        if (order := self._probes.pop(heard.batch_id, None)) is not None:
            self._pace.probed(order)
            return
        taken = self.window.answer(heard, time.monotonic())
        self.counts.unmatched += heard.unread + len(heard.results) - len(taken)
        for step, result in taken:
            self._ends.answered(step, result)

    def _may_be_wanted(self, batch_id: str) -> bool:
        """True if the answer is to a question, or steps are unanswered: an answer to an ended batch may be one to
        them."""
        return self.window.unanswered > 0 or self.subscribers.is_question(batch_id)

    def _serve(self, subscriber: Subscriber | None) -> None:
        if subscriber is not None:
            log.info("a subscriber of %s is served", self.sockets.step_endpoint)
            now = time.monotonic()
            self.window.served(subscriber.number, now)
            self._publish(self.window.overdue(now), subscriber, now)
            self._room()
