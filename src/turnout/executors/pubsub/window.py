"""Holds the steps that are published and not answered, and decides which are published again.

A step is in one of three states: it waits, it is in one batch, or it has ended. It is published in one batch only,
however often the batch is published, so an answer to any of its deliveries is an answer to it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from turnout.executors.pubsub.pace import Pace
from turnout.wire.documents import Step, StepBatch, StepResult
from turnout.wire.topics import VERSION, Heard

MAX_ENDED = 10_000


class Batch(msgspec.Struct, eq=False):
    """Steps that are published together, without those that were answered."""

    id: str
    steps: dict[str, Step]
    """By step id, which answers name."""
    to: int = 0
    """The number of the subscriber that it was last published to."""
    deliveries: int = 0
    due: float = 0.0
    """When its answer is overdue."""
    order: int = 0
    """Its number among everything published, of its last publication."""
    first: float = 0.0
    """When it was first published."""
    last: float = 0.0

    @property
    def handlers(self) -> frozenset[str]:
        return frozenset(step.handler_class for step in self.steps.values())

    @property
    def document(self) -> StepBatch:
        return StepBatch(batch_id=self.id, protocol_version=VERSION, steps=tuple(self.steps.values()))


class Window:
    """Steps without a result. ``timeout`` in seconds; ``deliveries`` is how often a step is published at most."""

    def __init__(
        self, *, batch_size: int, timeout: float, deliveries: int, new_id: Callable[[], str], pace: Pace | None = None
    ) -> None:
        self._batch_size = batch_size
        self._timeout = timeout
        self._deliveries = deliveries
        self._new_id = new_id
        self._pace = pace or Pace(0, 0.0)
        self._order = 0
        """Number of publications so far, probes included."""
        self._waiting: dict[str, tuple[Step, float]] = {}
        """By token, with the time until which a step waits."""
        self._batches: dict[str, Batch] = {}
        self._published: dict[str, Batch] = {}
        """By token."""
        self._lost_before: dict[str, Batch] = {}
        """By step id: batches of steps whose earlier attempts were all lost without an answer."""
        self._ended: OrderedDict[str, None] = OrderedDict()
        """Ids of batches that were published here and have ended."""
        self.redelivered = 0

    def __len__(self) -> int:
        return len(self._waiting) + len(self._published)

    @property
    def unanswered(self) -> int:
        return len(self._published)

    def add(self, step: Step, now: float) -> None:
        self._waiting[step.token] = (step, now + self._timeout)

    # -- out ----------------------------------------------------------------------------------------------------
    def overdue(self, now: float) -> list[Batch]:
        """Returns the batches to publish again because their answers are overdue."""
        return [each for each in self._batches.values() if each.due <= now and each.deliveries < self._deliveries]

    def overtaken(self, now: float) -> list[Batch]:
        """Returns the batches to publish again before they are overdue: the subscriber has answered later ones."""
        return [each for each in self._suspects(now) if self._pace.is_overtaken(each.handlers, each.order)]

    def wants_probe(self, now: float) -> bool:
        """True if a probe would help to distinguish a lost batch from a slow one."""
        return any(not self._pace.is_overtaken(each.handlers, each.order) for each in self._suspects(now))

    def _suspects(self, now: float) -> Iterator[Batch]:
        for batch in self._batches.values():
            again = batch.deliveries < self._deliveries
            if again and self._pace.is_suspect(batch.handlers, now - batch.last, batch.deliveries):
                yield batch

    def next_order(self) -> int:
        """Returns the number of what is published now."""
        self._order += 1
        return self._order

    def fresh(self) -> Iterator[Batch]:
        """Yields the waiting steps in batches. The caller must call ``published`` for a batch before it takes the
        next."""
        while self._waiting:
            yield Batch(self._new_id(), self._next_steps())

    def published(self, batch: Batch, to: int, now: float) -> None:
        """Called when the batch was sent to this subscriber."""
        if batch.deliveries:
            self.redelivered += len(batch.steps)
        batch.to, batch.due = to, now + self._timeout
        batch.order, batch.last = self.next_order(), now
        batch.first = batch.first or now
        batch.deliveries += 1
        self._batches[batch.id] = batch
        for step in batch.steps.values():
            self._waiting.pop(step.token, None)
            self._published[step.token] = batch
            if _was_lost(step):
                self._lost_before[step.step_id] = batch

    def served(self, subscriber: int, now: float) -> None:
        """Called when this subscriber is served: batches that another was given and has not answered are due at
        once."""
        for batch in self._batches.values():
            if batch.to != subscriber:
                batch.due = now

    def _next_steps(self) -> dict[str, Step]:
        steps: dict[str, Step] = {}
        for step, _ in self._waiting.values():
            # An answer names a step by its id, which the attempts of a task share.
            if step.step_id in steps or len(steps) == self._batch_size:
                break
            steps[step.step_id] = step
        return steps

    def is_published(self, token: str) -> bool:
        return token in self._published

    # -- back ---------------------------------------------------------------------------------------------------
    def answer(self, heard: Heard, now: float = 0.0) -> list[tuple[Step, StepResult]]:
        """Returns the steps that this answers, each once. Its other results are late, duplicates, or for another
        publisher."""
        batch = self._batches.get(heard.batch_id)
        if batch is None:
            return self._late(heard)
        taken: list[tuple[Step, StepResult]] = []
        for result in heard.results:
            step = batch.steps.get(result.step_id)
            if step is not None and result.token in ("", step.token):
                self._pace.answered(step.handler_class, batch.order, now - batch.first)
                self.remove(step.token)
                taken.append((step, result))
        return taken

    def _late(self, heard: Heard) -> list[tuple[Step, StepResult]]:
        """Takes answers to a batch of an orchestrator that has ended. Each answers the task that its number names, if
        no attempt of that task was answered before, so that none counts twice. An answer with the token of another
        attempt is not taken."""
        taken: list[tuple[Step, StepResult]] = []
        for result in heard.results if heard.batch_id not in self._ended else ():
            batch = self._lost_before.get(result.step_id)
            step = None if batch is None else batch.steps[result.step_id]
            if step is not None and result.token in ("", step.token):
                self.remove(step.token)
                taken.append((step, result))
        return taken

    def remove(self, token: str) -> bool:
        """Removes a step whose result is not needed any more; True if it was published."""
        batch = self._published.pop(token, None)
        if batch is None:
            self._waiting.pop(token, None)
            return False
        self._forget([step for step in batch.steps.values() if step.token == token], batch)
        batch.steps = {key: step for key, step in batch.steps.items() if step.token != token}
        if not batch.steps:
            self._end(batch)
        return True

    # -- time ---------------------------------------------------------------------------------------------------
    def never_published(self, now: float | None = None) -> list[Step]:
        """Takes out the steps that have waited for too long; without a time, all that wait."""
        steps = [step for step, until in self._waiting.values() if now is None or until <= now]
        for step in steps:
            del self._waiting[step.token]
        return steps

    def lost(self, now: float, present: bool) -> list[Step]:
        """Takes out steps that are overdue and cannot be published again: their deliveries are used up, or no
        subscriber is ``present``, or the subscriber has not taken them for another timeout."""
        steps: list[Step] = []
        for batch in list(self._batches.values()):
            often = batch.deliveries >= self._deliveries
            if batch.due <= now and (often or not present or batch.due + self._timeout <= now):
                steps += self._take(batch)
        return steps

    def all_published(self) -> Sequence[Step]:
        """Takes out everything that was published."""
        return [step for batch in list(self._batches.values()) for step in self._take(batch)]

    def _take(self, batch: Batch) -> Sequence[Step]:
        self._end(batch)
        for step in batch.steps.values():
            del self._published[step.token]
        self._forget(batch.steps.values(), batch)
        return list(batch.steps.values())

    def _end(self, batch: Batch) -> None:
        del self._batches[batch.id]
        self._ended[batch.id] = None
        while len(self._ended) > MAX_ENDED:
            self._ended.popitem(last=False)

    def _forget(self, steps: Iterable[Step], batch: Batch) -> None:
        for step in steps:
            if self._lost_before.get(step.step_id) is batch:
                del self._lost_before[step.step_id]


def _was_lost(step: Step) -> bool:
    return step.metadata.attempt > 0 and not step.metadata.failures and not step.metadata.shadow
