"""What does a worker do all day? It takes what its hubs give, runs it, and answers, in one thread that has the sockets.

Nothing is asked for on a timer while there is work: every round takes all that has come in, begins what may begin, and
says all that is new in as few messages as there are batches.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from math import inf
from typing import Any

import zmq

from turnout.bodies.attempt import Key
from turnout.bodies.capture import capture
from turnout.errors import WorkerRefused
from turnout.wire.documents import StepResult
from turnout.wire.frames import JSON, MSGPACK
from turnout.wire.holdings import Holding, Holdings
from turnout.wire.link import DrainAsked, Link, LinkState, Parted, Reconnect, Stop
from turnout.wire.messages import VERSION, Hello, Progress
from turnout.worker.attempts import Attempts
from turnout.worker.connection import Connection, Trace
from turnout.worker.figures import Figures, HubFigures
from turnout.worker.handlers import Handlers
from turnout.worker.saying import Spoken, progress_in
from turnout.worker.settings import WorkerSettings

log = logging.getLogger("turnout.worker")

TICK = 0.2
"""Seconds between two looks at everything that is due by time: heartbeats, repetitions, lines."""
FAREWELL = 1.0
"""Seconds that a hub has to answer bye."""
MOST_UNACKNOWLEDGED = 1_000
"""With so many results that no hub has acknowledged, nothing more is asked for until half of them are."""
MOST_DISCOVERED = 64
"""Connections to hubs that only other hubs have named."""
SHUNNED = 60.0
"""Seconds after which such a hub, having given no answer, is tried again."""


class Worker:
    """``run`` returns when the worker was told to stop and has; ``stop`` may be called from anywhere."""

    def __init__(self, handlers: Handlers, settings: WorkerSettings, *, trace: Trace | None = None) -> None:
        settings.check()
        self.settings = settings
        self.worker_id = uuid.uuid4().hex
        self._trace = trace
        self._hello = Hello(
            versions=(VERSION,),
            worker_id=self.worker_id,
            seq=0,
            # JSON first: it is as quick here, and says whole numbers of any size.
            codecs=(JSON, MSGPACK),
            credits=2 * settings.concurrency,
            handlers=handlers.names,
            labels=settings.labels,
            name=settings.shown_name,
            language="python",
            sdk_version=version("turnout"),
            host=os.uname().nodename,
            pid=os.getpid(),
        )
        self._spoken = Spoken(settings.logs)
        self._holdings = Holdings()
        self._attempts = Attempts(
            handlers,
            settings.concurrency,
            processes=settings.processes,
            grace=settings.kill_grace,
            output=self._spoken if settings.logs.capture else None,
            wake=self._wake,
        )
        self._connections: list[Connection] = []
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._poller = zmq.Poller()
        self._polled: list[zmq.Socket[bytes]] = []
        self._waking, self._woken = os.pipe()
        os.set_blocking(self._waking, False)
        os.set_blocking(self._woken, False)
        self._poller.register(self._waking, zmq.POLLIN)
        self._signalled = False
        self._asked_to_stop = 0
        self._stop_by = inf
        self._said_bye = inf
        self._next_tick = -inf
        self._full = False
        self._shunned: dict[str, float] = {}
        """Addresses that are not tried until then."""
        self._ended: Counter[str] = Counter()
        self._started = time.monotonic()

    # -- from anywhere ----------------------------------------------------------------------------------------------
    def stop(self) -> None:
        """The first time: take nothing more, finish what runs, leave. The second time: leave at once."""
        self._asked_to_stop += 1
        self._wake()

    @property
    def figures(self) -> Figures:
        now = time.monotonic()
        held, waiting = len(self._holdings), len(self._holdings.waiting)
        running = len(self._attempts)
        return Figures(
            worker_id=self.worker_id,
            name=self._hello.name,
            uptime_seconds=now - self._started,
            draining=self._asked_to_stop > 0,
            concurrency=self.settings.concurrency,
            running=running,
            stuck=self._attempts.stuck,
            waiting=waiting,
            unacknowledged=max(0, held - waiting - running),
            ended=dict(self._ended),
            hubs=tuple(
                HubFigures(
                    address=each.address,
                    state=each.link.state.value,
                    in_contact=each.link.in_contact(now),
                    credits=each.link.credits,
                    sent=each.sent,
                    received=each.received,
                    reconnects=each.reconnects,
                    malformed=each.link.malformed,
                )
                for each in tuple(self._connections)
            ),
        )

    def _wake(self) -> None:
        # The flag is cleared before anything is looked at, so what came while it was set is always seen.
        if not self._signalled:
            self._signalled = True
            with contextlib.suppress(OSError):
                os.write(self._woken, b".")

    # -- life -------------------------------------------------------------------------------------------------------
    def run(self) -> bool:
        """Work until told to stop. Whether everything that had begun was finished and told. Raises WorkerRefused."""
        end_capture = capture() if self.settings.logs.capture else lambda: None
        before = self._take_signals()
        for address in self.settings.connect:
            self._connect(address, self._started)
        try:
            while not self._over():
                self._round(self._poll())
            return not self._holdings
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            self._attempts.stop(0.0)
            for each in self._connections:
                each.leave()
            self._context.destroy(linger=100)
            end_capture()

    def _take_signals(self) -> dict[int, Any]:
        if threading.current_thread() is not threading.main_thread():
            return {}
        return {number: signal.signal(number, lambda *_: self.stop()) for number in (signal.SIGTERM, signal.SIGINT)}

    def _over(self) -> bool:
        links = [each.link for each in self._connections]
        if links and all(link.state is LinkState.REFUSED for link in links):
            each = self._connections[0]
            raise WorkerRefused(f"hub {each.address} refuses this worker: {each.link.refusal}", hub=each.address)
        if not self._asked_to_stop:
            return False
        now = time.monotonic()
        if self._asked_to_stop > 1 or now >= self._stop_by:
            return True
        if len(self._holdings):
            return False
        if self._said_bye == inf:
            self._said_bye = now
            for link in links:
                link.bye("drained")
            self._flush()
        return now - self._said_bye >= FAREWELL or not any(link.state is LinkState.OPEN for link in links)

    # -- a round ----------------------------------------------------------------------------------------------------
    def _poll(self) -> dict[object, int]:
        left = max(0.0, self._next_tick - time.monotonic())
        return dict(self._poller.poll(int(left * 1000) + 1))

    def _round(self, ready: dict[object, int]) -> None:
        now = time.monotonic()
        if self._waking in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self._waking, 4096)
            self._signalled = False
        for each in tuple(self._connections):
            if each.monitor in ready:
                each.watch()
            if each.socket in ready:
                each.receive(now)
        if self._asked_to_stop:
            self._drain(now)
        self._act(now)
        self._take_results()
        self._begin(now)
        self._tell(now)
        if now >= self._next_tick:
            self._tick(now)
        self._flush()

    def _take_results(self) -> None:
        for key, result in self._attempts.ended():
            if not self._spoken.silent:
                self._spoken.take_last(key, self._say)
            self._attempts.let_go(key)
            self._finish(result)

    def _begin(self, now: float) -> None:
        waiting = self._holdings.waiting
        if not waiting:
            return
        if self._asked_to_stop:
            for token in tuple(waiting):
                self._holdings.give_back(token, "the worker is stopping")
            return
        free = self._attempts.free
        if free <= 0 and self._attempts.stuck < self.settings.concurrency:
            return
        chosen: list[Holding] = []
        contacts = {each.link.hub: each.link.in_contact(now) for each in self._connections}
        for holding in tuple(waiting.values()):
            if holding.overdue(now):
                self._holdings.give_back(holding.token, "its deadline had passed before it could begin")
            elif self._attempts.stuck >= self.settings.concurrency:
                self._holdings.give_back(holding.token, "all threads are held by bodies that do not return")
            elif len(chosen) >= free:
                break
            elif holding.granted and contacts.get(holding.hub) and not self._attempts.busy_with(holding.step):
                chosen.append(holding)
        for refused in self._attempts.begin([self._holdings.begin(each.token) for each in chosen]):
            self._finish(refused)

    def _tell(self, now: float) -> None:
        news = self._holdings.news()
        if news:
            for each in self._connections:
                mine = [holding for holding in news if holding.hub == each.link.hub]
                if mine:
                    each.link.tell(mine, now)

    def _flush(self) -> None:
        for each in self._connections:
            each.flush()

    def _finish(self, result: StepResult) -> None:
        self._ended[result.metadata.outcome or result.status] += 1
        self._holdings.finish(result.token, result)

    def _say(self, key: Key, stream: str, text: str) -> None:
        token = self._attempts.token_of(key)
        if token is None:
            return
        progress = progress_in(stream, text)
        if progress is None:
            self._holdings.say(token, stream, text)
            return
        holding = self._holdings.table.get(token)
        for each in self._connections:
            if holding is not None and each.link.hub == holding.hub:
                each.link.progress(Progress(token, progress.done, progress.total, progress.message))

    # -- what the links want ----------------------------------------------------------------------------------------
    def _act(self, now: float) -> None:
        for each in tuple(self._connections):
            actions, each.link.actions = each.link.actions, []
            for action in actions:
                match action:
                    case Stop():
                        self._attempts.cancel(action.token)
                    case Reconnect():
                        self._lost(each, now, action.reason)
                    case DrainAsked():
                        log.info("hub %s asks this worker to leave: %s", each.address, action.reason)
                        self._asked_to_stop = max(1, self._asked_to_stop)
                        self._drain(now)
                    case Parted():
                        self._parted(each, now, action.reason)

    def _lost(self, connection: Connection, now: float, reason: str) -> None:
        connection.flush()
        connection.come_back(now, reason)
        self._register()
        # Whoever takes over what that hub gave hears at once that it goes on here.
        for each in self._connections:
            each.link.beat(now)

    def _parted(self, connection: Connection, now: float, reason: str) -> None:
        if connection.link.state is LinkState.REFUSED:
            log.error("hub %s refuses this worker: %s", connection.address, reason)
            connection.close()
            self._register()
        elif self._said_bye == inf:
            self._lost(connection, now, f"it said bye: {reason}")

    def _drain(self, now: float) -> None:
        if self._stop_by == inf:
            self._stop_by = now + self.settings.grace
            log.info("stopping: %d steps run, and have %g s to finish", len(self._attempts), self.settings.grace)
            self._share()

    # -- by time ----------------------------------------------------------------------------------------------------
    def _tick(self, now: float) -> None:
        if not self._spoken.silent:
            self._spoken.take(self._say)
        for each in tuple(self._connections):
            if each.open_if_due(self._context, now):
                self._register()
            elif each.unanswered(now):
                self._give_up(each, now)
            each.link.tick(now)
            if each.link.state is LinkState.OPEN:
                each.welcomed()
        self._discover(now)
        self._give_up_orphans(now)
        self._act(now)
        self._share()
        self._next_tick = now + self._interval()

    def _interval(self) -> float:
        """Short enough for what the hubs want, however often that is."""
        wanted = [
            min(each.link.welcome.heartbeat_ms, each.link.welcome.resend_ms) / 4000
            for each in self._connections
            if each.link.welcome is not None
        ]
        return max(0.01, min([TICK, *wanted]))

    def _share(self) -> None:
        """Divide the places among the hubs that answer."""
        links = [each.link for each in self._connections if each.link.state is LinkState.OPEN]
        if not links:
            return
        places = self.settings.concurrency - self._attempts.stuck
        unacknowledged = len(self._holdings) - len(self._holdings.waiting) - len(self._attempts)
        self._full = unacknowledged >= (MOST_UNACKNOWLEDGED // 2 if self._full else MOST_UNACKNOWLEDGED)
        total = 0 if self._asked_to_stop or self._full else 2 * max(0, places)
        share, more = divmod(total, len(links))
        for number, link in enumerate(links):
            link.set_credits(max(share + (number < more), min(1, total)))

    # -- hubs -------------------------------------------------------------------------------------------------------
    def _connect(self, address: str, now: float, *, discovered: bool = False) -> None:
        if any(each.address == address for each in self._connections) or now < self._shunned.get(address, -inf):
            return
        link = Link(self._hello, self._holdings, self._orphans)
        self._connections.append(Connection(address, link, self.settings, discovered=discovered, trace=self._trace))

    def _orphans(self) -> Iterator[Holding]:
        """What hubs gave that there is no session with now."""
        known = {each.link.hub for each in self._connections if each.link.state is LinkState.OPEN}
        return (holding for holding in self._holdings if holding.hub not in known)

    def _discover(self, now: float) -> None:
        for each in tuple(self._connections):
            if each.link.state is LinkState.OPEN:
                self._drop_others(each, now)
                for address in each.link.hubs if self.settings.discover and not self._asked_to_stop else ():
                    if len(self._connections) < len(self.settings.connect) + MOST_DISCOVERED:
                        self._connect(address, now, discovered=True)

    def _drop_others(self, connection: Connection, now: float) -> None:
        """Two addresses of one hub: the newer session has ended the one before, and one is enough."""
        for each in tuple(self._connections):
            if (
                each is not connection
                and each.link.hub == connection.link.hub
                and each.link.opened < connection.link.opened
            ):
                self._shunned[each.address] = inf
                self._remove(each)

    def _give_up(self, connection: Connection, now: float) -> None:
        if connection.discovered:
            self._shunned[connection.address] = now + SHUNNED
            self._remove(connection)
        else:
            self._lost(connection, now, "no answer")

    def _remove(self, connection: Connection) -> None:
        connection.close()
        self._connections.remove(connection)
        self._register()

    def _give_up_orphans(self, now: float) -> None:
        """What a hub gave that is gone does not begin here: whoever has its runs now gives it anew."""
        for holding in tuple(self._holdings.waiting.values()):
            if not any(each.link.hub == holding.hub and each.link.may_come_back(now) for each in self._connections):
                self._holdings.give_back(holding.token, "its hub is gone")

    def _register(self) -> None:
        """Poll the sockets that there are."""
        for socket in self._polled:
            self._poller.unregister(socket)
        self._polled = [each for one in self._connections for each in (one.socket, one.monitor) if each is not None]
        for socket in self._polled:
            self._poller.register(socket, zmq.POLLIN)
