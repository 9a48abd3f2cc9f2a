"""Sends the answer to one request: adds headers, logs it, and stores the audit entry of a change first."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

from litestar.types import Message, Send

from turnout.model.access import AuditRow, masked
from turnout.model.texts import printable_line
from turnout.server.audit import Audit
from turnout.server.caller import Head
from turnout.server.exchange import Exchange
from turnout.server.problems import MEDIA_TYPE, problem_of
from turnout.server.shutdown import Shutdown

log = logging.getLogger("turnout.server")

SECURITY_HEADERS: Mapping[str, str] = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers of every answer that does not set them itself."""
STRICT_TRANSPORT = "max-age=31536000"
MAX_TARGET = 500
"""Characters of a target in the audit."""
SIGN_IN = "/api/v1/session"


class Answer:
    """Sends one answer: adds headers, and stores the audit entry of a change before the caller learns of it."""

    def __init__(self, audit: Audit, head: Head, exchange: Exchange, send: Send, shutdown: Shutdown) -> None:
        self._audit = audit
        self._head = head
        self._exchange = exchange
        self._send = send
        self._shutdown = shutdown
        self._began = time.perf_counter()
        self._recorded = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            await self._record(message["status"])
            self._exchange.answered = True
            self._exchange.end_deadline()
            message["headers"] = self._headers(message["headers"])
        await self._send(message)

    async def refuse(self, error: Exception) -> None:
        """Answers with a problem document, unless the answer has begun."""
        self._exchange.deadline = None
        if self._exchange.answered:
            return
        status, headers, body = problem_of(error, self._exchange.request_id)
        self._exchange.code = getattr(error, "code", "")
        pairs = [("content-type", MEDIA_TYPE), ("content-length", str(len(body))), *headers.items()]
        encoded = [(name.lower().encode(), value.encode()) for name, value in pairs]
        await self.send({"type": "http.response.start", "status": status, "headers": encoded})
        await self.send({"type": "http.response.body", "body": body, "more_body": False})

    def _headers(self, given: Any) -> list[tuple[bytes, bytes]]:
        headers = [(bytes(name).lower(), bytes(value)) for name, value in given]
        present = {name for name, _ in headers}
        added = {**SECURITY_HEADERS, "x-request-id": self._exchange.request_id}
        if self._shutdown.begun:
            added["connection"] = "close"  # the next request goes to a server that stays
        if self._exchange.secure:
            added["strict-transport-security"] = STRICT_TRANSPORT
        return headers + [
            (name.encode(), value.encode()) for name, value in added.items() if name.encode() not in present
        ]

    async def _record(self, status: int) -> None:
        caller, head, exchange = self._exchange.caller, self._head, self._exchange
        took = time.perf_counter() - self._began
        target = printable_line(masked(head.path))[:MAX_TARGET]
        log.info("request %s: %s %s %d %.1f ms", exchange.request_id, head.method, target, status, 1e3 * took)
        # Without a caller nothing was changed; failed sign-ins are recorded all the same.
        if self._recorded or not head.changes or (caller is None and head.path != SIGN_IN):
            return
        self._recorded = True
        entry = AuditRow(
            at=0.0,
            actor=caller.actor if caller is not None else "-",
            actor_name=caller.name if caller is not None else "-",
            method=head.method,
            target=target,
            status=status,
            code=exchange.code,
            request_id=exchange.request_id,
            address=exchange.address,
        )
        if exchange.store_away:
            log.warning("the database does not answer, so this is not in the audit: %s", entry)
        else:
            await self._audit.record(entry)
