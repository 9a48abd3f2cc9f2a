"""Which workers does a hub know, what have they been given, and who is the right one for a step?"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

import msgspec

from turnout.model.workers import ANY_HANDLER
from turnout.wire.documents import Step
from turnout.wire.messages import Hello

MAX_REMEMBERED = 20_000


class SentStep(msgspec.Struct, kw_only=True, eq=False, gc=False):
    """A step in a worker's hands, or on its way there."""

    step: Step
    batch_id: str
    sent: float
    received: bool = False
    missed: int = 0
    """Heartbeats in a row that did not list it."""
    lines: int = 0
    """How many lines of its log are here."""
    cancelled: str = ""
    """Why its worker was told to stop it."""
    waits: bool = False
    """It has been there for long and has not begun."""
    taken_back: str = ""
    """Why its worker was told to forget it if it has not begun, if it was."""
    sends: int = 1
    receipts: int = 0
    """How often it was sent, and received, in this session: messages keep their order, so a worker that has answered
    all of them has heard what was said before the last."""
    withdrawn: bool = False
    """Whether its worker has heard that it is taken back is waited for."""
    again: bool = False
    """Another hub, which is gone, may have given it to this worker before: it may have begun there, or ended."""
    listed: bool = False
    """A heartbeat has named it."""
    running: bool = False
    ends_by: float | None = None
    """When even a slow worker would have ended it, if it has a timeout and was seen running."""

    @property
    def forgotten(self) -> bool:
        """Whether its worker, which was told to forget it unless it has begun, has done so. A worker does not list here
        what another hub gave before it takes that one for gone, so a step that it never listed may have begun."""
        return bool(self.taken_back) and self.missed > 0 and (self.listed or not self.again)

    def runs(self, now: float, grace: float) -> None:
        self.running, timeout = True, self.step.metadata.timeout_ms
        self.ends_by = None if timeout is None else now + timeout / 1000 + grace


class WorkerEntry(msgspec.Struct, kw_only=True, eq=False):
    """One worker process."""

    hello: Hello
    route: bytes
    key: str | None
    """The public key of its connection, where there is encryption."""
    heard: float
    """When the last valid message came."""
    bound: bool = False
    """It was let in once, so its id is known to be this key's."""
    session: str = ""
    """Empty: not welcome yet, or to say hello again."""
    codec: str = "json"
    credits: int = 0
    seq: int = 0
    leaves: str | None = None
    """Why it was told to leave."""
    out: dict[str, SentStep] = {}
    """By token; a step leaves when its result is there."""
    unacknowledged: dict[str, SentStep] = {}
    """Results that are here and not durable yet."""
    finished: OrderedDict[str, None]
    """Tokens whose results are durable: who sends one again is told again."""
    foreign: set[str] = set()
    """What it holds from other hubs that are gone."""
    kept: set[str] = set()
    """Those of them that somebody waits for: they are this hub's now."""
    released: tuple[str, ...] = ()
    """What it was told at its welcome to let go."""

    @property
    def id(self) -> str:
        return self.hello.worker_id

    @property
    def draining(self) -> bool:
        return self.leaves is not None

    @property
    def capacity(self) -> int:
        """How many steps it runs at once. Of one that does not say, half of what it asked for at first: workers ask for
        twice as many as they have places."""
        return self.hello.concurrency or (self.hello.credits + 1) // 2

    @property
    def free(self) -> int:
        """How many more steps it would take now."""
        return max(0, self.credits - len(self.out)) if self.session and self.leaves is None else 0

    def knows(self, token: str) -> bool:
        """Whether this hub gave it, or the worker has said that it holds it."""
        return any(token in some for some in (self.out, self.unacknowledged, self.finished, self.foreign))

    def finish(self, token: str) -> None:
        self.unacknowledged.pop(token, None)
        self.out.pop(token, None)
        self.foreign.discard(token)
        self.finished[token] = None
        while len(self.finished) > MAX_REMEMBERED:
            self.finished.popitem(last=False)

    def matches(self, handler: str, labels: Mapping[str, str]) -> bool:
        """Whether it has the handler, and every label that is asked for, with the same value."""
        mine = self.hello.labels
        if any(mine.get(name) != value for name, value in labels.items()):
            return False
        return handler in self.hello.handlers or ANY_HANDLER in self.hello.handlers
