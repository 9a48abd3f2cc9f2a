"""Which hubs does a worker talk to, and how much does each get? Those that it was told of, and those that they name."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from math import inf

import zmq

from turnout.wire.addresses import can_be_connected_to
from turnout.wire.held_steps import Holding, Holdings
from turnout.wire.messages import Hello
from turnout.wire.worker_session import Action, Link, LinkState
from turnout.worker.connection import Connection, Trace
from turnout.worker.settings import WorkerSettings
from turnout.worker.status import HubFigures

log = logging.getLogger("turnout.worker")

TICK = 0.2
"""Seconds between two looks at everything that is due by time: heartbeats, repetitions, lines."""
MAX_DISCOVERED = 64
"""Connections to hubs that only other hubs have named."""
LAST_WORDS = 1.0
"""Seconds that what was said last has to go out, to a hub that is there."""
SHUNNED = 60.0
"""Seconds after which such a hub, having given no answer, is tried again."""


class Hubs:
    """All connections of a worker. To be used by one thread; ``figures`` by any."""

    def __init__(
        self, hello: Hello, holdings: Holdings, settings: WorkerSettings, poller: zmq.Poller, trace: Trace | None
    ) -> None:
        self._hello = hello
        self._holdings = holdings
        self._settings = settings
        self._poller = poller
        self._trace = trace
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._connections: list[Connection] = []
        self._polled: list[zmq.Socket[bytes]] = []
        self._shunned: dict[str, float] = {}
        """Addresses that are not tried until then."""
        self._aliases: dict[str, str] = {}
        """Other addresses of hubs that there is a connection with, by the hub: they are not tried while it lasts."""
        self._greetings = count(1)
        self.discovering = settings.discover
        for address in settings.connect:
            self._connect(address, 0.0)
        self.share(hello.credits)

    @property
    def connections(self) -> Sequence[Connection]:
        return tuple(self._connections)

    # -- how they are -----------------------------------------------------------------------------------------------
    @property
    def open(self) -> list[Link]:
        return [each.link for each in self._connections if each.link.state is LinkState.OPEN]

    @property
    def refusal(self) -> tuple[str, str] | None:
        """The address of a hub and what it said, if none wants this worker."""
        if not all(each.link.state is LinkState.REFUSED for each in self._connections):
            return None
        return self._connections[0].address, self._connections[0].link.refusal

    def contacts(self, now: float) -> Mapping[str, float]:
        """Until when steps may begin, of the hubs that there is contact with, by the hub's id."""
        links = (each.link for each in self._connections)
        return {link.hub: link.contact_until for link in links if link.in_contact(now)}

    def interval(self) -> float:
        """Seconds until the next ``tick``: short enough for what the hubs want."""
        said = [each.link.welcome for each in self._connections if each.link.welcome is not None]
        return max(0.01, min([TICK, *(min(each.heartbeat_ms, each.resend_ms) / 4000 for each in said)]))

    def figures(self, now: float) -> tuple[HubFigures, ...]:
        return tuple(
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
        )

    # -- messages ---------------------------------------------------------------------------------------------------
    def receive(self, ready: Mapping[object, int], now: float) -> None:
        """Take all that has come."""
        for each in tuple(self._connections):
            if each.monitor in ready:
                each.watch()
            if each.socket in ready:
                each.receive(now)
            if each.link.state is LinkState.OPEN:
                # At once: what comes next may end the session, and the older of two with one hub is over already.
                each.welcomed()
                self._one_of_each(each)

    def tell(self, news: Sequence[Holding], now: float) -> None:
        """Say what is new, to each hub about its own steps."""
        for each in self._connections:
            mine = [holding for holding in news if holding.hub == each.link.hub]
            if mine:
                each.link.tell(mine, now)

    def link_of(self, hub: str) -> Link | None:
        return next((each.link for each in self._connections if each.link.hub == hub), None)

    def flush(self) -> None:
        for each in self._connections:
            each.flush()

    def actions(self) -> Iterator[tuple[Connection, Action]]:
        """What the links want done, once each."""
        for each in tuple(self._connections):
            actions, each.link.actions = each.link.actions, []
            for action in actions:
                yield each, action

    # -- connections ------------------------------------------------------------------------------------------------
    def lost(self, connection: Connection, now: float, reason: str) -> None:
        """This connection is of no use any more: another one, in a while."""
        connection.flush()
        connection.come_back(now, reason)
        for address in [each for each, hub in self._aliases.items() if hub == connection.link.hub]:
            del self._aliases[address]
            self._connect(address, now, discovered=address not in self._settings.connect)
        self._register()
        # Whoever takes over what that hub gave hears at once that it goes on here.
        for link in self.open:
            link.beat(now)

    def close(self, connection: Connection) -> None:
        connection.close()
        self._register()

    def leave(self) -> None:
        """Close all of them for good."""
        for each in self._connections:
            each.close(LAST_WORDS if each.link.state is LinkState.OPEN else 0.0)
        self._context.destroy(linger=100)

    def tick(self, now: float) -> None:
        """Open what is to be opened, and say what is due."""
        for each in tuple(self._connections):
            if each.open_if_due(self._context, now):
                self._register()
            elif each.unanswered(now):
                self._give_up(each, now)
            each.link.tick(now)
            if each.link.state is LinkState.OPEN:
                each.welcomed()
                self._one_of_each(each)
                self._discover(each.link.hubs, now)

    def share(self, places: int) -> None:
        """Divide this many places among the hubs that answer; each gets one at least, if there are any. A hub that is
        greeted is told what it gets if all come: before it could be told otherwise, it might use the whole."""
        links = self.open
        for number, link in enumerate(links):
            share, more = divmod(places, len(links))
            link.set_credits(max(share + (number < more), min(1, places)))
        for each in self._connections:
            if each.link.state is not LinkState.OPEN:
                each.link.set_credits(max(places // len(self._connections), min(1, places)))

    def gone(self, hub: str, now: float) -> bool:
        """Whether a hub is gone for good as far as can be told, while others are there to be told so."""
        others = any(link.hub != hub for link in self.open)
        link = self.link_of(hub)
        return others and (link is None or not link.may_come_back(now))

    def _connect(self, address: str, now: float, *, discovered: bool = False) -> None:
        if any(each.address == address for each in self._connections) or address in self._aliases:
            return
        if now < self._shunned.get(address, -inf):
            return
        link = Link(self._hello, self._holdings, self._orphans, self._greetings.__next__)
        self._connections.append(Connection(address, link, self._settings, discovered=discovered, trace=self._trace))

    def _orphans(self) -> Iterator[Holding]:
        """What hubs gave that there is no session with now."""
        known = {link.hub for link in self.open}
        return (holding for holding in self._holdings if holding.hub not in known)

    def _discover(self, addresses: Sequence[str], now: float) -> None:
        for address in filter(can_be_connected_to, addresses if self.discovering else ()):
            if len(self._connections) < len(self._settings.connect) + MAX_DISCOVERED:
                self._connect(address, now, discovered=True)

    def _one_of_each(self, connection: Connection) -> None:
        """Two addresses of one hub: its newer session has ended the one before, and one is enough."""
        mine = connection.link
        for each in tuple(self._connections):
            if each is not connection and each.link.hub == mine.hub and each.link.greeting < mine.greeting:
                log.info("hub %s is the same as %s", each.address, connection.address)
                self._aliases[each.address] = mine.hub
                self._remove(each)

    def _give_up(self, connection: Connection, now: float) -> None:
        if connection.discovered:
            self._shunned[connection.address] = now + SHUNNED
            self._remove(connection)
        else:
            connection.link.cut("no answer")

    def _remove(self, connection: Connection) -> None:
        connection.close()
        self._connections.remove(connection)
        self._register()

    def _register(self) -> None:
        """Poll the sockets that there are."""
        for socket in self._polled:
            self._poller.unregister(socket)
        self._polled = [each for one in self._connections for each in (one.socket, one.monitor) if each is not None]
        for socket in self._polled:
            self._poller.register(socket, zmq.POLLIN)
