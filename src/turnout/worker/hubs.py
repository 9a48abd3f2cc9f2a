"""Holds the connections of a worker to its hubs, and divides its credits among them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from math import inf

import zmq

from turnout.wire.addresses import can_be_connected_to
from turnout.wire.held_steps import HeldStep, HeldSteps
from turnout.wire.messages import Hello
from turnout.wire.worker_session import Action, SessionState, WorkerSession
from turnout.worker.connection import Connection, Trace
from turnout.worker.settings import WorkerSettings
from turnout.worker.status import HubFigures

log = logging.getLogger("turnout.worker")

TICK = 0.2
"""Seconds between two ticks, which send what is due by time: heartbeats, repetitions, lines."""
MAX_DISCOVERED = 64
"""Connections to hubs that only other hubs have named."""
CLOSE_TIMEOUT = 1.0
"""Seconds that the last messages have to go out to a connected hub."""
UNREACHABLE_BACKOFF = 60.0
"""Seconds after which such a hub, having given no answer, is retried."""


class Hubs:
    """All connections of a worker. To be used by one thread; ``figures`` by any."""

    def __init__(
        self, hello: Hello, held_steps: HeldSteps, settings: WorkerSettings, poller: zmq.Poller, trace: Trace | None
    ) -> None:
        self._hello = hello
        self._held_steps = held_steps
        self._settings = settings
        self._poller = poller
        self._trace = trace
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._connections: list[Connection] = []
        self._polled: list[zmq.Socket[bytes]] = []
        self._shunned: dict[str, float] = {}
        """The times until which addresses are not connected to."""
        self._aliases: dict[str, str] = {}
        """Other addresses of hubs that there is a connection with, by the hub: not used while it lasts."""
        self._hello_seqs = count(1)
        self.discovering = settings.discover
        for address in settings.connect:
            self._connect(address, 0.0)
        self.share(hello.credits)

    @property
    def connections(self) -> Sequence[Connection]:
        return tuple(self._connections)

    # -- how they are -----------------------------------------------------------------------------------------------
    @property
    def open(self) -> list[WorkerSession]:
        return [each.session for each in self._connections if each.session.state is SessionState.OPEN]

    @property
    def refusal(self) -> tuple[str, str] | None:
        """The address of a hub and its reason, if every hub refuses this worker."""
        if not all(each.session.state is SessionState.REFUSED for each in self._connections):
            return None
        return self._connections[0].address, self._connections[0].session.refusal

    def contacts(self, now: float) -> Mapping[str, float]:
        """Returns the times until which steps may begin, by the ids of the hubs in contact."""
        sessions = (each.session for each in self._connections)
        return {session.hub: session.contact_until for session in sessions if session.in_contact(now)}

    def interval(self) -> float:
        """Returns the seconds until the next ``tick``: a quarter of the shortest interval of any hub at most."""
        welcomes = [each.session.welcome for each in self._connections if each.session.welcome is not None]
        return max(0.01, min([TICK, *(min(each.heartbeat_ms, each.resend_ms) / 4000 for each in welcomes)]))

    def figures(self, now: float) -> tuple[HubFigures, ...]:
        return tuple(
            HubFigures(
                address=each.address,
                state=each.session.state.value,
                in_contact=each.session.in_contact(now),
                credits=each.session.credits,
                sent=each.sent,
                received=each.received,
                reconnects=each.reconnects,
                malformed=each.session.malformed,
            )
            for each in tuple(self._connections)
        )

    # -- messages ---------------------------------------------------------------------------------------------------
    def receive(self, ready: Mapping[object, int], now: float) -> None:
        """Processes all messages that have arrived."""
        for each in tuple(self._connections):
            if each.monitor in ready:
                each.watch()
            if each.socket in ready:
                each.receive(now)
            if each.session.state is SessionState.OPEN:
                # At once: what comes next may end the session, and the older of two with one hub is over already.
                each.welcomed()
                self._one_of_each(each)

    def report(self, changed: Sequence[HeldStep], now: float) -> None:
        """Reports changed steps, to each hub its own."""
        for each in self._connections:
            mine = [held_step for held_step in changed if held_step.hub == each.session.hub]
            if mine:
                each.session.report(mine, now)

    def session_of(self, hub: str) -> WorkerSession | None:
        return next((each.session for each in self._connections if each.session.hub == hub), None)

    def flush(self) -> None:
        for each in self._connections:
            each.flush()

    def actions(self) -> Iterator[tuple[Connection, Action]]:
        """Yields the actions of all sessions, once each."""
        for each in tuple(self._connections):
            actions, each.session.actions = each.session.actions, []
            for action in actions:
                yield each, action

    # -- connections ------------------------------------------------------------------------------------------------
    def lost(self, connection: Connection, now: float, reason: str) -> None:
        """Schedules another connection in place of a lost one."""
        connection.flush()
        connection.come_back(now, reason)
        for address in [each for each, hub in self._aliases.items() if hub == connection.session.hub]:
            del self._aliases[address]
            self._connect(address, now, discovered=address not in self._settings.connect)
        self._register()
        # A hub that takes over what that hub gave learns at once that it still runs here.
        for session in self.open:
            session.send_heartbeat(now)

    def close(self, connection: Connection) -> None:
        connection.close()
        self._register()

    def leave(self) -> None:
        """Closes all connections."""
        for each in self._connections:
            each.close(CLOSE_TIMEOUT if each.session.state is SessionState.OPEN else 0.0)
        self._context.destroy(linger=100)

    def tick(self, now: float) -> None:
        """Opens connections that are due, and sends messages that are due."""
        for each in tuple(self._connections):
            if each.open_if_due(self._context, now):
                self._register()
            elif each.unanswered(now):
                self._give_up(each, now)
            each.session.tick(now)
            if each.session.state is SessionState.OPEN:
                each.welcomed()
                self._one_of_each(each)
                self._discover(each.session.hubs, now)

    def share(self, slots: int) -> None:
        """Divides this many slots among the open sessions; each gets one at least, if there are any. A hello offers the
        share that is left if all hubs answer: a hub might use all of a larger one before it is corrected."""
        sessions = self.open
        for number, session in enumerate(sessions):
            share, more = divmod(slots, len(sessions))
            session.set_credits(max(share + (number < more), min(1, slots)))
        for each in self._connections:
            if each.session.state is not SessionState.OPEN:
                each.session.set_credits(max(slots // len(self._connections), min(1, slots)))

    def gone(self, hub: str, now: float) -> bool:
        """True if the hub has been silent for a lease while the session with another hub is open."""
        others = any(session.hub != hub for session in self.open)
        session = self.session_of(hub)
        return others and (session is None or not session.may_come_back(now))

    def _connect(self, address: str, now: float, *, discovered: bool = False) -> None:
        if any(each.address == address for each in self._connections) or address in self._aliases:
            return
        if now < self._shunned.get(address, -inf):
            return
        session = WorkerSession(self._hello, self._held_steps, self._orphans, self._hello_seqs.__next__)
        self._connections.append(Connection(address, session, self._settings, discovered=discovered, trace=self._trace))

    def _orphans(self) -> Iterator[HeldStep]:
        """Returns the steps of hubs without a session."""
        known = {session.hub for session in self.open}
        return (held_step for held_step in self._held_steps if held_step.hub not in known)

    def _discover(self, addresses: Sequence[str], now: float) -> None:
        for address in filter(can_be_connected_to, addresses if self.discovering else ()):
            if len(self._connections) < len(self._settings.connect) + MAX_DISCOVERED:
                self._connect(address, now, discovered=True)

    def _one_of_each(self, connection: Connection) -> None:
        """Closes the older of two connections to one hub: the newer session has ended the other."""
        mine = connection.session
        for each in tuple(self._connections):
            if each is not connection and each.session.hub == mine.hub and each.session.hello_seq < mine.hello_seq:
                log.info("hub %s is the same as %s", each.address, connection.address)
                self._aliases[each.address] = mine.hub
                self._remove(each)

    def _give_up(self, connection: Connection, now: float) -> None:
        if connection.discovered:
            self._shunned[connection.address] = now + UNREACHABLE_BACKOFF
            self._remove(connection)
        else:
            connection.session.connection_lost("no answer")

    def _remove(self, connection: Connection) -> None:
        connection.close()
        self._connections.remove(connection)
        self._register()

    def _register(self) -> None:
        """Registers the present sockets with the poller."""
        for socket in self._polled:
            self._poller.unregister(socket)
        self._polled = [each for one in self._connections for each in (one.socket, one.monitor) if each is not None]
        for socket in self._polled:
            self._poller.register(socket, zmq.POLLIN)
