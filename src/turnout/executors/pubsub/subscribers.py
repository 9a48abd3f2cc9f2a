"""Decides which subscriber gets the steps: one that has proved to be there.

Whoever subscribes is given a channel of its own, and only the channel of the one that is served is published to: so a
second subscriber gets nothing. A publisher is told that *somebody* left, and never who; and a subscriber may listen
before anybody hears what it says. Both are settled by the same means: a batch without steps, which every handler
answers with a batch without results.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from turnout.wire.topics import is_for_steps

INITIAL_BACKOFF, MAX_PAUSE = 0.05, 1.0
"""Seconds between two questions of a round."""
PATIENCE = 3.0
"""After so long without an answer a lone subscriber is served all the same, and others are asked too."""
MOST = 16
"""Subscribers beyond these are not remembered: they have to connect again to be served."""
QUESTION = "question"


class Subscriber(msgspec.Struct, frozen=True):
    number: int
    """Never given twice."""
    channel: int


class Subscribers:
    """Those that are there, as far as it is known, and the one that is served."""

    def __init__(self, name: str) -> None:
        self._name = name
        """Part of every question, so that answers to another publisher's are none."""
        self.present = 0
        self.refused = 0
        """How many came while another was served."""
        self.served: Subscriber | None = None
        self._known: dict[int, Subscriber] = {}
        """By channel. Some may have left, and which is not known."""
        self._first: Subscriber | None = None
        """Whom the questions go to before the others are asked."""
        self._numbers = 0
        self._round = 0
        self._since = self._next = 0.0
        self._pause = INITIAL_BACKOFF
        self._asked = 0

    @property
    def asked_before(self) -> bool:
        """Whether this round of questions began earlier, without an answer so far."""
        return self._asked > 1

    @property
    def asking(self) -> bool:
        """True if a subscriber is there and it is not decided which is served."""
        return self.served is None and self.present > 0

    @property
    def channels(self) -> Sequence[int]:
        """The channels that were given."""
        return sorted(self._known)

    def came(self, topic: bytes, now: float) -> Subscriber | None:
        """Somebody subscribed: the channel to give it, None if it gets none. It is served only if it is alone."""
        if not is_for_steps(topic):
            return None
        self.present += 1
        if self.present > 1:
            self.refused += 1
        free = next((channel for channel in range(MOST) if channel not in self._known), None)
        if free is None:
            return None
        self._numbers += 1
        new = self._known[free] = Subscriber(self._numbers, free)
        if self.present == 1:
            self._ask(new, now)
        return new

    def left(self, topic: bytes, now: float) -> None:
        """Somebody has gone. If others are there, it may have been the one that is served."""
        if not is_for_steps(topic) or self.present == 0:
            return
        self.present -= 1
        if self.present == 0:
            self._known.clear()
            self.served = self._first = None
        else:
            self._ask(self.served or self._first, now)

    def questions(self, now: float) -> list[tuple[int, str]]:
        """Returns what to publish now to find out which are there: channels, and the ids of batches without steps."""
        if not self.asking or now < self._next:
            return []
        self._next = now + self._pause
        self._asked += 1
        self._pause = min(self._pause * 2, MAX_PAUSE)
        patient = self._first is not None and now - self._since < PATIENCE
        asked = [self._first] if patient and self._first is not None else list(self._known.values())
        return [(each.channel, self._question(each)) for each in asked]

    def is_question(self, batch_id: str) -> bool:
        return batch_id.startswith(f"{QUESTION}_{self._name}_")

    def answered(self, batch_id: str) -> Subscriber | None:
        """Who is served from now on, because of this answer; None if it changes nothing."""
        if not self.asking:
            return None
        found = next((each for each in self._known.values() if self._question(each) == batch_id), None)
        return None if found is None else self._serve(found)

    def waited(self, now: float) -> Subscriber | None:
        """Who is served from now on though it answers no questions: somebody that is there alone, and always was."""
        if not self.asking or len(self._known) != 1 or now - self._since < PATIENCE:
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
