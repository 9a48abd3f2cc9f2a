"""Named defects of the worker that the conformance run is tried on: what each breaks, and the session that catches it.

A defect replaces a method of the worker or of a session, in the process that ``TURNOUT_BROKEN`` names it to.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import conformance_worker as whole
import msgspec
import zmq

from turnout.wire import frames, held_steps, worker_session
from turnout.wire.documents import Step
from turnout.wire.frames import pack, unpack
from turnout.wire.held_steps import HeldStep, HeldSteps
from turnout.wire.messages import Cancel, Heartbeat, Started, Welcome
from turnout.wire.worker_session import DrainRequested, HubClosed, Reconnect, SessionState, WorkerSession

Introduce = Callable[[], None]


class Defect(msgspec.Struct, frozen=True):
    session: str
    """The session that catches it."""
    reason: str
    """What that session says, as a regular expression."""
    introduce: Introduce


DEFECTS: dict[str, Defect] = {}


def defect(session: str, reason: str) -> Callable[[Introduce], Introduce]:
    def named(introduce: Introduce) -> Introduce:
        DEFECTS[introduce.__name__] = Defect(session, reason, introduce)
        return introduce

    return named


def replace(owner: Any, name: str, made: Callable[[Any], Callable[..., Any]]) -> None:
    """Put what ``made`` makes of the method in its place."""
    setattr(owner, name, made(getattr(owner, name)))


def nothing(*_: object, **__: object) -> None:
    """In place of a method that ought to do something."""


def unheard(*kinds: bytes) -> None:
    """Messages of these kinds are not taken."""

    def made(take: Callable[..., None]) -> Callable[..., None]:
        return lambda self, connection, frames, now: frames[0] in kinds or take(self, connection, frames, now)

    replace(whole.Worker, "take", made)


def unsaid(*kinds: bytes) -> None:
    """Messages of these kinds are not sent."""

    def made(send: Callable[..., None]) -> Callable[..., None]:
        return lambda self, connection, frames: frames[0] in kinds or send(self, connection, frames)

    replace(whole.Worker, "send", made)


def rewritten(change: Callable[[list[bytes]], list[bytes]]) -> None:
    """What is sent is changed on its way."""
    replace(whole.Worker, "send", lambda send: lambda self, where, frames: send(self, where, change(frames)))


# -- messages ---------------------------------------------------------------------------------------------------------
@defect("echo", "malformed")
def wrong_check() -> None:
    rewritten(lambda frames: [*frames[:3], b"00000000"])


@defect("received", "no received came")
def sends_no_received() -> None:
    unsaid(b"received")


@defect("heartbeat_at_once", "no heartbeat came")
def sends_no_heartbeat() -> None:
    unsaid(b"heartbeat")


@defect("drain", "seq|no credit came")
def sends_no_credit() -> None:
    unsaid(b"credit")


@defect("logs", r"there are \[\]")
def sends_no_log() -> None:
    unsaid(b"log")


@defect("progress", "no progress came")
def sends_no_progress() -> None:
    unsaid(b"progress")


@defect("sigterm_idle", "no bye came")
def sends_no_bye() -> None:
    unsaid(b"bye")


@defect("hello", "seq 0 follows 0")
def first_seq_is_zero() -> None:
    def opened(self: WorkerSession, now: float, before: Callable[..., None]) -> None:
        before(self, now)
        self._seq = -1

    replace(WorkerSession, "open", lambda before: lambda self, now: opened(self, now, before))


@defect("echo", "is for _Given")
def forgets_the_attempt() -> None:
    def changed(frames: list[bytes]) -> list[bytes]:
        if frames[0] != b"results":
            return frames
        sent = unpack(frames)
        message: Any = sent.message
        plain = [
            msgspec.structs.replace(each, metadata=msgspec.structs.replace(each.metadata, attempt=0))
            for each in message.results
        ]
        return pack(msgspec.structs.replace(message, results=tuple(plain)), sent.session)

    rewritten(changed)


@defect("result_too_large", "max_message_bytes is 65536")
def sends_results_of_any_size() -> None:
    bounded = worker_session.MessageWriter
    worker_session.MessageWriter = lambda session, codec, most: bounded(session, codec, 1 << 40)  # type: ignore[assignment,misc]


@defect("fields_sparse", "ended with code 1|no results came")
def needs_every_field() -> None:
    def checked(self: HeldSteps, step: Step, batch_id: str, hub: str, now: float, before: Callable[..., bool]) -> bool:
        if not step.metadata.retry_limit or not step.metadata.task_name:
            raise KeyError("retry_limit")
        return before(self, step, batch_id, hub, now)

    replace(HeldSteps, "add", lambda before: lambda self, *more: checked(self, *more, before=before))


# -- what is held -----------------------------------------------------------------------------------------------------
@defect("duplicates", r"it has \['1.1', '1.1'")
def runs_duplicates() -> None:
    def taken(
        self: whole.Worker, where: whole.Connection, frames: list[bytes], now: float, before: Callable[..., None]
    ) -> None:
        held = {each.token for each in self.held_steps if each.state != "waiting"}
        before(self, where, frames, now)
        for held_step in self.held_steps if frames[0] == b"steps" else ():
            if held_step.token in held:
                self.run_body(held_step.step)

    replace(whole.Worker, "take", lambda before: lambda self, *more: taken(self, *more, before))


@defect("memory", "the result of 1.1 is for .*batch_2")
def remembers_100_tokens() -> None:
    held_steps.MAX_REMEMBERED = 100


@defect("results_again", "no results came")
def never_resends() -> None:
    def heard(self: whole.Worker, before: Callable[..., None]) -> None:
        before(self)
        for held_step in self.held_steps:
            if held_step.result_sent_at > 0:
                held_step.result_sent_at = held_step.lines_sent_at = held_step.start_sent_at = inf

    replace(whole.Worker, "hear", lambda before: lambda self: heard(self, before))


@defect("reconnect", "in_flight")
def forgets_on_reconnect() -> None:
    def lost(self: whole.Worker, where: whole.Connection, now: float, before: Callable[..., None]) -> None:
        self.held_steps.forget([each.token for each in self.held_steps])
        before(self, where, now)

    replace(whole.Worker, "lost", lambda before: lambda self, *more: lost(self, *more, before))


@defect("results_again", "'done'")
def ignores_ack() -> None:
    unheard(b"ack")


@defect("ack_early", "in_flight")
def ignores_ack_before_the_result() -> None:
    def dropped(self: WorkerSession, tokens: Sequence[str], reason: str, before: Callable[..., None]) -> None:
        before(self, [each for each in tokens if self._is_done(each)], reason)

    replace(WorkerSession, "_forget", lambda before: lambda self, *more: dropped(self, *more, before))


@defect("release", "'token': '3.1'")
def ignores_release() -> None:
    def welcomed(self: WorkerSession, message: Welcome, now: float, before: Callable[..., None]) -> None:
        before(self, msgspec.structs.replace(message, release=()), now)

    replace(WorkerSession, "_on_welcome", lambda before: lambda self, *more: welcomed(self, *more, before))


@defect("not_yours", "in_flight|came, and should not have")
def ignores_not_yours() -> None:
    WorkerSession._is_done = lambda self, token: False  # type: ignore[method-assign]


# -- when steps begin and end -----------------------------------------------------------------------------------------
@defect("cancel_running", "cancelled.*no results came")
def ignores_cancel_of_what_runs() -> None:
    unstopped("cancelled")


@defect("cancel_waiting", "returned")
def ignores_cancel_of_what_waits() -> None:
    def cancelled(self: WorkerSession, message: Cancel, before: Callable[..., None]) -> None:
        tokens = tuple(each for each in message.tokens if self._has_begun(each))
        before(self, msgspec.structs.replace(message, tokens=tokens))

    replace(WorkerSession, "_on_cancel", lambda before: lambda self, message: cancelled(self, message, before))


@defect("timeout", "timed_out")
def ignores_timeout() -> None:
    unstopped("timed_out")


def unstopped(outcome: str) -> None:
    replace(whole.Worker, "stop", lambda stop: lambda self, token, why: why == outcome or stop(self, token, why))


@defect("timeout_from_start", "timed_out|'failed'")
def counts_the_timeout_from_arrival() -> None:
    arrived: dict[str, float] = {}

    def taken(self: HeldSteps, step: Step, *more: Any, before: Callable[..., bool]) -> bool:
        arrived[step.token] = time.monotonic()
        return before(self, step, *more)

    replace(HeldSteps, "add", lambda before: lambda self, *more: taken(self, *more, before=before))
    replace(whole.Body, "ends_at", lambda before: lambda self, begun: before(self, arrived[self.step.token]))


@defect("deadline", "returned")
def ignores_deadline() -> None:
    HeldStep.overdue = lambda self, now: False  # type: ignore[method-assign]


@defect("confirm_granted", "no start came")
def begins_without_leave() -> None:
    def begun(self: whole.Worker, now: float, before: Callable[..., None]) -> None:
        for held_step in self.held_steps:
            held_step.granted = True
        before(self, now)

    replace(whole.Worker, "begin", lambda before: lambda self, now: begun(self, now, before))


@defect("confirm_denied", "in_flight|came, and should not have|it has")
def ignores_denied() -> None:
    def started(self: WorkerSession, message: Started, before: Callable[..., None]) -> None:
        before(self, msgspec.structs.replace(message, denied=()))

    replace(WorkerSession, "_on_started", lambda before: lambda self, message: started(self, message, before))


@defect("out_of_contact", "it has")
def begins_out_of_contact() -> None:
    WorkerSession.in_contact = lambda self, now: True  # type: ignore[method-assign]


@defect("contact_late_answer", "results came, and should not have|it has")
def counts_contact_from_the_answer() -> None:
    def taken(self: WorkerSession, message: Any, now: float, before: Callable[..., None]) -> None:
        if isinstance(message, Heartbeat) and message.seq in self._sent_at:
            self._sent_at[message.seq] = now
        before(self, message, now)

    replace(WorkerSession, "_on_message", lambda before: lambda self, *more: taken(self, *more, before))


@defect("concurrency", "running")
def runs_more_than_its_places() -> None:
    whole.CONCURRENCY = 100


@defect("two_hubs", "credits: expected 4, got 8")
def offers_every_hub_the_whole() -> None:
    def divided(self: whole.Worker, places: int) -> None:
        for connection in self.connections:
            connection.session.set_credits(places)

    whole.Worker.divide = divided  # type: ignore[method-assign]


# -- connections ------------------------------------------------------------------------------------------------------
@defect("no_session", "no hello came")
def never_reconnects() -> None:
    undone(Reconnect)


@defect("bye_of_the_hub", "no hello came")
def stays_away_after_a_bye() -> None:
    undone(HubClosed)


@defect("drain", "no credit came")
def ignores_drain() -> None:
    undone(DrainRequested)


def undone(kind: type[Any]) -> None:
    """Actions of this kind are not done."""

    def made(act: Callable[..., None]) -> Callable[..., None]:
        return lambda self, where, action, now: isinstance(action, kind) or act(self, where, action, now)

    replace(whole.Worker, "act", made)


@defect("refused", "the end of the program")
def comes_back_when_refused() -> None:
    def acted(
        self: whole.Worker, where: whole.Connection, action: Any, now: float, before: Callable[..., None]
    ) -> None:
        before(self, where, action, now)
        if isinstance(action, HubClosed) and where.session.state is SessionState.REFUSED:
            where.session.state = SessionState.CLOSED

    replace(whole.Worker, "act", lambda before: lambda self, *more: acted(self, *more, before))


@defect("worker_id", "that of an earlier process")
def has_a_fixed_worker_id() -> None:
    def made(self: whole.Worker, before: Callable[..., None]) -> None:
        before(self)
        self.hello = msgspec.structs.replace(self.hello, worker_id="worker-on-this-machine")
        for each in self.connections:
            each.session._hello = self.hello

    replace(whole.Worker, "__init__", lambda before: lambda self: made(self, before))


@defect("pauses", "not before (600|1200) ms")
def always_pauses_for_the_same_time() -> None:
    whole.MAX_BACKOFF = whole.INITIAL_BACKOFF


@defect("oversize_message", "no hello came|the file ran|received")
def takes_messages_of_any_size() -> None:
    without(zmq.MAXMSGSIZE, -1)


@defect("over_limit", "no hello came")
def takes_lists_of_any_length() -> None:
    frames.check_lists = nothing


@defect("over_limit", "not before (350|700) ms")
def comes_back_soon_to_a_hub_that_was_over_the_limit() -> None:
    replace(whole.Worker, "welcomed", lambda before: lambda self, where: (set_pause(where), before(self, where)))


def set_pause(connection: whole.Connection) -> None:
    connection.pause = whole.INITIAL_BACKOFF


@defect("ipv6", "no hello came|ended with code")
def knows_no_ipv6() -> None:
    without(zmq.IPV6, 0)


def without(option: int, value: int) -> None:
    """Sockets have this value of the option, whatever is said."""

    def made(self: whole.Connection, before: Callable[..., Any]) -> zmq.Socket[bytes]:
        socket: zmq.Socket[bytes] = before(self)
        socket.setsockopt(option, value)
        return socket

    replace(whole.Connection, "dealer", lambda before: lambda self: made(self, before))


@defect("alias", "hello .* came, and should not have")
def keeps_two_sessions_with_one_hub() -> None:
    whole.Worker.retire = nothing  # type: ignore[method-assign]


@defect("two_hubs_told_at_once", "no heartbeat came")
def tells_nobody_that_a_hub_is_gone() -> None:
    whole.Worker.lost = lambda self, connection, now: connection.later(now)  # type: ignore[method-assign]


@defect("keep", "no results came")
def ignores_keep() -> None:
    WorkerSession._adopt = nothing  # type: ignore[method-assign]


@defect("keep_elsewhere", "in_flight|results")
def keep_takes_from_a_hub_that_is_there() -> None:
    def taken(self: WorkerSession, tokens: Sequence[str]) -> None:
        for token in tokens:
            if token in self.held_steps.table:
                self.held_steps.table[token].hub = self.hub

    WorkerSession._adopt = taken  # type: ignore[method-assign]


# -- lines, and the end -----------------------------------------------------------------------------------------------
@defect("logs_live", r"expected within .* s: the lines .* there are \[\]")
def sends_lines_after_3_seconds() -> None:
    first: dict[str, float] = {}

    def reported(
        self: WorkerSession, held: Sequence[HeldStep], now: float, resend: float, before: Callable[..., None]
    ) -> None:
        for each in held:
            if each.lines and now - first.setdefault(each.token, now) < 3 and each.result is None:
                each.lines_sent_at = now
        before(self, held, now, resend)

    replace(WorkerSession, "_report_due", lambda before: lambda self, *more: reported(self, *more, before))


@defect("sigterm_idle", "no bye came")
def ignores_sigterm() -> None:
    whole.Worker.on_signal = nothing  # type: ignore[method-assign]


@defect("sigterm_twice", "no results came")
def says_nothing_of_what_it_abandons() -> None:
    whole.Worker.abandon = nothing  # type: ignore[method-assign]


@defect("sigterm_idle", "ended with code 3; expected 0")
def has_a_wrong_exit_code() -> None:
    replace(whole.Worker, "over", lambda over: lambda self, now: 3 if over(self, now) == 0 else None)


@defect("malformed", "ended with code")
def dies_of_a_malformed_message() -> None:
    def received(self: WorkerSession, frames: Sequence[bytes], now: float, before: Callable[..., None]) -> None:
        before(self, frames, now)
        if self.malformed:
            os._exit(1)

    replace(WorkerSession, "receive", lambda before: lambda self, *more: received(self, *more, before))
