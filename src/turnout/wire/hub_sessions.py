"""How does a hub talk to its workers? All its sessions without a socket: frames and time in, frames and events out."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence, Set
from math import inf

import msgspec

from turnout.wire.batching import MessageWriter, NotEncodable, parcels
from turnout.wire.documents import Step, StepBatch, StepResult, StepResults
from turnout.wire.frames import JSON, UnknownKind, envelope, pack, read
from turnout.wire.handshake import Greeting, HubFacts
from turnout.wire.hub_events import (
    CapacityChanged,
    Ended,
    Event,
    ForeignResultsReceived,
    HelloReceived,
    LinesReceived,
    ProgressReceived,
    StartRequested,
    StepNotEncodable,
    StepsLost,
    StepsOverdue,
    StepsReturned,
    StepsWaiting,
    Withdrawn,
    WorkerLeft,
)
from turnout.wire.limits import MAX_REPLY_TOKENS, MAX_TOKEN_LENGTH, MAX_TOKENS
from turnout.wire.messages import (
    VERSION,
    Ack,
    Bye,
    Cancel,
    Credit,
    Drain,
    Error,
    Heartbeat,
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
from turnout.wire.worker_entries import SentStep, WorkerEntry

MAX_TICK_GAP = 1.0
"""Seconds between two ticks that are too long for a hub that is well, whatever its lease is."""
MAX_MISSED_HEARTBEATS = 2
"""A step that was received and is missing in so many heartbeats in a row is lost."""
MAX_BLOCKED = 10_000
SUSPENSION_SECONDS = 30.0
"""Seconds for which a key is not let in whose worker sent a message over the limit."""
LONG = 2.0
"""Seconds after which a step that waits at its worker might better be elsewhere."""


class HubProtocol:
    """The hub's side of all sessions. Whoever owns the socket empties ``outbox`` (route, frames) and ``events``."""

    def __init__(self, facts: HubFacts, new_id: Callable[[], str], greeting: Greeting | None = None) -> None:
        self.facts = facts
        self.workers: dict[str, WorkerEntry] = {}
        self.malformed = 0
        self.outbox: list[tuple[bytes, list[bytes]]] = []
        self.events: list[Event] = []
        self._new_id = new_id
        self._greeting = greeting or Greeting()
        self._routes: dict[bytes, WorkerEntry] = {}
        self._blocked: OrderedDict[bytes, None] = OrderedDict()
        """Connections that are not heard any more."""
        self._suspended: dict[str, float] = {}
        """Keys that nobody is let in with, and until when."""
        self._batches = 0
        self._ticked = -inf

    # -- what the owner wishes --------------------------------------------------------------------------------------
    def welcome(self, worker: WorkerEntry, release: Sequence[str] = ()) -> None:
        """Let in a worker that was ``HelloReceived``; ``release`` are tokens that nobody waits for."""
        if self.workers.get(worker.id) is not worker or worker.session:
            return
        worker.session, worker.bound = self._new_id(), True
        worker.foreign.difference_update(release)
        over = [held.token for held in worker.hello.in_flight if held.token in worker.finished]
        worker.released = (*release, *over)
        self._put(worker.route, pack(self._welcome_to(worker), worker.session))
        for reason in {given.taken_back for given in worker.out.values() if given.withdrawn}:
            # What was said in the session before may not have been heard.
            tokens = [token for token, given in worker.out.items() if given.withdrawn and given.taken_back == reason]
            self.withdraw(worker, tokens, reason)
        self.events.append(CapacityChanged(worker))

    def give(self, worker: WorkerEntry, steps: Sequence[Step], now: float, again: Set[str] = frozenset()) -> None:
        """Send steps, no more than the worker has room for. ``again``: tokens that it may have from a hub that is gone.
        A token begins once, so whatever became of the first message, the worker has each of them then, or had it."""
        assert 0 < len(steps) <= worker.free, f"{len(steps)} steps for {worker.free} places of {worker.id}"
        self._batches += 1
        batch_id = f"batch_{worker.session[:8]}_{self._batches}"
        for step in steps:
            worker.out[step.token] = SentStep(step=step, batch_id=batch_id, sent=now, again=step.token in again)
        self._send_steps(worker, batch_id, steps)

    def acknowledge(self, worker: WorkerEntry, tokens: Sequence[str]) -> None:
        """These results are durable, or nobody wants them."""
        for token in tokens:
            worker.finish(token)
        for start in range(0, len(tokens), MAX_TOKENS):
            self._send(worker, Ack(tuple(tokens[start : start + MAX_TOKENS])))

    def answer_start(self, worker: WorkerEntry, granted: Sequence[str], denied: Sequence[str]) -> None:
        for token in denied:
            worker.finish(token)
        self._send(worker, Started(tuple(granted), tuple(denied)))

    def cancel(self, worker: WorkerEntry, tokens: Sequence[str], reason: str) -> None:
        """Stop these; it is said again with each heartbeat that shows that they go on."""
        for token in tokens:
            if (given := worker.out.get(token)) is not None:
                given.cancelled = reason
        self._send(worker, Cancel(tuple(tokens), reason))

    def take_back(self, worker: WorkerEntry, tokens: Sequence[str], reason: str) -> None:
        """Let it forget these, unless they have begun; its next heartbeats tell."""
        for token in tokens:
            worker.out[token].taken_back = reason
        if tokens:
            self._send(worker, Started((), tuple(tokens)))

    def withdraw(self, worker: WorkerEntry, tokens: Sequence[str], reason: str) -> None:
        """Take these back, and say with ``Withdrawn`` when the worker has heard of it. They are sent once more: it
        answers that whatever became of them, and a token that it had does not begin again."""
        self.take_back(worker, tokens, reason)
        by_batch: dict[str, list[Step]] = {}
        for given in (worker.out[token] for token in tokens):
            given.withdrawn = True
            given.sends += 1
            by_batch.setdefault(given.batch_id, []).append(given.step)
        for batch_id, steps in by_batch.items():
            self._send_steps(worker, batch_id, steps)

    def drain(self, worker: WorkerEntry, reason: str) -> None:
        """Let it leave; it is told again until it asks for nothing more."""
        worker.leaves = reason
        self._send(worker, Drain(reason))

    def keep(self, worker: WorkerEntry, tokens: Iterable[str]) -> None:
        """Somebody waits for these, which another hub gave: with its next heartbeat the worker hears that they are
        this hub's now."""
        worker.kept = worker.foreign.intersection(tokens)

    def disown(self, worker: WorkerEntry) -> None:
        """What this hub gave it belongs to others from now on: as if another hub had given it."""
        worker.foreign.update(worker.out)
        worker.out.clear()

    def forget(self, worker: WorkerEntry) -> None:
        """It cannot be let in now: let it say hello again, as if it had not."""
        if self.workers.get(worker.id) is worker and not worker.session:
            self._refuse(worker.route, Error("no_session", "come again soon"), "")
            worker.hello = msgspec.structs.replace(worker.hello, seq=worker.hello.seq - 1)

    def expel(self, worker: WorkerEntry, reason: str, error: Error | None = None) -> None:
        """What it holds is given to others; it may come back, and is told then, unless the error is final."""
        if self.workers.get(worker.id) is worker:
            self._refuse(worker.route, error or Error("no_session", reason), worker.session)
            self._part(worker, reason)

    def close(self, reason: str) -> None:
        """The hub goes; the workers keep what they have and look for another."""
        for worker in self.workers.values():
            self._send(worker, Bye(reason))

    def worker_at(self, route: bytes) -> WorkerEntry | None:
        """Who is at the other end of this connection, if anybody is known there."""
        return self._routes.get(route)

    # -- time -------------------------------------------------------------------------------------------------------
    def tick(self, now: float) -> None:
        """Notice who has gone silent, and repeat what was not received."""
        resend, lease = self.facts.resend_ms / 1000, self.facts.lease_ms / 1000
        away, self._ticked = now - self._ticked, now
        if away < max(MAX_TICK_GAP, lease / 2):
            away = 0.0
        for worker in list(self.workers.values()):
            # What was said while the hub itself was held up is still to be heard.
            worker.heard = min(now, worker.heard + away)
            if now - worker.heard > lease:
                self._part(worker, f"silent for {now - worker.heard:.1f} s")
                continue
            if not worker.session:
                continue
            late: dict[str, list[Step]] = {}
            overdue: list[Step] = []
            for given in worker.out.values():
                if not given.received and now - given.sent >= resend:
                    given.sent = now
                    given.sends += 1
                    late.setdefault(given.batch_id, []).append(given.step)
                if given.ends_by is not None:
                    given.ends_by += away
                    if now >= given.ends_by:
                        given.ends_by = None
                        overdue.append(given.step)
            if overdue:
                self.cancel(worker, [step.token for step in overdue], "out of time")
                self.events.append(StepsOverdue(worker, tuple(overdue)))
            for batch_id, steps in late.items():
                self._send_steps(worker, batch_id, steps)

    # -- what comes -------------------------------------------------------------------------------------------------
    def receive(self, route: bytes, frames: Sequence[bytes], now: float, key: str | None = None) -> None:
        """Take a message from a connection; never raises, and never moves another worker's work."""
        if route in self._blocked:
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
            self._block(route, worker, str(error), now)
            return
        except Malformed as error:
            self.malformed += 1
            self._refuse(route, Error("malformed", str(error)[:200]), worker.session if worker is not None else "")
            if worker is not None:
                worker.session = ""
            return
        if isinstance(message, Hello):
            self._hello(route, message, now, key)
        elif worker is not None:
            worker.heard = now
            self._take(worker, message)

    def _block(self, route: bytes, worker: WorkerEntry | None, reason: str, now: float) -> None:
        """Hear nothing more over this connection, and for a while let nobody in with its key: the next message like
        this one would cost as much as the first."""
        self.malformed += 1
        self._blocked[route] = None
        while len(self._blocked) > MAX_BLOCKED:
            self._blocked.popitem(last=False)
        error = Error("over_limit", reason[:200], retry=False)
        if worker is None:
            self._refuse(route, error, "")
            return
        if worker.key is not None:
            self._suspended[worker.key] = now + SUSPENSION_SECONDS
        self.expel(worker, reason[:200], error)

    def _is_suspended(self, key: str | None, now: float) -> bool:
        if key is None or key not in self._suspended:
            return False
        if now < self._suspended[key]:
            return True
        del self._suspended[key]
        return False

    def _hello(self, route: bytes, hello: Hello, now: float, key: str | None) -> None:
        before, there = self.workers.get(hello.worker_id), self._routes.get(route)
        if there is not None and there.id != hello.worker_id:
            # One connection, one worker: whoever could be many would fill the hub by itself.
            self._refuse(route, Error("bad_hello", f"this is the connection of worker {there.id}", retry=False), "")
            return
        if self._is_suspended(key, now):
            self._refuse(route, Error("over_limit", f"this key is not let in for {SUSPENSION_SECONDS:.0f} s"), "")
            return
        if before is not None and hello.seq <= before.hello.seq:
            # LinesReceived before, or overtaken by a later one: what it lists is not so any more.
            if before.session and (before.route, before.hello.seq) == (route, hello.seq):
                self._put(route, pack(self._welcome_to(before), before.session))
            return
        if before is not None and before.key != key and not before.bound:
            # Whose id it is, the database has not said yet.
            self._refuse(route, Error("no_session", "come again soon"), "")
            return
        refusal = self._greeting.refusal(hello, key, before.key if before is not None else key)
        if refusal is not None:
            self._refuse(route, refusal, "")
            return
        codec = next(each for each in hello.codecs if each in self.facts.codecs)
        worker = WorkerEntry(
            hello=hello, route=route, key=key, heard=now, codec=codec, credits=hello.credits, finished=OrderedDict()
        )
        if before is not None:
            self._routes.pop(before.route, None)
            before.session = ""
            worker.out, worker.unacknowledged, worker.finished = before.out, before.unacknowledged, before.finished
            worker.bound = before.bound
        self.workers[hello.worker_id] = self._routes[route] = worker
        listed = {held.token for held in hello.in_flight}
        self._set_right(worker, listed)
        known = (worker.out, worker.unacknowledged, worker.finished)
        unknown = tuple(held for held in hello.in_flight if not any(held.token in some for some in known))
        worker.foreign = {held.token for held in unknown}
        self.events.append(HelloReceived(worker, unknown))

    def _set_right(self, worker: WorkerEntry, listed: set[str]) -> None:
        """What was given and is not listed never arrived: an older ``steps`` is refused by the new session. What was
        received and is not there any more, another hub has heard of, or nobody; the same for what another hub may have
        given before."""
        missing = [given for token, given in worker.out.items() if token not in listed]
        lost = tuple(given.step for given in missing if given.received or given.again)
        unseen = tuple(given.step for given in missing if not (given.received or given.again))
        for given in worker.out.values():
            given.received, given.sends, given.receipts = True, 0, 0
        for given in missing:
            del worker.out[given.step.token]
        if unseen:
            self.events.append(StepsReturned(worker, unseen, "it did not reach its worker"))
        if lost:
            self.events.append(StepsLost(worker, lost, "its worker does not have it any more"))

    def _take(self, worker: WorkerEntry, message: Message) -> None:
        match message:
            case StepResults():
                self._results(worker, message.results)
            case Received():
                self._received(worker, message.tokens)
            case Heartbeat():
                self._send_heartbeat(worker, message)
            case Credit():
                if message.seq > worker.seq:
                    worker.seq, worker.credits = message.seq, message.credits
                    self.events.append(CapacityChanged(worker))
            case Start():
                self._start(worker, message)
            case Log():
                self._log(worker, message)
            case Progress():
                if (given := worker.out.get(message.token)) is not None:
                    self.events.append(ProgressReceived(worker, given.step, message))
            case Bye():
                # It holds nothing any more, so what is still out never reached it.
                self._set_right(worker, set())
                self._send(worker, Bye("bye"))
                self._part(worker, message.reason or "it said bye", graceful=True)
            case Error():
                pass
            case _:
                name = type(message).__name__.lower()
                self._send(worker, Error("unknown_message", f"{name} is not for a hub"))

    def _received(self, worker: WorkerEntry, tokens: Sequence[str]) -> None:
        heard: list[str] = []
        for token in tokens:
            if (given := worker.out.get(token)) is not None:
                given.received = True
                given.receipts += 1
                if given.withdrawn and given.receipts >= given.sends:
                    given.withdrawn = False
                    heard.append(token)
        if heard:
            self.events.append(Withdrawn(worker, tuple(heard)))

    def _results(self, worker: WorkerEntry, results: Sequence[StepResult]) -> None:
        mine: list[StepResult] = []
        elsewhere: list[StepResult] = []
        again: list[str] = []
        not_given: list[str] = []
        for result in results:
            token = result.token
            if token in worker.unacknowledged:
                continue
            if token in worker.finished:
                again.append(token)
            elif (given := worker.out.pop(token, None)) is not None:
                worker.unacknowledged[token] = given
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
            self.events += [Ended(worker, tuple(mine)), CapacityChanged(worker)]
        if elsewhere:
            self.events.append(ForeignResultsReceived(worker, tuple(elsewhere)))

    def _send_heartbeat(self, worker: WorkerEntry, message: Heartbeat) -> None:
        kept = worker.kept.union(token for token, given in worker.out.items() if given.again)
        self._send(worker, Heartbeat(seq=message.seq, keep=tuple(sorted(kept)), hubs=self.facts.hubs))
        if message.seq <= worker.seq:
            return
        if worker.leaves is not None and message.credits:
            self._send(worker, Drain(worker.leaves))
        changed = worker.credits != message.credits
        worker.seq, worker.credits = message.seq, message.credits
        listed = {held.token: held.state for held in message.in_flight}
        lost: list[Step] = []
        back: dict[str, list[Step]] = {}
        for token, given in list(worker.out.items()):
            given.listed = given.listed or token in listed
            given.received = given.received or given.listed
            given.missed = 0 if token in listed or not given.received else given.missed + 1
            given.waits = listed.get(token) == "waiting" and worker.heard - given.sent >= LONG
            if listed.get(token) == "running" and not given.running:
                given.runs(worker.heard, self.facts.lease_ms / 1000)
                given.taken_back = ""
            if given.forgotten:
                worker.finish(token)
                back.setdefault(given.taken_back, []).append(given.step)
                continue
            if given.cancelled and listed.get(token, "done") != "done":
                self._send(worker, Cancel((token,), given.cancelled))
            if given.missed >= MAX_MISSED_HEARTBEATS:
                del worker.out[token]
                lost.append(given.step)
        known = (worker.out, worker.unacknowledged, worker.finished)
        worker.foreign = {token for token in listed if not any(token in some for some in known)}
        worker.kept &= worker.foreign
        if lost:
            self.events.append(StepsLost(worker, tuple(lost), "its worker does not know of it"))
        for reason, steps in back.items():
            self.events.append(StepsReturned(worker, tuple(steps), reason))
        if any(given.waits for given in worker.out.values()):
            self.events.append(StepsWaiting(worker))
        if changed or lost or back:
            self.events.append(CapacityChanged(worker))

    def _start(self, worker: WorkerEntry, message: Start) -> None:
        here: list[str] = []
        gone: list[str] = []
        for token in message.tokens:
            (here if token in worker.out or token in worker.foreign else gone).append(token)
            # Who asks for leave has it, whatever became of the word that it was received.
            if (given := worker.out.get(token)) is not None:
                given.received = True
        if here:
            self.events.append(StartRequested(worker, tuple(here)))
        if gone:
            self._send(worker, Started((), _reply_tokens(gone)))

    def _log(self, worker: WorkerEntry, message: Log) -> None:
        given = worker.out.get(message.token) or worker.unacknowledged.get(message.token)
        if given is None:
            self._send(worker, Logged(message.token, message.offset + len(message.lines)))
            return
        # Lines that follow on some which are not here are left out: they come again, together.
        new = message.lines[given.lines - message.offset :] if message.offset <= given.lines else ()
        if new:
            given.lines = message.offset + len(message.lines)
            self.events.append(LinesReceived(worker, given.step, new))
        self._send(worker, Logged(message.token, given.lines))

    def _part(self, worker: WorkerEntry, reason: str, *, graceful: bool = False) -> None:
        del self.workers[worker.id]
        self._routes.pop(worker.route, None)
        worker.session = ""
        arrived = tuple(given.step for given in worker.out.values())
        worker.out = {}
        if arrived:
            self.events.append(StepsLost(worker, arrived, f"its worker is gone: {reason}"))
        self.events.append(WorkerLeft(worker, reason, graceful))

    # -- what goes --------------------------------------------------------------------------------------------------
    def _welcome_to(self, worker: WorkerEntry) -> Welcome:
        return self.facts.welcome(worker.session, worker.hello.seq, worker.codec, worker.released)

    def _send(self, worker: WorkerEntry, message: Message) -> None:
        if worker.session:
            self._put(worker.route, pack(message, worker.session, worker.codec))

    def _send_steps(self, worker: WorkerEntry, batch_id: str, steps: Sequence[Step]) -> None:
        def batch(some: Sequence[Step]) -> StepBatch:
            return StepBatch(batch_id=batch_id, protocol_version=VERSION, steps=tuple(some))

        parcel = MessageWriter(worker.session, worker.codec, self.facts.max_message_bytes)
        for some, frames in parcels(steps, batch, parcel):
            if isinstance(frames, NotEncodable):
                (step,) = some
                del worker.out[step.token]
                self.events += [StepNotEncodable(worker, step, frames.kind, frames.reason), CapacityChanged(worker)]
            else:
                self._put(worker.route, frames)

    def _refuse(self, route: bytes, error: Error, session: str) -> None:
        self._put(route, pack(error, session))

    def _put(self, route: bytes, frames: list[bytes]) -> None:
        self.outbox.append((route, frames))


def _reply_tokens(tokens: Sequence[str]) -> tuple[str, ...]:
    """Tokens that are not known here, as an answer names them: some at a time, since who sends many need not read the
    answers, and none that no hub would give. The others are asked about again."""
    return tuple(token for token in tokens[:MAX_REPLY_TOKENS] if len(token) <= MAX_TOKEN_LENGTH)
