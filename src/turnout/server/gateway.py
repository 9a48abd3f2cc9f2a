"""The outermost layer of the server: admits requests, bounds them, adds headers to answers and records changes."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import re
import secrets
import time
from collections.abc import Iterator, Mapping
from typing import Any

from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from turnout.errors import AccessDenied, RequestError, StoreUnreachable, TurnoutError
from turnout.model.access import AuditRow, Role, masked
from turnout.model.durations import seconds
from turnout.server.access import csrf_token
from turnout.server.caller import CSRF_HEADER, PROBES, Head, bearer_of, check_head, cookie_of, sender_of
from turnout.server.context import ServerContext
from turnout.server.exchange import KEY, Caller, Exchange
from turnout.server.problems import MEDIA_TYPE, problem_of

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
LOCAL_CALLER = Caller(token_id="-", name="local", role=Role.ADMIN, via="local")
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
MAX_TARGET = 500
"""Characters of a target in the audit."""

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Gateway:
    """Serves requests through the application."""

    def __init__(self, app: ASGIApp, context: ServerContext) -> None:
        self._app = app
        self._context = context
        self._settings = context.settings
        self._in_flight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "there are no web sockets here"})
        else:
            await self._app(scope, receive, send)

    async def _serve(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        head = head_of(scope)
        exchange = Exchange(_request_id(head))
        scope[KEY] = exchange  # type: ignore[literal-required]
        answer = Answer(self._context, head, exchange, send)
        self._in_flight += 1
        try:
            async with asyncio.timeout(seconds(self._settings.request_timeout)) as exchange.deadline:
                with self._watched(exchange):
                    await self._admit(head, exchange)
                    await self._app(scope, receive, answer.send)
        except TimeoutError:
            await answer.refuse(_timed_out(exchange, seconds(self._settings.request_timeout)))
        except TurnoutError as error:
            await answer.refuse(error)
        except Exception as error:
            log.exception("request %s: %s %s failed", exchange.request_id, head.method, masked(head.path))
            await answer.refuse(error)
        finally:
            self._in_flight -= 1

    @contextlib.contextmanager
    def _watched(self, exchange: Exchange) -> Iterator[None]:
        """Gives a request up that has no answer after half of the store timeout if the database has none either."""
        loop = asyncio.get_running_loop()
        half = seconds(self._settings.store_timeout) / 2
        watches: list[asyncio.Task[None]] = []
        timer = loop.call_later(half, lambda: watches.append(loop.create_task(self._watch(exchange, half))))
        try:
            yield
        finally:
            timer.cancel()
            for watch in watches:
                watch.cancel()

    async def _watch(self, exchange: Exchange, half: float) -> None:
        deadline = exchange.deadline
        while deadline is not None and not exchange.answered:
            if not await self._context.probe.answers(half):
                exchange.store_away = True
                if not exchange.answered and not deadline.expired():
                    deadline.reschedule(asyncio.get_running_loop().time())
                return
            if exchange.unbounded:
                return  # it waits for something else than the database by now
            await asyncio.sleep(half)

    async def _admit(self, head: Head, exchange: Exchange) -> None:
        sender = sender_of(head, self._settings)
        exchange.address, exchange.secure, exchange.local = sender.address, sender.secure, sender.local
        if head.method not in METHODS:
            raise RequestError(f"{head.method} is not a method of this API", code="method_not_allowed")
        check_head(head, sender, self._settings)
        if head.path in PROBES:
            return
        open_requests = self._in_flight - self._context.streams.open
        if open_requests > self._settings.max_requests:
            raise RequestError(
                f"{self._settings.max_requests} requests are being served already: send it again in a second",
                code="too_many_requests",
            )
        try:
            exchange.caller = await self._caller(head, sender.local)
        except AccessDenied as refusal:
            # Routes that are open to all serve it all the same: a browser with an old cookie can sign in again.
            exchange.refusal = refusal

    async def _caller(self, head: Head, local: bool) -> Caller | None:
        access = self._context.access
        bearer, cookie = bearer_of(head), cookie_of(head)
        secret = bearer or cookie
        if self._settings.insecure_local and local and bearer is None:
            return LOCAL_CALLER
        if secret is None:
            return None
        row = await access.token_of(secret)
        if bearer is None:
            if row.parent is None:
                raise AccessDenied("a cookie carries no token: sign in with it", code="unknown_token")
            if head.changes and not _csrf_matches(head, secret):
                raise AccessDenied(
                    f"a change by a browser needs the header {CSRF_HEADER}, as `GET /api/v1/session` returns it",
                    code="csrf_missing",
                )
        access.note_use(row)
        via = "token" if bearer is not None else "cookie"
        return Caller(token_id=row.id, name=row.name, role=row.role, via=via, parent=row.parent)


class Answer:
    """Sends one answer: adds headers, and stores the audit entry of a change before the caller learns of it."""

    def __init__(self, context: ServerContext, head: Head, exchange: Exchange, send: Send) -> None:
        self._context = context
        self._head = head
        self._exchange = exchange
        self._send = send
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
        if self._exchange.secure:
            added["strict-transport-security"] = STRICT_TRANSPORT
        return headers + [
            (name.encode(), value.encode()) for name, value in added.items() if name.encode() not in present
        ]

    async def _record(self, status: int) -> None:
        caller, head, exchange = self._exchange.caller, self._head, self._exchange
        took = time.perf_counter() - self._began
        target = masked(head.path)[:MAX_TARGET]
        log.info("request %s: %s %s %d %.1f ms", exchange.request_id, head.method, target, status, 1e3 * took)
        # Without a caller nothing was changed; failed sign-ins are recorded all the same.
        if self._recorded or not head.changes or (caller is None and head.path != "/api/v1/session"):
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
            await self._context.audit.record(entry)


def _timed_out(exchange: Exchange, timeout: float) -> TurnoutError:
    if exchange.store_away:
        return StoreUnreachable("the database does not answer; what the request began may go on once it does")
    return RequestError(
        f"the request took longer than {timeout:g} s, server.request_timeout; what it began may go on",
        code="request_timeout",
    )


def head_of(scope: HTTPScope) -> Head:
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}{'; ' if key == 'cookie' else ', '}{text}" if key in headers else text
    client = scope.get("client")
    return Head(
        method=scope["method"],
        path=scope["path"],
        query=scope["query_string"].decode("latin-1"),
        headers=headers,
        peer=client[0] if client else "",
        tls=scope["scheme"] == "https",
    )


def _request_id(head: Head) -> str:
    given = head.headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)


def _csrf_matches(head: Head, secret: str) -> bool:
    given = head.headers.get(CSRF_HEADER, "")
    return hmac.compare_digest(given.encode(), csrf_token(secret).encode())
