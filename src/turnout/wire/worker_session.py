"""Runs the session of a worker with one hub without a socket: frames and time in, frames and actions out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from itertools import count
from math import inf
from typing import TypeAlias

import msgspec

from turnout.wire.batching import MessageWriter, NotEncodable, pack_batches
from turnout.wire.documents import StepBatch, StepResults
from turnout.wire.frames import JSON, UnknownKind, pack, unpack
from turnout.wire.held_steps import HeldStep, HeldSteps, unsendable
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

HELLO_INTERVAL = 2.0
FENCE = 0.8
"""The share of the lease after which a worker that had no answer begins nothing."""
MAX_LINES_AT_ONCE, MAX_TEXT_AT_ONCE = 1_000, 1_048_576
"""Lines, and characters, of one ``log``."""


class SessionState(StrEnum):
    CLOSED = "closed"
    GREETING = "greeting"
    OPEN = "open"
    REFUSED = "refused"
    """The hub refuses this worker for good."""


class Stop(msgspec.Struct, frozen=True):
    """The handler of this token is to end; with ``drop`` its result is not needed."""

    token: str
    reason: str
    drop: bool = False


class Reconnect(msgspec.Struct, frozen=True):
    """Replace this connection after a backoff, and open the session again."""

    reason: str


class DrainRequested(msgspec.Struct, frozen=True):
    reason: str


class HubClosed(msgspec.Struct, frozen=True):
    """The hub has sent bye, or refuses this worker."""

    reason: str


Action: TypeAlias = Stop | Reconnect | DrainRequested | HubClosed


class WorkerSession:
    """One worker's side of its sessions with one hub.

    ``outbox`` holds messages to be sent and ``actions`` what is to be done; the owner of the socket empties both after
    each call.
    """

    def __init__(
        self,
        hello: Hello,
        held_steps: HeldSteps,
        orphans: Callable[[], Iterable[HeldStep]] = lambda: (),
        next_hello_seq: Callable[[], int] | None = None,
        hub: str = "",
    ) -> None:
        self._hello = hello
        self._next_hello_seq = next_hello_seq or count(hello.seq + 1).__next__
        """Numbers the connections of the process; sessions that may lead to one hub share it."""
        self._orphans = orphans
        """Steps of hubs that the worker has no session with any more; reported to every other hub."""
        self.hello_seq = hello.seq
        """The number of the connection: of two to one hub, the one with the higher has the session."""
        self._session_id = ""
        self.codec = JSON
        self._seq = 0
        self._sent_at: dict[int, float] = {}
        """When each heartbeat that is not answered yet was sent."""
        self._hello_sent_at = self._heartbeat_sent_at = -inf
        self.opened = -inf
        """When the connection was made."""
        self.held_steps = held_steps
        self.credits = hello.credits
        self.state = SessionState.CLOSED
        self.hub = hub
        """The id of the hub; empty until it has said it, unless the connection leads to a known one."""
        self.hubs: tuple[str, ...] = ()
        self.welcome: Welcome | None = None
        self.contact = -inf
        """When the last message was **sent** that the hub has answered: what it knows of us is not older."""
        self.malformed = 0
        self.over_limit = False
        """The hub has sent a message over the limit. The next may cost as much, so the pauses before it only grow."""
        self.refusal = ""
        """The reason of the hub that refuses this worker."""
        self.outbox: list[list[bytes]] = []
        self.actions: list[Action] = []

    # -- calls of the worker --------------------------------------------------------------------------------------
    def open(self, now: float) -> None:
        """Called when there is a new connection: sends hello."""
        self._session_id, self.codec, self._seq = "", JSON, 0
        self._sent_at.clear()
        self.state = SessionState.GREETING
        self.hello_seq = self._next_hello_seq()
        self.opened = now
        self._send_hello(now)

    def in_contact(self, now: float) -> bool:
        """True if steps of this hub may begin: it cannot have given them to other workers yet."""
        return self.state is SessionState.OPEN and now < self.contact_until

    @property
    def contact_until(self) -> float:
        """The time at which contact is lost unless the hub answers again."""
        return self.contact + FENCE * self._lease

    def may_come_back(self, now: float) -> bool:
        """True if steps of this hub are still its own: it answers, or has not been silent for a lease."""
        return self.state is SessionState.OPEN or now - self.contact < self._lease

    def set_credits(self, credits: int, concurrency: int = 0) -> None:
        """Sends how many steps of this hub may be here and, if it has changed, how many steps run at once."""
        changed = concurrency if concurrency != self._hello.concurrency else 0
        if changed:
            self._hello = msgspec.structs.replace(self._hello, concurrency=concurrency)
        if changed or credits != self.credits:
            self.credits = credits
            if self.state is SessionState.OPEN:
                self._send(Credit(self._next_seq(), credits, changed))

    def report(self, changed: Sequence[HeldStep], now: float) -> None:
        """Sends at once what has changed about these steps of this hub."""
        if self.state is SessionState.OPEN and self.welcome is not None:
            self._report_due(changed, now, self.welcome.resend_ms / 1000)

    def send_heartbeat(self, now: float) -> None:
        """Sends a heartbeat now, with the steps that are held here."""
        if self.state is SessionState.OPEN:
            self._send_heartbeat(now)

    def connection_lost(self, reason: str) -> None:
        """Ends the session of a lost connection."""
        if self.state in (SessionState.GREETING, SessionState.OPEN):
            self._reconnect(reason)

    def refuse(self, reason: str) -> None:
        """Called when the hub refuses the connection: messages sent on it would not be read."""
        if self.state is not SessionState.REFUSED:
            self.state, self.refusal = SessionState.REFUSED, reason
            self.actions.append(HubClosed(reason))

    def progress(self, progress: Progress) -> None:
        if self.state is SessionState.OPEN:
            self._send(progress)

    def bye(self, reason: str) -> None:
        if self.state is SessionState.OPEN:
            self._send(Bye(reason))

    # -- time -----------------------------------------------------------------------------------------------------
    def tick(self, now: float) -> None:
        """Sends what is due."""
        if self.state is SessionState.GREETING:
            if now - self._hello_sent_at >= HELLO_INTERVAL:
                self._send_hello(now)
        elif self.state is SessionState.OPEN:
            if now - self.contact >= FENCE * self._lease:
                self._reconnect(f"no answer for {now - self.contact:.1f} s")
                return
            welcome = self.welcome
            assert welcome is not None
            if now - self._heartbeat_sent_at >= welcome.heartbeat_ms / 1000:
                self._send_heartbeat(now)
            self._report_due(self._own_steps(), now, welcome.resend_ms / 1000)

    def _report_due(self, held_steps: Sequence[HeldStep], now: float, resend: float) -> None:
        asking = [
            each
            for each in held_steps
            if each.start_wanted and each.state == "waiting" and not each.granted and now - each.start_sent_at >= resend
        ]
        if asking:
            for each in asking:
                each.start_sent_at = now
            self._send(Start(tuple(each.token for each in asking)))
        for each in held_steps:
            if not each.lines:
                continue
            # All lines go before the result: the hub drops those that come after its acknowledgement.
            last = each.result is not None and each.result_sent_at == -inf
            if last or now - each.lines_sent_at >= resend:
                each.lines_sent_at = now
                self._log(each, all_of_them=last)
        due: dict[str, list[HeldStep]] = {}
        for each in held_steps:
            if each.result is not None and now - each.result_sent_at >= resend:
                each.result_sent_at = now
                if (batch := due.get(each.batch_id)) is None:
                    batch = due[each.batch_id] = []
                batch.append(each)
        for batch_id in sorted(due):
            self._results(batch_id, due[batch_id])

    def _log(self, held_step: HeldStep, *, all_of_them: bool) -> None:
        start, lines = 0, held_step.lines
        while start < len(lines):
            end, size = start, 0
            while end < len(lines) and end - start < MAX_LINES_AT_ONCE and (not size or size < MAX_TEXT_AT_ONCE):
                size += len(lines[end].text)
                end += 1
            self._send(Log(held_step.token, held_step.offset + start, tuple(lines[start:end])))
            start = end
            if not all_of_them:
                return

    def _results(self, batch_id: str, ended: Sequence[HeldStep]) -> None:
        """Sends these in as few messages as their size allows; one that cannot be encoded becomes a failure."""

        def batch(some: Sequence[HeldStep]) -> StepResults:
            results = tuple(each.result for each in some if each.result is not None)
            return StepResults(batch_id=batch_id, protocol_version=VERSION, results=results)

        assert self.welcome is not None
        writer = MessageWriter(self._session_id, self.codec, self.welcome.max_message_bytes)
        for some, frames in pack_batches(ended, batch, writer):
            if isinstance(frames, NotEncodable):
                (held_step,) = some
                assert held_step.result is not None
                held_step.result = unsendable(held_step.result, frames.kind, f"its result: {frames.reason}")
                self._send(batch(some))
            else:
                self.outbox.append(frames)

    # -- received ------------------------------------------------------------------------------------------------
    def receive(self, frames: Sequence[bytes], now: float) -> None:
        """Processes a message; never raises."""
        try:
            unpacked = unpack(frames, self.codec)
        except UnknownKind as error:
            if error.session == self._session_id and self.state is SessionState.OPEN:
                self._send(Error("unknown_message", str(error)))
            return
        except OverLimit as error:
            self.malformed += 1
            self.over_limit = True
            self._reconnect(f"over_limit: {error}")
            return
        except Malformed as error:
            self.malformed += 1
            self._reconnect(f"malformed: {error}")
            return
        message = unpacked.message
        if isinstance(message, Welcome):
            self._on_welcome(message, now)
        elif isinstance(message, Error):
            self._on_error(message, unpacked.session)
        elif unpacked.session == self._session_id and self.state is SessionState.OPEN:
            self._on_message(message, now)

    def _on_message(self, message: Message, now: float) -> None:
        match message:
            case StepBatch():
                for step in message.steps:
                    self.held_steps.add(step, message.batch_id, self.hub, now)
                self._send(Received(tuple([step.metadata.token for step in message.steps])))
            case Ack():
                self._forget(message.tokens, "its result has been taken")
            case Heartbeat():
                sent = self._sent_at.pop(message.seq, None)
                if sent is not None:
                    self.contact = max(self.contact, sent)
                self.hubs = message.hubs or self.hubs
                self._adopt(message.keep)
            case Started():
                self._on_started(message)
            case Cancel():
                self._on_cancel(message)
            case Logged():
                self.held_steps.acknowledge_lines(message.token, message.next)
            case Drain():
                self.actions.append(DrainRequested(message.reason))
            case Bye():
                self.state = SessionState.CLOSED
                self.actions.append(HubClosed(message.reason))
            case _:
                self._send(Error("unknown_message", f"{type(message).__name__.lower()} is not for a worker"))

    def _on_welcome(self, message: Welcome, now: float) -> None:
        if self.state is not SessionState.GREETING or message.seq != self.hello_seq:
            return
        if message.codec not in self._hello.codecs:
            self.malformed += 1
            self._reconnect(f"malformed: the codec {message.codec!r} was not offered")
            return
        self.state, self.welcome = SessionState.OPEN, message
        self._session_id, self.codec, self.hub, self.hubs = message.session, message.codec, message.hub_id, message.hubs
        self.contact = self.opened
        self._forget(message.release, "its result is not needed any more")
        for each in self._own_steps():
            each.result_sent_at = each.start_sent_at = each.lines_sent_at = -inf
        self._send_heartbeat(now)

    def _adopt(self, tokens: Sequence[str]) -> None:
        """Makes these steps this hub's, unless the hub that gave them is connected."""
        taken = set(tokens)
        for each in self._orphans() if taken else ():
            if each.token in taken:
                each.hub = self.hub

    def _on_started(self, message: Started) -> None:
        for token in message.granted:
            held_step = self.held_steps.table.get(token)
            if held_step is not None:
                held_step.granted = True
        waiting = [token for token in message.denied if not self._has_begun(token)]
        self.held_steps.forget(waiting)

    def _on_cancel(self, message: Cancel) -> None:
        for token in message.tokens:
            held_step = self.held_steps.table.get(token)
            if held_step is None or held_step.state == "done":
                continue
            if held_step.state == "waiting":
                self.held_steps.return_step(token, message.reason or "cancelled")
            else:
                self.actions.append(Stop(token, message.reason or "cancelled"))

    def _on_error(self, message: Error, session: str) -> None:
        if session not in ("", self._session_id) or self.state not in (SessionState.GREETING, SessionState.OPEN):
            return
        if not message.retry:
            self.refuse(f"{message.code}: {message.message}")
        elif message.code in ("no_session", "malformed", "stopping"):
            self._reconnect(f"{message.code}: {message.message}")
        elif message.code == "not_yours" and session == self._session_id:
            # This hub does not decide about steps of another hub: it may not know yet that the other is gone.
            mine = [token for token in message.tokens if self._is_done(token)]
            self._forget(mine, "its result is not needed any more")

    # -- sent -----------------------------------------------------------------------------------------------------
    def _send_hello(self, now: float) -> None:
        self._hello_sent_at = now
        changed = {"seq": self.hello_seq, "credits": self.credits, "in_flight": self._in_flight()}
        self.outbox.append(pack(msgspec.structs.replace(self._hello, **changed), ""))

    def _send_heartbeat(self, now: float) -> None:
        seq = self._next_seq()
        self._heartbeat_sent_at = self._sent_at[seq] = now
        self._send(Heartbeat(seq=seq, credits=self.credits, in_flight=self._in_flight()))

    def _own_steps(self) -> list[HeldStep]:
        found = {each.token: each for each in (*self.held_steps.of(self.hub), *self._orphans())}
        return list(found.values())

    def _in_flight(self) -> tuple[Held, ...]:
        return tuple(each.listed for each in self._own_steps())

    def _forget(self, tokens: Sequence[str], reason: str) -> None:
        for token in self.held_steps.forget(tokens):
            self.actions.append(Stop(token, reason, drop=True))

    def _reconnect(self, reason: str) -> None:
        self.state = SessionState.CLOSED
        self.actions.append(Reconnect(reason))

    def _has_begun(self, token: str) -> bool:
        held_step = self.held_steps.table.get(token)
        return held_step is not None and held_step.state != "waiting"

    def _is_done(self, token: str) -> bool:
        """True if this hub gave the step and it has a result."""
        held_step = self.held_steps.table.get(token)
        return held_step is not None and held_step.hub == self.hub and held_step.state == "done"

    def _next_seq(self) -> int:
        self._seq += 1
        return self._seq

    def _send(self, message: Message) -> None:
        self.outbox.append(pack(message, self._session_id, self.codec))

    @property
    def _lease(self) -> float:
        return self.welcome.lease_ms / 1000 if self.welcome is not None else 15.0
