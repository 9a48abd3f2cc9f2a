"""Follows an event stream of a server to its end, over servers that stop and connections that break."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from turnout.cli.api_client import Event, Query
from turnout.errors import AccessDenied, ServerUnavailable

RETRY_INTERVAL = 1.0
"""Seconds before a stream is opened again."""
RECONNECT_TIMEOUT = 60.0
"""Seconds without an event, since the stream was lost, after which the command gives up."""


class Streams(Protocol):
    """Opens streams behind the last event."""

    def events(self, path: str, query: Query | None = None, last: str | None = None) -> Iterator[Event]: ...


class Closed(msgspec.Struct, frozen=True):
    """The reason for which the server ends a stream."""

    reason: str = ""


def followed(
    streams: Streams,
    path: str,
    query: Query | None = None,
    *,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Event]:
    """Yields all events before ``end``. A stream that is lost is opened again behind the last event.

    Raises ServerUnavailable if the first connection fails, or none succeeds for ``RECONNECT_TIMEOUT`` seconds, and
    AccessDenied once the token is revoked.
    """
    last: str | None = None
    lost_at: float | None = None
    connected = False
    while True:
        try:
            for event in streams.events(path, query, last):
                connected, last = True, event.id or last
                if event.name == "end":
                    return
                if event.name == "closed":
                    _check_closed(event)
                    break
                lost_at = None
                yield event
        except ServerUnavailable:
            if not connected:
                raise
            if lost_at is not None and clock() - lost_at > RECONNECT_TIMEOUT:
                raise
        lost_at = clock() if lost_at is None else lost_at
        if clock() - lost_at > RECONNECT_TIMEOUT:
            raise ServerUnavailable(f"the stream {path} was ended by the server again and again", path=path)
        sleep(RETRY_INTERVAL)


def _check_closed(event: Event) -> None:
    if msgspec.json.decode(event.data, type=Closed).reason == "revoked":
        raise AccessDenied("the token was revoked while the stream was open", code="revoked_token")
