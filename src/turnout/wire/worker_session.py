"""How does a worker talk to one hub? A session without a socket: frames and time in, frames and actions out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from itertools import count, groupby
from math import inf
from typing import TypeAlias

import msgspec

from turnout.wire.batching import MessageWriter, NotEncodable, parcels
from turnout.wire.documents import StepBatch, StepResults
from turnout.wire.frames import JSON, UnknownKind, pack, unpack
from turnout.wire.held_steps import Holding, Holdings, unsendable
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
    Malformed,
    Message,
    OverLimit,
    Progress,
    Received,
    Start,
    Started,
    Welcome,
)

RESEND_HELLO = 2.0
FENCE = 0.8
"""The share of the lease after which a worker that had no answer begins nothing."""
MAX_LINES_AT_ONCE, MAX_TEXT_AT_ONCE = 1_000, 1_048_576
"""Lines, and characters, of one ``log``."""


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
        next_greeting: Callable[[], int] | None = None,
    ) -> None:
        self._hello = hello
        self._next_greeting = next_greeting or count(hello.seq + 1).__next__
        """Numbers the connections of the process; links that may lead to one hub share it."""
        self._orphans = orphans
        """What hubs gave that the worker has no session with any more: every other hub hears of it."""
        self.greeting = hello.seq
        """The number of the connection: of two to one hub, the one with the higher has the session."""
        self._session = ""
        self.codec = JSON
        self._seq = 0
        self._sent_at: dict[int, float] = {}
        """When each heartbeat that is not answered yet was sent."""
        self._greeted = self._beaten = -inf
        self.opened = -inf
        """When the connection was made."""
        self.holdings = holdings
        self.credits = hello.credits
        self.state = LinkState.CLOSED
        self.hub = ""
        self.hubs: tuple[str, ...] = ()
        self.welcome: Welcome | None = None
        self.contact = -inf
        """When the last message was **sent** that the hub has answered: what it knows of us is not older."""
        self.malformed = 0
        self.over_limit = False
        """The hub has sent a message over the limit. The next may cost as much, so the pauses before it only grow."""
        self.refusal = ""
        """Why the hub does not want this worker, once it has said so."""
        self.outbox: list[list[bytes]] = []
        self.actions: list[Action] = []

    # -- the worker's wishes --------------------------------------------------------------------------------------
    def open(self, now: float) -> None:
        """There is a fresh connection: say hello."""
        self._session, self.codec, self._seq = "", JSON, 0
        self._sent_at.clear()
        self.state = LinkState.GREETING
        self.greeting = self._next_greeting()
        self.opened = now
        self._greet(now)

    def in_contact(self, now: float) -> bool:
        """Whether steps of this hub may begin: it cannot have given them to others yet."""
        return self.state is LinkState.OPEN and now < self.contact_until

    @property
    def contact_until(self) -> float:
        """When the contact is over, unless the hub answers again."""
        return self.contact + FENCE * self._lease

    def may_come_back(self, now: float) -> bool:
        """Whether what this hub gave is still its own: it answers, or has not been silent for a lease."""
        return self.state is LinkState.OPEN or now - self.contact < self._lease

    def set_credits(self, credits: int) -> None:
        if credits != self.credits:
            self.credits = credits
            if self.state is LinkState.OPEN:
                self._send(Credit(self._next_seq(), credits))

    def tell(self, news: Sequence[Holding], now: float) -> None:
        """Say at once what is new about these steps of this hub."""
        if self.state is LinkState.OPEN and self.welcome is not None:
            self._report(news, now, self.welcome.resend_ms / 1000)

    def beat(self, now: float) -> None:
        """Let the hub know at once what is held here."""
        if self.state is LinkState.OPEN:
            self._beat(now)

    def cut(self, reason: str) -> None:
        """The connection is gone, and the session with it."""
        if self.state in (LinkState.GREETING, LinkState.OPEN):
            self._leave(reason)

    def refuse(self, reason: str) -> None:
        """The connection was not let in: nothing that is said here would be heard."""
        if self.state is not LinkState.REFUSED:
            self.state, self.refusal = LinkState.REFUSED, reason
            self.actions.append(Parted(reason))

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
            each
            for each in holdings
            if each.asks and each.state == "waiting" and not each.granted and now - each.asked >= resend
        ]
        if asking:
            for each in asking:
                each.asked = now
            self._send(Start(tuple(each.token for each in asking)))
        for each in holdings:
            # Before the first word of a result all lines go: those that come after its acknowledgement are of no use.
            last = each.result is not None and each.sent == -inf
            if each.lines and (last or now - each.lines_sent >= resend):
                each.lines_sent = now
                self._log(each, all_of_them=last)
        due = [each for each in holdings if each.result is not None and now - each.sent >= resend]
        for batch_id, some in groupby(sorted(due, key=lambda each: each.batch_id), key=lambda each: each.batch_id):
            ended = list(some)
            for each in ended:
                each.sent = now
            self._results(batch_id, ended)

    def _log(self, holding: Holding, *, all_of_them: bool) -> None:
        start, lines = 0, holding.lines
        while start < len(lines):
            end, size = start, 0
            while end < len(lines) and end - start < MAX_LINES_AT_ONCE and (not size or size < MAX_TEXT_AT_ONCE):
                size += len(lines[end].text)
                end += 1
            self._send(Log(holding.token, holding.offset + start, tuple(lines[start:end])))
            start = end
            if not all_of_them:
                return

    def _results(self, batch_id: str, ended: Sequence[Holding]) -> None:
        """Send these in as few messages as their size allows; one that cannot be said at all becomes a failure."""

        def batch(some: Sequence[Holding]) -> StepResults:
            results = tuple(each.result for each in some if each.result is not None)
            return StepResults(batch_id=batch_id, protocol_version=VERSION, results=results)

        assert self.welcome is not None
        parcel = MessageWriter(self._session, self.codec, self.welcome.max_message_bytes)
        for some, frames in parcels(ended, batch, parcel):
            if isinstance(frames, NotEncodable):
                (holding,) = some
                assert holding.result is not None
                holding.result = unsendable(holding.result, frames.kind, f"its result: {frames.reason}")
                self._send(batch(some))
            else:
                self.outbox.append(frames)

    # -- what comes -----------------------------------------------------------------------------------------------
    def receive(self, frames: Sequence[bytes], now: float) -> None:
        """Take a message; never raises."""
        try:
            unpacked = unpack(frames, self.codec)
        except UnknownKind as error:
            if error.session == self._session and self.state is LinkState.OPEN:
                self._send(Error("unknown_message", str(error)))
            return
        except OverLimit as error:
            self.malformed += 1
            self.over_limit = True
            self._leave(f"over_limit: {error}")
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
                self.hubs = message.hubs or self.hubs
                self._take_over(message.keep)
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
        if self.state is not LinkState.GREETING or message.seq != self.greeting:
            return
        if message.codec not in self._hello.codecs:
            self.malformed += 1
            self._leave(f"malformed: the codec {message.codec!r} was not offered")
            return
        self.state, self.welcome = LinkState.OPEN, message
        self._session, self.codec, self.hub, self.hubs = message.session, message.codec, message.hub_id, message.hubs
        self.contact = self.opened
        self._drop(message.release, "nobody waits for it any more")
        for each in self._mine():
            each.sent = each.asked = each.lines_sent = -inf
        self._beat(now)

    def _take_over(self, tokens: Sequence[str]) -> None:
        """These are this hub's from now on, where nobody else is there who gave them."""
        taken = set(tokens)
        for each in self._orphans() if taken else ():
            if each.token in taken:
                each.hub = self.hub

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
            self.refuse(f"{message.code}: {message.message}")
        elif message.code in ("no_session", "malformed", "stopping"):
            self._leave(f"{message.code}: {message.message}")
        elif message.code == "not_yours" and session == self._session:
            # What another hub gave is not this one's to judge: it may not have heard yet that the other is gone.
            mine = [token for token in message.tokens if self._is_done(token)]
            self._drop(mine, "nobody waits for it any more")

    # -- what goes ------------------------------------------------------------------------------------------------
    def _greet(self, now: float) -> None:
        self._greeted = now
        said = {"seq": self.greeting, "credits": self.credits, "in_flight": self._listed()}
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

    def _is_done(self, token: str) -> bool:
        """Whether this hub gave it, and it has a result."""
        holding = self.holdings.table.get(token)
        return holding is not None and holding.hub == self.hub and holding.state == "done"

    def _next_seq(self) -> int:
        self._seq += 1
        return self._seq

    def _send(self, message: Message) -> None:
        self.outbox.append(pack(message, self._session, self.codec))

    @property
    def _lease(self) -> float:
        return self.welcome.lease_ms / 1000 if self.welcome is not None else 15.0
