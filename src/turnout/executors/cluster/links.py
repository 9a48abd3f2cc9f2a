"""Holds the connections of orchestrators to a supervisor, and divides its credits among them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from itertools import count

import msgspec

from turnout.wire.held_steps import HeldStep, HeldSteps
from turnout.wire.messages import Hello
from turnout.wire.worker_session import HubClosed, Reconnect, SessionState, Stop, WorkerSession

log = logging.getLogger("turnout.cluster")

SILENCE = 30.0
"""Seconds after which a connection that no orchestrator has used is closed. What it gave is offered to the others."""


class Link(msgspec.Struct, eq=False):
    """The connection of one orchestrator: of several, the last."""

    session: WorkerSession
    connection: int
    """Its number: an orchestrator whose call has failed makes another one with the next number."""
    ready: asyncio.Event
    """Set when there is a message for it."""
    used_at: float


class Links:
    """All connections. Used on one event loop."""

    def __init__(self, hello: Callable[[], Hello], held_steps: HeldSteps) -> None:
        self._hello = hello
        self._held_steps = held_steps
        self._links: dict[str, Link] = {}
        """By the id of the hub: two sessions of one hub would hide its steps from each other."""
        self._hello_seqs = count(1)

    def use(self, hub: str, connection: int, now: float) -> Link | None:
        """Returns the link of this hub, with its session opened again if the connection is new. None if there is a
        newer connection: the messages of this one belong to a session that is over."""
        link = self._links.get(hub)
        if link is None:
            session = WorkerSession(self._hello(), self._held_steps, self._orphans, self._hello_seqs.__next__, hub)
            session.open(now)
            link = self._links[hub] = Link(session, connection, asyncio.Event(), now)
        elif connection < link.connection:
            return None
        elif connection > link.connection:
            link.connection = connection
            link.session.outbox.clear()
            link.session.open(now)
        link.used_at = now
        return link

    @property
    def open(self) -> list[WorkerSession]:
        return [link.session for link in self._links.values() if link.session.state is SessionState.OPEN]

    def contacts(self, now: float) -> dict[str, float]:
        """Returns the times until which steps may begin, by the ids of the hubs in contact."""
        return {session.hub: session.contact_until for session in self.open if session.in_contact(now)}

    def is_gone(self, hub: str, now: float) -> bool:
        """True if the hub has been silent for a lease while the session with another is open."""
        others = any(session.hub != hub for session in self.open)
        link = self._links.get(hub)
        return others and (link is None or not link.session.may_come_back(now))

    def take_stops(self, now: float) -> list[str]:
        """Applies the actions of all sessions. Returns the tokens of attempts that are to end."""
        stops: list[str] = []
        for hub, link in tuple(self._links.items()):
            actions, link.session.actions = link.session.actions, []
            for action in actions:
                match action:
                    case Stop():
                        stops.append(action.token)
                    case Reconnect():
                        log.info("the session with hub %s is opened again: %s", hub, action.reason)
                        link.session.open(now)
                    case HubClosed():
                        log.info("hub %s has left: %s", hub, action.reason)
                        self._links.pop(hub, None)
                    case _:
                        pass  # a hub gives nothing to a supervisor that it drains
        return stops

    def tick(self, now: float) -> None:
        """Sends what is due, and closes connections that are not used."""
        for hub, link in tuple(self._links.items()):
            if now - link.used_at > SILENCE:
                log.info("hub %s is silent", hub)
                del self._links[hub]
            else:
                link.session.tick(now)

    def share(self, credits: int, concurrency: int) -> None:
        """Divides the credits among the orchestrators; each gets one at least, if there are any. All of them learn how
        many attempts run at once."""
        sessions = self.open
        for number, session in enumerate(sessions):
            share, more = divmod(credits, len(sessions))
            session.set_credits(max(share + (number < more), min(1, credits)), concurrency)

    def wake(self) -> None:
        """Wakes the calls of orchestrators that there are messages for."""
        for link in self._links.values():
            if link.session.outbox:
                link.ready.set()

    def _orphans(self) -> Iterator[HeldStep]:
        """Returns the steps of hubs without a session."""
        known = {session.hub for session in self.open}
        return (held_step for held_step in self._held_steps if held_step.hub not in known)


async def within(event: asyncio.Event, seconds: float) -> None:
    """Returns when the event is set, or after so many seconds."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
