"""Bounds the open event streams, and ends them when their token is revoked or the server stops."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Literal

from turnout.errors import RequestError
from turnout.server.access import Access
from turnout.server.exchange import Caller

Reason = Literal["stopping", "revoked"]


class Stream:
    """One open stream. ``ended`` is set when it has to end; ``reason`` is why: the last event of the stream."""

    def __init__(self, revoked: asyncio.Event, stopped: asyncio.Event) -> None:
        self._revoked = revoked
        self._stopped = stopped

    @property
    def reason(self) -> Reason | None:
        """``stopping``: the client should reconnect, to this server or another one. None while it may go on."""
        if self._revoked.is_set():
            return "revoked"
        return "stopping" if self._stopped.is_set() else None

    async def end(self) -> Reason:
        """Returns once the stream has to end."""
        waits = [asyncio.ensure_future(each.wait()) for each in (self._revoked, self._stopped)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
        return self.reason or "stopping"


class Streams:
    """The open streams of one server. Used on the server's loop."""

    def __init__(self, access: Access, limit: int) -> None:
        self._access = access
        self._limit = limit
        self._stopped = asyncio.Event()
        self.open = 0

    @contextlib.asynccontextmanager
    async def stream(self, caller: Caller) -> AsyncIterator[Stream]:
        """Yields a stream for this caller. Raises RequestError while too many are open."""
        if self.open >= self._limit:
            raise RequestError(
                f"{self._limit} streams are open already, the most that this server serves", code="too_many_streams"
            )
        self.open += 1
        try:
            with self._access.watch(caller.token_id) if caller.via != "local" else contextlib.nullcontext() as revoked:
                yield Stream(revoked or asyncio.Event(), self._stopped)
        finally:
            self.open -= 1

    def stop(self) -> None:
        """Ends all streams."""
        self._stopped.set()
