"""Writes what a hub sends to its workers, and keeps what was sent until it is answered."""

from __future__ import annotations

from collections.abc import Sequence, Set

from turnout.wire.batching import MessageWriter, NotEncodable, pack_batches
from turnout.wire.documents import Step, StepBatch
from turnout.wire.frames import pack
from turnout.wire.handshake import HubFacts
from turnout.wire.hub_events import CapacityChanged, Event, StepNotEncodable
from turnout.wire.limits import MAX_TOKENS
from turnout.wire.messages import VERSION, Ack, Cancel, Drain, Error, Logged, Message, Started, Welcome
from turnout.wire.worker_entries import SentStep, WorkerEntry


class HubOutbox:
    """The outgoing half of a hub's sessions. ``outbox`` (route, frames) and ``events`` are emptied by their owner."""

    def __init__(self, facts: HubFacts) -> None:
        self.facts = facts
        self.outbox: list[tuple[bytes, list[bytes]]] = []
        self.events: list[Event] = []
        self._batches = 0

    def give(self, worker: WorkerEntry, steps: Sequence[Step], now: float, again: Set[str] = frozenset()) -> None:
        """Sends steps, no more than the worker has slots for. ``again``: tokens that a lost hub may have sent it.
        A token begins once, so the worker has each of them afterwards, or had it."""
        assert 0 < len(steps) <= worker.free, f"{len(steps)} steps for {worker.free} slots of {worker.id}"
        self._batches += 1
        batch_id = f"batch_{worker.session[:8]}_{self._batches}"
        out = worker.out
        for step in steps:
            token = step.metadata.token
            out[token] = SentStep(step=step, batch_id=batch_id, sent_at=now, again=token in again)
        self._send_steps(worker, batch_id, steps)

    def acknowledge(self, worker: WorkerEntry, tokens: Sequence[str]) -> None:
        """Called when these results are durable, or are not needed."""
        worker.finish(tokens)
        for start in range(0, len(tokens), MAX_TOKENS):
            self._send(worker, Ack(tuple(tokens[start : start + MAX_TOKENS])))

    def logged(self, worker: WorkerEntry, token: str, next_line: int) -> None:
        """Called when the lines before this number are stored, or are not needed."""
        self._send(worker, Logged(token, next_line))

    def answer_start(self, worker: WorkerEntry, granted: Sequence[str], denied: Sequence[str]) -> None:
        worker.finish(denied)
        self._send(worker, Started(tuple(granted), tuple(denied)))

    def cancel(self, worker: WorkerEntry, tokens: Sequence[str], reason: str) -> None:
        """Stops these; repeated after each heartbeat that still lists them."""
        for token in tokens:
            if (sent_step := worker.out.get(token)) is not None:
                sent_step.cancelled = reason
        self._send(worker, Cancel(tuple(tokens), reason))

    def take_back(self, worker: WorkerEntry, tokens: Sequence[str], reason: str) -> None:
        """Makes the worker forget these, unless they have begun; its next heartbeats show which."""
        for token in tokens:
            worker.out[token].taken_back = reason
        if tokens:
            self._send(worker, Started((), tuple(tokens)))

    def withdraw(self, worker: WorkerEntry, tokens: Sequence[str], reason: str) -> None:
        """Takes these back; ``StepsWithdrawn`` follows when the worker has received that. They are sent once more: the
        worker answers in every case, and a token that it had does not begin again."""
        self.take_back(worker, tokens, reason)
        by_batch: dict[str, list[Step]] = {}
        for sent_step in (worker.out[token] for token in tokens):
            sent_step.withdrawn = True
            sent_step.sends += 1
            by_batch.setdefault(sent_step.batch_id, []).append(sent_step.step)
        for batch_id, steps in by_batch.items():
            self._send_steps(worker, batch_id, steps)

    def drain(self, worker: WorkerEntry, reason: str) -> None:
        """Asks the worker to finish and leave; repeated until it offers no more credits."""
        worker.drain_reason = reason
        self._send(worker, Drain(reason))

    def _welcome_to(self, worker: WorkerEntry) -> Welcome:
        return self.facts.welcome(worker.session, worker.hello.seq, worker.codec, worker.released)

    def _send(self, worker: WorkerEntry, message: Message) -> None:
        if worker.session:
            self._put(worker.route, pack(message, worker.session, worker.codec))

    def _send_steps(self, worker: WorkerEntry, batch_id: str, steps: Sequence[Step]) -> None:
        def batch(part: Sequence[Step]) -> StepBatch:
            return StepBatch(batch_id=batch_id, protocol_version=VERSION, steps=tuple(part))

        writer = MessageWriter(worker.session, worker.codec, self.facts.max_message_bytes)
        for part, frames in pack_batches(steps, batch, writer):
            if isinstance(frames, NotEncodable):
                (step,) = part
                del worker.out[step.token]
                self.events += [StepNotEncodable(worker, step, frames.kind, frames.reason), CapacityChanged(worker)]
            else:
                self._put(worker.route, frames)

    def _refuse(self, route: bytes, error: Error, session: str) -> None:
        self._put(route, pack(error, session))

    def _put(self, route: bytes, frames: list[bytes]) -> None:
        self.outbox.append((route, frames))
