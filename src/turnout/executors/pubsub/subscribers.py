"""Decides which subscriber gets the steps: one that has answered a question.

Every subscriber gets a channel of its own, and steps are published only on the channel of the subscriber that is
served: so a second subscriber gets none. ZeroMQ reports that a subscriber left, but not which one; and a subscriber
may receive steps before its results can be received. A question settles both: it is a batch without steps, which every
handler answers with a batch without results.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from turnout.wire.topics import is_for_steps

INITIAL_BACKOFF, MAX_BACKOFF = 0.05, 1.0
"""Seconds between two questions of a round."""
ANSWER_TIMEOUT = 3.0
"""Seconds without an answer after which a lone subscriber is served all the same, and others are asked too."""
MAX_SUBSCRIBERS = 16
"""Subscribers beyond these are not remembered: they have to connect again to be served."""
QUESTION = "question"


class Subscriber(msgspec.Struct, frozen=True):
    number: int
    """Never given twice."""
    channel: int


class Subscribers:
    """The subscribers that are connected, as far as it is known, and the one that is served."""

    def __init__(self, name: str) -> None:
        self._name = name
        """Part of every question, so that answers to another publisher's questions are not taken."""
        self.present = 0
        self.refused = 0
        """Number of subscribers that came while another was served."""
        self.served: Subscriber | None = None
        self._known: dict[int, Subscriber] = {}
        """By channel. It may hold subscribers that have left, since it is not reported which one left."""
        self._first: Subscriber | None = None
        """The subscriber that is asked before the others."""
        self._numbers = 0
        self._round = 0
        self._since = self._next = 0.0
        self._pause = INITIAL_BACKOFF
        self._asked = 0

    @property
    def asked_before(self) -> bool:
        """True if questions of this round were published before, without an answer so far."""
        return self._asked > 1

    @property
    def asking(self) -> bool:
        """True if a subscriber is connected and it is not decided which is served."""
        return self.served is None and self.present > 0

    @property
    def channels(self) -> Sequence[int]:
        """The channels that were given."""
        return sorted(self._known)

    def came(self, topic: bytes, now: float) -> Subscriber | None:
        """Adds a new subscriber. Returns it with its channel, None if it gets none. It is asked only if it is alone."""
        if not is_for_steps(topic):
            return None
        self.present += 1
        if self.present > 1:
            self.refused += 1
        free = next((channel for channel in range(MAX_SUBSCRIBERS) if channel not in self._known), None)
        if free is None:
            return None
        self._numbers += 1
        new = self._known[free] = Subscriber(self._numbers, free)
        if self.present == 1:
            self._ask(new, now)
        return new

    def left(self, topic: bytes, now: float) -> None:
        """Called when a subscriber has left. If others remain, it may have been the one that is served."""
        if not is_for_steps(topic) or self.present == 0:
            return
        self.present -= 1
        if self.present == 0:
            self._known.clear()
            self.served = self._first = None
        else:
            self._ask(self.served or self._first, now)

    def questions(self, now: float) -> list[tuple[int, str]]:
        """Returns the questions to publish now: channels, and the ids of batches without steps."""
        if not self.asking or now < self._next:
            return []
        self._next = now + self._pause
        self._asked += 1
        self._pause = min(self._pause * 2, MAX_BACKOFF)
        asked = (
            [self._first]
            if self._first is not None and now - self._since < ANSWER_TIMEOUT
            else list(self._known.values())
        )
        return [(each.channel, self._question(each)) for each in asked]

    def is_question(self, batch_id: str) -> bool:
        return batch_id.startswith(f"{QUESTION}_{self._name}_")

    def answered(self, batch_id: str) -> Subscriber | None:
        """Returns the subscriber that is served because of this answer; None if the answer changes nothing."""
        if not self.asking:
            return None
        found = next((each for each in self._known.values() if self._question(each) == batch_id), None)
        return None if found is None else self._serve(found)

    def waited(self, now: float) -> Subscriber | None:
        """Returns the subscriber that is served although it has answered no question: the only one of this round. None
        if there is no such subscriber, or it has time left to answer."""
        if not self.asking or len(self._known) != 1 or now - self._since < ANSWER_TIMEOUT:
            return None
        return self._serve(next(iter(self._known.values())))

    def _ask(self, first: Subscriber | None, now: float) -> None:
        self.served, self._first = None, first
        self._round += 1
        self._since = self._next = now
        self._pause = INITIAL_BACKOFF
        self._asked = 0

    def _question(self, subscriber: Subscriber) -> str:
        return f"{QUESTION}_{self._name}_{self._round}_{subscriber.number}"

    def _serve(self, subscriber: Subscriber) -> Subscriber:
        self.served, self._first = subscriber, None
        if self.present == 1:
            self._known = {subscriber.channel: subscriber}
        return subscriber
