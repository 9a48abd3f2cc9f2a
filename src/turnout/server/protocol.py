"""Bounds the time in which a request has to arrive: a client that sends its head or its body byte by byte is ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar, Literal, TypeAlias, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from turnout.errors import RequestError
from turnout.model.durations import seconds
from turnout.runner.server_settings import ServerSettings
from turnout.server.answer import SECURITY_HEADERS
from turnout.server.problems import MEDIA_TYPE, problem_of

Part: TypeAlias = Literal["head", "body"]
ANSWERABLE = (h11.IDLE, h11.SEND_RESPONSE)
"""States of a connection in which no answer has begun."""


class BoundedProtocol(H11Protocol):
    """A connection whose requests arrive in bounded time. Answers, event streams among them, may take longer."""

    header_timeout: ClassVar[float]
    body_timeout: ClassVar[float]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._awaited: tuple[Part | None, object] = (None, None)
        """The part that has to arrive, and the request before or with it."""
        self._end_timer: Callable[[], None] = lambda: None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_timer()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        self._refuse(RequestError("this is no request of HTTP/1.1"))

    def _watch(self) -> None:
        awaited = self._awaits(), self.cycle
        if awaited == self._awaited:
            return
        self._awaited = awaited
        self._end_timer()
        part = awaited[0]
        if part is not None:
            timeout = self.header_timeout if part == "head" else self.body_timeout
            self._end_timer = self.loop.call_later(timeout, self._overdue, part, timeout).cancel

    def _awaits(self) -> Part | None:
        """Returns the part of a request that the client has to send next; None while an answer is due, or while the
        connection is kept for another request."""
        if self.transport.is_closing():
            return None
        if self.conn.their_state is h11.SEND_BODY:
            return "body"
        return "head" if self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None else None

    def _overdue(self, part: Part, timeout: float) -> None:
        setting = "header_timeout" if part == "head" else "request_timeout"
        self._refuse(
            RequestError(
                f"the {part} of the request did not arrive within {timeout:g} s, server.{setting}", code="slow_request"
            )
        )

    def _refuse(self, error: RequestError) -> None:
        """Answers with a problem document, unless an answer has begun, and ends the connection."""
        if self.transport.is_closing():
            return
        if self.conn.our_state in ANSWERABLE:
            status, headers, body = problem_of(error)
            about = {"content-type": MEDIA_TYPE, "content-length": str(len(body)), "connection": "close"}
            encoded = [
                (name.encode(), value.encode()) for name, value in {**SECURITY_HEADERS, **headers, **about}.items()
            ]
            for event in (h11.Response(status_code=status, headers=encoded), h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        cycle = cast("RequestResponseCycle | None", self.cycle)  # None before the first request
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
        self.transport.close()


def protocol_of(settings: ServerSettings) -> type[BoundedProtocol]:
    """Returns the protocol of connections with the bounds of these settings."""

    class Protocol(BoundedProtocol):
        header_timeout = seconds(settings.header_timeout)
        body_timeout = seconds(settings.request_timeout)

    return Protocol
