"""Carries the messages between a hub and the supervisor of a cluster, over the cluster's own calls."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, Protocol

from turnout.errors import TurnoutError
from turnout.executors.workers.hub_services import Heard

log = logging.getLogger("turnout.cluster")

POLL_WAIT = 5.0
"""Seconds that a supervisor holds a question for messages, at most."""
CALL_TIMEOUT = 10.0
"""Seconds after which a call without an answer counts as failed: before the usual lease is over, within which attempts
survive a new connection."""
FIRST_BACKOFF, MAX_BACKOFF = 0.2, 5.0
LINGER = 2.0
"""Seconds that the last messages have to go out."""


class Backend(Protocol):
    """The client of a cluster, as an orchestrator uses it. All of it is awaited on the engine's event loop."""

    address: str

    def named(self, amounts: Mapping[str, float]) -> dict[str, float]:
        """Returns amounts of Turnout's names (``cpu``, ``gpu``, ``memory``, others) by the names of the cluster."""
        ...

    def amounts(self, node: Mapping[str, float]) -> dict[str, float]:
        """Returns the amounts of a node by Turnout's names."""
        ...

    async def open(self) -> None:
        """Connects, and finds or starts the supervisor. Raises if the cluster cannot be reached."""
        ...

    async def reach(self) -> None:
        """Connects only, to show that it can be done. Raises if the cluster cannot be reached."""
        ...

    async def exchange(
        self, hub: str, connection: int, frames: Sequence[Sequence[bytes]], wait: float
    ) -> dict[str, Any]:
        """Calls ``Supervisor.exchange``."""
        ...

    async def close(self) -> None: ...


class ClusterRouter:
    """The router of a hub whose only worker is the supervisor of a cluster. Used on one event loop."""

    def __init__(
        self,
        backend: Backend,
        hub: Callable[[], str],
        holder_changed: Callable[[str, str], None],
        figures: Callable[[dict[str, Any]], None],
        heard: Heard,
        after: Callable[[], None],
    ) -> None:
        self._backend = backend
        self._hub = hub
        """Returns the id of the hub, by which the supervisor knows its connections as those of one orchestrator."""
        self._holder_changed = holder_changed
        """Called with the identities before and after, when the supervisor has lost its memory."""
        self._figures = figures
        self._heard = heard
        self._after = after
        self._connection = 0
        """The number of the connection; 0 while there is none."""
        self._connections = count(1)
        self._holder = ""
        self._outbox: list[list[bytes]] = []
        self._unsent = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None
        self._closed = False
        self._warned = False
        self.address = backend.address
        self.dropped = 0

    @property
    def is_open(self) -> bool:
        """True if the supervisor answers."""
        return self._connection > 0 and not self._closed

    def open(self) -> None:
        self._serving = asyncio.get_running_loop().create_task(self._serve())

    def close(self) -> None:
        self._closed = True
        self._unsent.set()

    async def closed(self) -> None:
        """Returns when the last messages were sent, or could not be."""
        if self._serving is not None:
            with contextlib.suppress(Exception):
                async with asyncio.timeout(LINGER):
                    await self._send_last()
            self._serving.cancel()
            await asyncio.gather(self._serving, return_exceptions=True)
        with contextlib.suppress(Exception):
            async with asyncio.timeout(LINGER):
                await self._backend.close()

    async def _send_last(self) -> None:
        if self._outbox and self._connection:
            frames, self._outbox = self._outbox, []
            await self._backend.exchange(self._hub(), self._connection, frames, 0.0)

    def send(self, route: bytes, frames: Sequence[bytes]) -> None:
        if not self._connection or route != _route(self._connection):
            self.dropped += 1
            return
        self._outbox.append(list(frames))
        self._unsent.set()

    # -- the connection ---------------------------------------------------------------------------------------------
    async def _serve(self) -> None:
        backoff = FIRST_BACKOFF
        while not self._closed:
            began = time.monotonic()
            try:
                await self._backend.open()
                await self._converse()
            except Exception as error:
                self._lost(error)
            self._connection = 0
            backoff = FIRST_BACKOFF if time.monotonic() - began > MAX_BACKOFF else min(2 * backoff, MAX_BACKOFF)
            await asyncio.sleep(backoff)

    def _lost(self, error: Exception) -> None:
        level = logging.DEBUG if self._warned else logging.WARNING
        log.log(level, "the cluster at %s cannot be reached: %s", self.address, described(error))
        self._warned = True

    async def _converse(self) -> None:
        connection = next(self._connections)
        # The first answer shows that the supervisor is there, and has its hello.
        self._outbox.clear()
        await self._poll(connection)
        both = [asyncio.ensure_future(each) for each in (self._poll_forever(connection), self._send_forever())]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in both:
                each.cancel()
            outcomes = await asyncio.gather(*both, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome

    async def _poll_forever(self, connection: int) -> None:
        while not self._closed:
            await self._poll(connection)

    async def _poll(self, connection: int) -> None:
        async with asyncio.timeout(CALL_TIMEOUT):
            reply = await self._backend.exchange(self._hub(), connection, (), POLL_WAIT)
        if self._closed:
            return
        if self._holder and reply["holder"] != self._holder:
            self._holder_changed(self._holder, reply["holder"])
        self._connection, self._holder = connection, reply["holder"]
        if self._warned:
            self._warned = False
            log.info("the cluster at %s is reached again", self.address)
        self._figures(reply["figures"])
        for frames in reply["frames"]:
            self._heard(_route(connection), [bytes(frame) for frame in frames], None)
        self._after()

    async def _send_forever(self) -> None:
        while not self._closed:
            await self._unsent.wait()
            self._unsent.clear()
            if self._outbox and not self._closed:
                frames, self._outbox = self._outbox, []
                async with asyncio.timeout(CALL_TIMEOUT):
                    await self._backend.exchange(self._hub(), self._connection, frames, 0.0)


def described(error: Exception) -> str:
    """Returns the error as a log or a report has it."""
    return error.message if isinstance(error, TurnoutError) else f"{type(error).__name__}: {error}"


def _route(connection: int) -> bytes:
    return b"%d" % connection
