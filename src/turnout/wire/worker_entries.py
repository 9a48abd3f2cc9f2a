"""Holds what a hub knows of each worker: its hello, its credits, and the steps that it was sent."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Set

import msgspec

from turnout.model.labels import WORKER_LABEL
from turnout.model.workers import ANY_HANDLER
from turnout.wire.documents import Step
from turnout.wire.messages import Hello

MAX_REMEMBERED = 20_000
MAX_WAIT = 2.0
"""Seconds after which a step that has not begun at its worker might begin sooner at another."""


class SentStep(msgspec.Struct, kw_only=True, eq=False, gc=False):
    """A step that was sent to a worker and has no result here."""

    step: Step
    batch_id: str
    sent_at: float
    received: bool = False
    missed: int = 0
    """Heartbeats in a row that did not list it."""
    lines: int = 0
    """The number behind the last line of its log that has been received here."""
    cancelled: str = ""
    """Why its worker was asked to stop it."""
    is_waiting: bool = False
    """It has not begun within ``MAX_WAIT``."""
    taken_back: str = ""
    """Why its worker was asked to forget it unless it has begun; empty if it was not."""
    sends: int = 1
    receipts: int = 0
    """How often it was sent, and received, in this session: messages keep their order, so a worker that has answered
    all of them has received every message before the last."""
    withdrawn: bool = False
    """It was taken back, and the worker has not acknowledged that yet."""
    again: bool = False
    """Another hub, which is gone, may have given it to this worker before: it may have begun there, or ended."""
    listed: bool = False
    """A heartbeat has named it."""
    running: bool = False
    ends_by: float | None = None
    """When even a slow worker would have ended it, if it has a timeout and was seen running."""

    @property
    def forgotten(self) -> bool:
        """True if its worker, asked to forget it unless it has begun, has done so. A worker does not list here what
        another hub gave while it considers that hub alive, so a step that it never listed may have begun."""
        return bool(self.taken_back) and self.missed > 0 and (self.listed or not self.again)

    def refresh(self, state: str | None, now: float, grace: float) -> None:
        """Applies what a heartbeat lists of this step; None: it does not list it."""
        self.listed = self.listed or state is not None
        self.received = self.received or self.listed
        self.missed = 0 if state is not None or not self.received else self.missed + 1
        self.is_waiting = state == "waiting" and now - self.sent_at >= MAX_WAIT
        if state == "running" and not self.running:
            self.mark_running(now, grace)
            self.taken_back = ""

    def mark_running(self, now: float, grace: float) -> None:
        self.running, timeout = True, self.step.metadata.timeout_ms
        self.ends_by = None if timeout is None else now + timeout / 1000 + grace


class WorkerEntry(msgspec.Struct, kw_only=True, eq=False):
    """One worker process."""

    hello: Hello
    route: bytes
    key: str | None
    """The public key of its connection, where there is encryption."""
    last_seen: float
    """When the last valid message came."""
    bound: bool = False
    """It was welcomed before, so its id is known to be this key's."""
    session: str = ""
    """Empty until the worker is welcomed, and after its session has ended."""
    codec: str = "json"
    credits: int = 0
    seq: int = 0
    drain_reason: str | None = None
    """Why it was asked to drain; None if it was not."""
    out: dict[str, SentStep] = {}
    """Steps in flight by token; removed when their results are received."""
    unacknowledged: dict[str, SentStep] = {}
    """Steps whose results were received and are not durable yet."""
    finished: OrderedDict[str, None]
    """Tokens whose results are durable: a repeated result is acknowledged again."""
    foreign: set[str] = set()
    """Tokens that it holds from other hubs, which are gone."""
    kept: set[str] = set()
    """Foreign tokens that this hub has taken over."""
    released: tuple[str, ...] = ()
    """Tokens that its welcome released."""

    @property
    def id(self) -> str:
        return self.hello.worker_id

    @property
    def draining(self) -> bool:
        return self.drain_reason is not None

    @property
    def capacity(self) -> int:
        """Number of steps that it runs at once. If its hello has none, half of its first credits: workers offer twice
        as many credits as they have slots."""
        return self.hello.concurrency or (self.hello.credits + 1) // 2

    @property
    def free(self) -> int:
        """Number of steps that it takes now."""
        return max(0, self.credits - len(self.out)) if self.session and self.drain_reason is None else 0

    def knows(self, token: str) -> bool:
        """True if this hub gave it, or the worker has listed it."""
        return token in self.foreign or self._was_given(token)

    def _was_given(self, token: str) -> bool:
        return token in self.out or token in self.unacknowledged or token in self.finished

    @property
    def keep(self) -> tuple[str, ...]:
        """Tokens that this hub keeps although another gave them, or may have."""
        again = (token for token, sent_step in self.out.items() if sent_step.again)
        return tuple(sorted(self.kept.union(again)))

    def succeed(self, before: WorkerEntry) -> None:
        """Continues the session before, which is over."""
        before.session = ""
        self.out, self.unacknowledged, self.finished = before.out, before.unacknowledged, before.finished
        self.bound = before.bound

    def set_foreign(self, listed: Iterable[str]) -> None:
        """Takes what the worker lists and this hub did not give for steps of other hubs."""
        self.foreign = {token for token in listed if not self._was_given(token)}
        self.kept &= self.foreign

    def reconcile(self, listed: Set[str]) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
        """Removes the steps that a new session does not list. Returns those that never arrived, since an older
        ``steps`` is refused by the new session, and those that did, or may have through another hub: they are lost."""
        missing = [sent_step for token, sent_step in self.out.items() if token not in listed]
        lost = tuple(each.step for each in missing if each.received or each.again)
        unseen = tuple(each.step for each in missing if not (each.received or each.again))
        for each in self.out.values():
            each.received, each.sends, each.receipts = True, 0, 0
        for each in missing:
            del self.out[each.step.token]
        return unseen, lost

    def refresh(self, listed: Mapping[str, str], grace: float) -> None:
        """Applies the list of a heartbeat to all steps in flight."""
        for token, sent_step in self.out.items():
            sent_step.refresh(listed.get(token), self.last_seen, grace)

    def take_forgotten(self) -> dict[str, list[Step]]:
        """Removes and returns the steps that the worker has given up because they were taken back, by the reason."""
        returned: dict[str, list[Step]] = {}
        for token, sent_step in list(self.out.items()):
            if sent_step.forgotten:
                self.finish((token,))
                returned.setdefault(sent_step.taken_back, []).append(sent_step.step)
        return returned

    def still_cancelled(self, listed: Mapping[str, str]) -> list[tuple[str, str]]:
        """Tokens that were cancelled and have not ended, with the reasons."""
        cancelled = [(token, sent_step.cancelled) for token, sent_step in self.out.items() if sent_step.cancelled]
        return [(token, reason) for token, reason in cancelled if listed.get(token, "done") != "done"]

    def take_missed(self, max_missed: int) -> tuple[Step, ...]:
        """Removes and returns the steps that were missing in so many heartbeats in a row."""
        lost = tuple(sent_step.step for sent_step in self.out.values() if sent_step.missed >= max_missed)
        for step in lost:
            del self.out[step.token]
        return lost

    def take_overdue(self, now: float, away: float) -> tuple[Step, ...]:
        """Returns, once, the steps that run past their timeouts; the ``away`` seconds without a hub do not count."""
        overdue: list[Step] = []
        for sent_step in self.out.values():
            if sent_step.ends_by is None:
                continue
            sent_step.ends_by += away
            if now >= sent_step.ends_by:
                sent_step.ends_by = None
                overdue.append(sent_step.step)
        return tuple(overdue)

    def finish(self, tokens: Iterable[str]) -> None:
        """Called when no result of these is awaited any more."""
        unacknowledged, out, foreign, finished = self.unacknowledged, self.out, self.foreign, self.finished
        for token in tokens:
            unacknowledged.pop(token, None)
            out.pop(token, None)
            foreign.discard(token)
            finished[token] = None
        while len(finished) > MAX_REMEMBERED:
            finished.popitem(last=False)

    def matches(self, handler: str, labels: Mapping[str, str]) -> bool:
        """True if it has the handler, and every one of these labels with the same value; its id is one of them."""
        mine = self.hello.labels
        if any(mine.get(name) != value for name, value in labels.items() if name != WORKER_LABEL):
            return False
        if labels.get(WORKER_LABEL, self.id) != self.id:
            return False
        return handler in self.hello.handlers or ANY_HANDLER in self.hello.handlers
