"""How does a worker talk to one hub? A session without a socket: frames and time in, frames and actions out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from itertools import groupby
from math import inf
from typing import TypeAlias

import msgspec

from turnout.wire.documents import StepBatch, StepResults
from turnout.wire.frames import JSON, Malformed, UnknownKind, pack, unpack
from turnout.wire.holdings import Holding, Holdings
from turnout.wire.messages import (
    VERSION,
    Ack,
    Bye,
    Cancel,
    Credit,
    Drain,
    Error,
    Heartbeat,
    Held,
    Hello,
    Log,
    Logged,
    Message,
    Progress,
    Received,
    Start,
    Started,
    Welcome,
)

RESEND_HELLO = 2.0
FENCE = 0.8
"""The share of the lease after which a worker that had no answer begins nothing."""
MOST_LINES_AT_ONCE = 1_000


class LinkState(StrEnum):
    CLOSED = "closed"
    GREETING = "greeting"
    OPEN = "open"
    REFUSED = "refused"
    """The hub does not want this worker, and said that asking again is of no use."""


class Stop(msgspec.Struct, frozen=True):
    """End the handler of this token; with ``drop`` nobody wants to hear how."""

    token: str
    reason: str
    drop: bool = False


class Reconnect(msgspec.Struct, frozen=True):
    """This connection is of no use any more: make another, after a pause, and open the link again."""

    reason: str


class DrainAsked(msgspec.Struct, frozen=True):
    reason: str


class Parted(msgspec.Struct, frozen=True):
    """The hub has said bye."""

    reason: str


Action: TypeAlias = Stop | Reconnect | DrainAsked | Parted


class Link:
    """One worker's side of its sessions with one hub.

    ``outbox`` holds messages to be sent and ``actions`` what is to be done; whoever owns the socket empties both after
    each call.
    """

    def __init__(
        self,
        hello: Hello,
        holdings: Holdings,
        orphans: Callable[[], Iterable[Holding]] = lambda: (),
    ) -> None:
        self._hello = hello
        self._orphans = orphans
        """What hubs gave that the worker has no session with any more: every other hub hears of it."""
        self._greetings = hello.seq
        self._session = ""
        self._codec = JSON
        self._seq = 0
        self._sent_at: dict[int, float] = {}
        """When each heartbeat that is not answered yet was sent."""
        self._opened = self._greeted = self._beaten = -inf
        self.holdings = holdings
        self.credits = hello.credits
        self.state = LinkState.CLOSED
        self.hub = ""
        self.hubs: tuple[str, ...] = ()
        self.welcome: Welcome | None = None
        self.contact = -inf
        """When the last message was **sent** that the hub has answered: what it knows of us is not older."""
        self.malformed = 0
        self.outbox: list[list[bytes]] = []
        self.actions: list[Action] = []

    # -- the worker's wishes --------------------------------------------------------------------------------------
    def open(self, now: float) -> None:
        """There is a fresh connection: say hello."""
        self._session, self._codec, self._seq = "", JSON, 0
        self._sent_at.clear()
        self.state = LinkState.GREETING
        self._greetings += 1
        self._opened = now
        self._greet(now)

    def in_contact(self, now: float) -> bool:
        """Whether steps of this hub may begin: it cannot have given them to others yet."""
        return self.state is LinkState.OPEN and now - self.contact < FENCE * self._lease

    def set_credits(self, credits: int) -> None:
        if credits != self.credits:
            self.credits = credits
            if self.state is LinkState.OPEN:
                self._send(Credit(self._next_seq(), credits))

    def progress(self, progress: Progress) -> None:
        if self.state is LinkState.OPEN:
            self._send(progress)

    def bye(self, reason: str) -> None:
        if self.state is LinkState.OPEN:
            self._send(Bye(reason))

    # -- time -----------------------------------------------------------------------------------------------------
    def tick(self, now: float) -> None:
        """Send what is due."""
        if self.state is LinkState.GREETING:
            if now - self._greeted >= RESEND_HELLO:
                self._greet(now)
        elif self.state is LinkState.OPEN:
            if now - self.contact >= FENCE * self._lease:
                self._leave(f"no answer for {now - self.contact:.1f} s")
                return
            welcome = self.welcome
            assert welcome is not None
            if now - self._beaten >= welcome.heartbeat_ms / 1000:
                self._beat(now)
            self._report(self._mine(), now, welcome.resend_ms / 1000)

    def _report(self, holdings: Sequence[Holding], now: float, resend: float) -> None:
        asking = [
            each for each in holdings if each.state == "waiting" and not each.granted and now - each.asked >= resend
        ]
        if asking:
            for each in asking:
                each.asked = now
            self._send(Start(tuple(each.token for each in asking)))
        for each in holdings:
            if each.lines and now - each.lines_sent >= resend:
                each.lines_sent = now
                self._send(Log(each.token, each.offset, tuple(each.lines[:MOST_LINES_AT_ONCE])))
        due = [each for each in holdings if each.result is not None and now - each.sent >= resend]
        for batch_id, some in groupby(sorted(due, key=lambda each: each.batch_id), key=lambda each: each.batch_id):
            ended = list(some)
            for each in ended:
                each.sent = now
            results = tuple(each.result for each in ended if each.result is not None)
            self._send(StepResults(batch_id=batch_id, protocol_version=VERSION, results=results))

    # -- what comes -----------------------------------------------------------------------------------------------
    def receive(self, frames: Sequence[bytes], now: float) -> None:
        """Take a message; never raises."""
        try:
            unpacked = unpack(frames, self._codec)
        except UnknownKind as error:
            if error.session == self._session and self.state is LinkState.OPEN:
                self._send(Error("unknown_message", str(error)))
            return
        except Malformed as error:
            self.malformed += 1
            self._leave(f"malformed: {error}")
            return
        message = unpacked.message
        if isinstance(message, Welcome):
            self._welcomed(message, now)
        elif isinstance(message, Error):
            self._error(message, unpacked.session)
        elif unpacked.session == self._session and self.state is LinkState.OPEN:
            self._take(message, now)

    def _take(self, message: Message, now: float) -> None:
        match message:
            case StepBatch():
                for step in message.steps:
                    self.holdings.take(step, message.batch_id, self.hub, now)
                self._send(Received(tuple(step.token for step in message.steps)))
            case Ack():
                self._drop(message.tokens, "its result has been taken")
            case Heartbeat():
                sent = self._sent_at.pop(message.seq, None)
                if sent is not None:
                    self.contact = max(self.contact, sent)
            case Started():
                self._started(message)
            case Cancel():
                self._cancel(message)
            case Logged():
                self.holdings.logged(message.token, message.next)
            case Drain():
                self.actions.append(DrainAsked(message.reason))
            case Bye():
                self.state = LinkState.CLOSED
                self.actions.append(Parted(message.reason))
            case _:
                self._send(Error("unknown_message", f"{type(message).__name__.lower()} is not for a worker"))

    def _welcomed(self, message: Welcome, now: float) -> None:
        if self.state is not LinkState.GREETING or message.seq != self._greetings:
            return
        self.state, self.welcome = LinkState.OPEN, message
        self._session, self._codec, self.hub, self.hubs = message.session, message.codec, message.hub_id, message.hubs
        self.contact = self._opened
        self._drop(message.release, "nobody waits for it any more")
        for each in self._mine():
            # What the hub has heard of and did not release is its own from now on, whoever gave it.
            each.hub = self.hub
            each.sent = each.asked = each.lines_sent = -inf
        self._beat(now)

    def _started(self, message: Started) -> None:
        for token in message.granted:
            holding = self.holdings.table.get(token)
            if holding is not None:
                holding.granted = True
        waiting = [token for token in message.denied if not self._has_begun(token)]
        self.holdings.forget(waiting)

    def _cancel(self, message: Cancel) -> None:
        for token in message.tokens:
            holding = self.holdings.table.get(token)
            if holding is None or holding.state == "done":
                continue
            if holding.state == "waiting":
                self.holdings.give_back(token, message.reason or "cancelled")
            else:
                self.actions.append(Stop(token, message.reason or "cancelled"))

    def _error(self, message: Error, session: str) -> None:
        if session not in ("", self._session) or self.state not in (LinkState.GREETING, LinkState.OPEN):
            return
        if not message.retry:
            self.state = LinkState.REFUSED
            self.actions.append(Parted(f"{message.code}: {message.message}"))
        elif message.code in ("no_session", "malformed", "stopping"):
            self._leave(f"{message.code}: {message.message}")

    # -- what goes ------------------------------------------------------------------------------------------------
    def _greet(self, now: float) -> None:
        self._greeted = now
        said = {"seq": self._greetings, "credits": self.credits, "in_flight": self._listed()}
        self.outbox.append(pack(msgspec.structs.replace(self._hello, **said), ""))

    def _beat(self, now: float) -> None:
        seq = self._next_seq()
        self._beaten = self._sent_at[seq] = now
        self._send(Heartbeat(seq=seq, credits=self.credits, in_flight=self._listed()))

    def _mine(self) -> list[Holding]:
        found = {each.token: each for each in (*self.holdings.of(self.hub), *self._orphans())}
        return list(found.values())

    def _listed(self) -> tuple[Held, ...]:
        return tuple(each.listed for each in self._mine())

    def _drop(self, tokens: Sequence[str], reason: str) -> None:
        for token in self.holdings.forget(tokens):
            self.actions.append(Stop(token, reason, drop=True))

    def _leave(self, reason: str) -> None:
        self.state = LinkState.CLOSED
        self.actions.append(Reconnect(reason))

    def _has_begun(self, token: str) -> bool:
        holding = self.holdings.table.get(token)
        return holding is not None and holding.state != "waiting"

    def _next_seq(self) -> int:
        self._seq += 1
        return self._seq

    def _send(self, message: Message) -> None:
        self.outbox.append(pack(message, self._session, self._codec))

    @property
    def _lease(self) -> float:
        return self.welcome.lease_ms / 1000 if self.welcome is not None else 15.0
