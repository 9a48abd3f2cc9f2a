"""Runs all sessions of a hub without a socket: frames and time in, frames and events out."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence, Set
from math import inf

import msgspec

from turnout.wire.documents import Step, StepResult, StepResults
from turnout.wire.frames import JSON, UnknownKind, envelope, pack, read
from turnout.wire.handshake import SUSPENSION_SECONDS, Blocklist, HelloCheck, HubFacts
from turnout.wire.hub_events import (
    CapacityChanged,
    ForeignResultsReceived,
    HelloReceived,
    LinesReceived,
    ProgressReceived,
    ResultsReceived,
    StartRequested,
    StepsLost,
    StepsOverdue,
    StepsReturned,
    StepsWaiting,
    StepsWithdrawn,
    WorkerLeft,
)
from turnout.wire.hub_outbox import HubOutbox
from turnout.wire.limits import MAX_REPLY_TOKENS, MAX_TOKEN_LENGTH
from turnout.wire.messages import (
    Ack,
    Bye,
    Cancel,
    Credit,
    Drain,
    Error,
    Heartbeat,
    Hello,
    Log,
    Malformed,
    Message,
    OverLimit,
    Progress,
    Received,
    Start,
    Started,
)
from turnout.wire.worker_entries import WorkerEntry

MAX_TICK_GAP = 1.0
"""Seconds between two ticks beyond which the hub itself did not run, whatever its lease is."""
MAX_MISSED_HEARTBEATS = 2
"""A step that was received and is missing in so many heartbeats in a row is lost."""


class HubProtocol(HubOutbox):
    """The hub's side of all sessions."""

    def __init__(self, facts: HubFacts, new_id: Callable[[], str], hello_check: HelloCheck | None = None) -> None:
        super().__init__(facts)
        self.workers: dict[str, WorkerEntry] = {}
        self.malformed = 0
        self._new_id = new_id
        self._hello_check = hello_check or HelloCheck()
        self._routes: dict[bytes, WorkerEntry] = {}
        self._blocked = Blocklist()
        self._ticked = -inf

    # -- what the owner wishes --------------------------------------------------------------------------------------
    def welcome(self, worker: WorkerEntry, release: Sequence[str] = ()) -> None:
        """Opens the session of a worker that was ``HelloReceived``; ``release`` are tokens of no open attempt."""
        if self.workers.get(worker.id) is not worker or worker.session:
            return
        worker.session, worker.bound = self._new_id(), True
        worker.foreign.difference_update(release)
        over = [held.token for held in worker.hello.in_flight if held.token in worker.finished]
        worker.released = (*release, *over)
        self._put(worker.route, pack(self._welcome_to(worker), worker.session))
        withdrawn = [sent_step for sent_step in worker.out.values() if sent_step.withdrawn]
        for reason in {sent_step.taken_back for sent_step in withdrawn}:
            # The messages of the session before may be lost.
            tokens = [sent_step.step.token for sent_step in withdrawn if sent_step.taken_back == reason]
            self.withdraw(worker, tokens, reason)
        self.events.append(CapacityChanged(worker))

    def keep(self, worker: WorkerEntry, tokens: Iterable[str]) -> None:
        """Takes over these, which another hub gave: the answer to the next heartbeat names them."""
        worker.kept = worker.foreign.intersection(tokens)

    def disown(self, worker: WorkerEntry) -> None:
        """Treats what this hub gave the worker as if another hub had given it."""
        worker.foreign.update(worker.out)
        worker.out.clear()

    def forget(self, worker: WorkerEntry) -> None:
        """Called when a worker cannot be welcomed now: it says hello again, and that hello counts as the first."""
        if self.workers.get(worker.id) is worker and not worker.session:
            self._refuse(worker.route, Error("no_session", "come again soon"), "")
            worker.hello = msgspec.structs.replace(worker.hello, seq=worker.hello.seq - 1)

    def expel(self, worker: WorkerEntry, reason: str, error: Error | None = None) -> None:
        """Ends the session; the worker's steps are lost. It may return, unless the error is final."""
        if self.workers.get(worker.id) is worker:
            self._refuse(worker.route, error or Error("no_session", reason), worker.session)
            self._remove_worker(worker, reason)

    def close(self, reason: str) -> None:
        """Says bye to all workers: they keep what they hold and look for another hub."""
        for worker in self.workers.values():
            self._send(worker, Bye(reason))

    def worker_at(self, route: bytes) -> WorkerEntry | None:
        """Returns the worker of this connection, if one is known."""
        return self._routes.get(route)

    # -- time -------------------------------------------------------------------------------------------------------
    def tick(self, now: float) -> None:
        """Removes silent workers, and repeats what was not received."""
        lease = self.facts.lease_ms / 1000
        away, self._ticked = now - self._ticked, now
        if away < max(MAX_TICK_GAP, lease / 2):
            away = 0.0
        for worker in list(self.workers.values()):
            # Messages that came while the hub itself did not run are not read yet.
            worker.last_seen = min(now, worker.last_seen + away)
            if now - worker.last_seen > lease:
                self._remove_worker(worker, f"silent for {now - worker.last_seen:.1f} s")
                continue
            if not worker.session:
                continue
            if overdue := worker.take_overdue(now, away):
                self.cancel(worker, [step.token for step in overdue], "out of time")
                self.events.append(StepsOverdue(worker, overdue))
            self._repeat_unreceived(worker, now, self.facts.resend_ms / 1000)

    def _repeat_unreceived(self, worker: WorkerEntry, now: float, resend: float) -> None:
        late: dict[str, list[Step]] = {}
        for sent_step in worker.out.values():
            if not sent_step.received and now - sent_step.sent_at >= resend:
                sent_step.sent_at = now
                sent_step.sends += 1
                late.setdefault(sent_step.batch_id, []).append(sent_step.step)
        for batch_id, steps in late.items():
            self._send_steps(worker, batch_id, steps)

    # -- what comes -------------------------------------------------------------------------------------------------
    def receive(self, route: bytes, frames: Sequence[bytes], now: float, key: str | None = None) -> None:
        """Takes a message from a connection; never raises, and never touches another worker's steps."""
        if self._blocked.has_route(route):
            return
        worker = self._routes.get(route)
        try:
            kind, session = envelope(frames)
            if kind != "hello" and (worker is None or not worker.session or session != worker.session):
                if kind not in ("error", "bye"):
                    self._refuse(route, Error("no_session", "say hello"), session)
                return
            message = read(kind, session, frames[2], worker.codec if worker is not None else JSON, lazily=True)
        except UnknownKind as error:
            self._refuse(route, Error("unknown_message", str(error)), error.session)
            return
        except OverLimit as error:
            self._block(route, worker, str(error)[:200], now)
            return
        except Malformed as error:
            self.malformed += 1
            self._refuse(route, Error("malformed", str(error)[:200]), worker.session if worker is not None else "")
            if worker is not None:
                worker.session = ""
            return
        if isinstance(message, Hello):
            self._on_hello(route, message, now, key)
        elif worker is not None:
            worker.last_seen = now
            self._on_message(worker, message)

    def _block(self, route: bytes, worker: WorkerEntry | None, reason: str, now: float) -> None:
        """Ignores this connection, and suspends its key: the next message like this one would cost as much."""
        self.malformed += 1
        self._blocked.add(route, None if worker is None else worker.key, now)
        error = Error("over_limit", reason, retry=False)
        if worker is None:
            self._refuse(route, error, "")
        else:
            self.expel(worker, reason, error)

    def _on_hello(self, route: bytes, hello: Hello, now: float, key: str | None) -> None:
        before, there = self.workers.get(hello.worker_id), self._routes.get(route)
        if there is not None and there.id != hello.worker_id:
            # One connection, one worker: a connection of many could fill the hub alone.
            self._refuse(route, Error("bad_hello", f"this is the connection of worker {there.id}", retry=False), "")
            return
        if self._blocked.has_key(key, now):
            self._refuse(route, Error("over_limit", f"this key is not let in for {SUSPENSION_SECONDS:.0f} s"), "")
            return
        if before is not None and hello.seq <= before.hello.seq:
            # Received before, or overtaken by a later one: what it lists is out of date.
            if before.session and (before.route, before.hello.seq) == (route, hello.seq):
                self._put(route, pack(self._welcome_to(before), before.session))
            return
        if before is not None and before.key != key and not before.bound:
            # The database has not confirmed yet which key this id belongs to.
            self._refuse(route, Error("no_session", "come again soon"), "")
            return
        refusal = self._hello_check.refusal(hello, key, before.key if before is not None else key)
        if refusal is not None:
            self._refuse(route, refusal, "")
            return
        codec = next(each for each in hello.codecs if each in self.facts.codecs)
        worker = WorkerEntry(
            hello=hello, route=route, key=key, last_seen=now, codec=codec, credits=hello.credits, finished=OrderedDict()
        )
        if before is not None:
            self._routes.pop(before.route, None)
            worker.succeed(before)
        self.workers[hello.worker_id] = self._routes[route] = worker
        self._reconcile(worker, {held.token for held in hello.in_flight})
        worker.set_foreign(held.token for held in hello.in_flight)
        unknown = tuple(held for held in hello.in_flight if held.token in worker.foreign)
        self.events.append(HelloReceived(worker, unknown))

    def _reconcile(self, worker: WorkerEntry, listed: Set[str]) -> None:
        unseen, lost = worker.reconcile(listed)
        if unseen:
            self.events.append(StepsReturned(worker, unseen, "it did not reach its worker"))
        if lost:
            self.events.append(StepsLost(worker, lost, "its worker does not have it any more"))

    def _on_message(self, worker: WorkerEntry, message: Message) -> None:
        match message:
            case StepResults():
                self._on_results(worker, message.results)
            case Received():
                self._on_received(worker, message.tokens)
            case Heartbeat():
                self._on_heartbeat(worker, message)
            case Credit():
                if message.seq > worker.seq:
                    worker.seq, worker.credits = message.seq, message.credits
                    if message.concurrency:
                        worker.hello = msgspec.structs.replace(worker.hello, concurrency=message.concurrency)
                    self.events.append(CapacityChanged(worker))
            case Start():
                self._on_start(worker, message)
            case Log():
                self._on_log(worker, message)
            case Progress():
                if (sent_step := worker.out.get(message.token)) is not None:
                    self.events.append(ProgressReceived(worker, sent_step.step, message))
            case Bye():
                # It holds nothing any more, so what is still out never reached it.
                self._reconcile(worker, set())
                self._send(worker, Bye("bye"))
                self._remove_worker(worker, message.reason or "it sent bye", graceful=True)
            case Error():
                pass
            case _:
                name = type(message).__name__.lower()
                self._send(worker, Error("unknown_message", f"{name} is not for a hub"))

    def _on_received(self, worker: WorkerEntry, tokens: Sequence[str]) -> None:
        withdrawn: list[str] = []
        for token in tokens:
            if (sent_step := worker.out.get(token)) is not None:
                sent_step.received = True
                sent_step.receipts += 1
                if sent_step.withdrawn and sent_step.receipts >= sent_step.sends:
                    sent_step.withdrawn = False
                    withdrawn.append(token)
        if withdrawn:
            self.events.append(StepsWithdrawn(worker, tuple(withdrawn)))

    def _on_results(self, worker: WorkerEntry, results: Sequence[StepResult]) -> None:
        mine: list[StepResult] = []
        elsewhere: list[StepResult] = []
        again: list[str] = []
        not_given: list[str] = []
        out, unacknowledged, finished = worker.out, worker.unacknowledged, worker.finished
        for result in results:
            token = result.metadata.token
            if token in unacknowledged:
                continue
            if token in finished:
                again.append(token)
            elif (sent_step := out.pop(token, None)) is not None:
                unacknowledged[token] = sent_step
                mine.append(result)
            elif token in worker.foreign:
                elsewhere.append(result)
            else:
                not_given.append(token)
        if not_given:
            what = f"{len(not_given)} results are of steps that were not given to this worker"
            self._send(worker, Error("not_yours", what, tokens=_reply_tokens(not_given)))
        if again:
            self._send(worker, Ack(tuple(again)))
        if mine:
            self.events += [ResultsReceived(worker, tuple(mine)), CapacityChanged(worker)]
        if elsewhere:
            self.events.append(ForeignResultsReceived(worker, tuple(elsewhere)))

    def _on_heartbeat(self, worker: WorkerEntry, message: Heartbeat) -> None:
        self._send(worker, Heartbeat(seq=message.seq, keep=worker.keep, hubs=self.facts.hubs))
        if message.seq <= worker.seq:
            return
        if worker.drain_reason is not None and message.credits:
            self._send(worker, Drain(worker.drain_reason))
        changed = worker.credits != message.credits
        worker.seq, worker.credits = message.seq, message.credits
        listed = {held.token: held.state for held in message.in_flight}
        worker.refresh(listed, self.facts.lease_ms / 1000)
        returned = worker.take_forgotten()
        for token, reason in worker.still_cancelled(listed):
            self._send(worker, Cancel((token,), reason))
        lost = worker.take_missed(MAX_MISSED_HEARTBEATS)
        worker.set_foreign(listed)
        if lost:
            self.events.append(StepsLost(worker, lost, "its worker does not know of it"))
        for reason, steps in returned.items():
            self.events.append(StepsReturned(worker, tuple(steps), reason))
        if any(sent_step.is_waiting for sent_step in worker.out.values()):
            self.events.append(StepsWaiting(worker))
        if changed or lost or returned:
            self.events.append(CapacityChanged(worker))

    def _on_start(self, worker: WorkerEntry, message: Start) -> None:
        here: list[str] = []
        gone: list[str] = []
        for token in message.tokens:
            (here if token in worker.out or token in worker.foreign else gone).append(token)
            # A request to start shows that the step was received.
            if (sent_step := worker.out.get(token)) is not None:
                sent_step.received = True
        if here:
            self.events.append(StartRequested(worker, tuple(here)))
        if gone:
            self._send(worker, Started((), _reply_tokens(gone)))

    def _on_log(self, worker: WorkerEntry, message: Log) -> None:
        token, first, lines = message.token, message.offset, message.lines
        sent_step = worker.out.get(token) or worker.unacknowledged.get(token)
        if sent_step is None and token not in worker.foreign:
            self.logged(worker, token, first + len(lines))
            return
        # What another hub has received, or this one before it was restarted, is not known here.
        if sent_step is not None and (sent_step.lines or not sent_step.again):
            # Lines that follow on some which are not here are left out: they come again, together.
            lines = lines[sent_step.lines - first :] if first <= sent_step.lines else ()
            first = sent_step.lines
        if sent_step is not None:
            sent_step.lines = first + len(lines)
        self.events.append(LinesReceived(worker, token, first, lines))

    def _remove_worker(self, worker: WorkerEntry, reason: str, *, graceful: bool = False) -> None:
        del self.workers[worker.id]
        self._routes.pop(worker.route, None)
        worker.session = ""
        arrived = tuple(sent_step.step for sent_step in worker.out.values())
        worker.out = {}
        if arrived:
            self.events.append(StepsLost(worker, arrived, f"its worker is gone: {reason}"))
        self.events.append(WorkerLeft(worker, reason, graceful))


def _reply_tokens(tokens: Sequence[str]) -> tuple[str, ...]:
    """Returns the unknown tokens that one answer names: a bounded number, since a sender of many need not read the
    answers, and none that no hub would give. The worker repeats the others."""
    return tuple(token for token in tokens[:MAX_REPLY_TOKENS] if len(token) <= MAX_TOKEN_LENGTH)
