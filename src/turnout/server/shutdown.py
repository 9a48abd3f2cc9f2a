"""Knows that a server stops, and how long it goes on answering before it closes its port."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from turnout.errors import RequestError
from turnout.model.durations import seconds
from turnout.runner.server_settings import ServerSettings

PROBE_INTERVAL = 60.0
"""Seconds for which a question about readiness shows that something asks again and again."""


class Shutdown:
    """The stop of one server. ``begin`` and the waits are used on the server's loop."""

    def __init__(self, settings: ServerSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._begun = asyncio.Event()
        self._probed_at: float | None = None

    @property
    def begun(self) -> bool:
        return self._begun.is_set()

    def begin(self) -> None:
        self._begun.set()

    async def wait(self) -> None:
        """Returns once the server stops."""
        await self._begun.wait()

    def note_probe(self) -> None:
        """Remembers that a caller asked whether the server is ready."""
        self._probed_at = self._clock()

    def drain_time(self, connections: int) -> float:
        """Returns the seconds in which callers learn that the server stops. None are needed where only this machine
        reaches it, no connection is open and readiness was not asked for lately."""
        probed = self._probed_at is not None and self._clock() - self._probed_at < PROBE_INTERVAL
        if self._settings.loopback and not connections and not probed:
            return 0.0
        return seconds(self._settings.drain)

    def check_open(self) -> None:
        """Raises RequestError if no new run is taken any more."""
        if self.begun:
            raise stopping_error("the server is stopping and takes no new runs")


def stopping_error(text: str) -> RequestError:
    return RequestError(f"{text}: send it again, to this address or another server", code="server_stopping")
