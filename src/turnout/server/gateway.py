"""The outermost layer of the server: finds the callers of requests, and bounds requests in number and time."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import re
import secrets
from collections.abc import Iterator

import msgspec
from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

from turnout.errors import AccessDenied, RequestError, StoreUnreachable, TurnoutError
from turnout.model.access import Role, masked
from turnout.model.durations import seconds
from turnout.model.texts import printable_line
from turnout.server.access import csrf_token
from turnout.server.answer import Answer
from turnout.server.caller import CSRF_HEADER, PROBES, Head, bearer_of, check_head, cookie_of, root_of, sender_of
from turnout.server.context import ServerContext
from turnout.server.exchange import KEY, Caller, Exchange
from turnout.server.shutdown import stopping_error

log = logging.getLogger("turnout.server")

LOCAL_CALLER = Caller(token_id="-", name="local", role=Role.ADMIN, via="local")
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})

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
        root = root_of(head, self._settings)
        if root:
            scope, head = _below(root, scope, head)
        exchange = Exchange(_request_id(head), root=root)
        scope[KEY] = exchange  # type: ignore[literal-required]
        answer = Answer(self._context.audit, head, exchange, send, self._context.shutdown)
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
        except asyncio.CancelledError:
            # The grace of open requests is over. The task ends with the answer, so nothing waits for its cancellation.
            if not self._context.stopping:
                raise
            await answer.refuse(stopping_error("the server stopped before it could answer; what it began may go on"))
        except Exception as error:
            path = printable_line(masked(head.path))
            log.exception("request %s: %s %s failed", exchange.request_id, head.method, path)
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


def _timed_out(exchange: Exchange, timeout: float) -> TurnoutError:
    if exchange.store_away:
        return StoreUnreachable("the database does not answer; what the request began may go on once it does")
    return RequestError(
        f"the request took longer than {timeout:g} s, server.request_timeout; what it began may go on",
        code="request_timeout",
    )


def _below(root: str, scope: HTTPScope, head: Head) -> tuple[HTTPScope, Head]:
    """Returns the request with its path as the application knows it: proxies may leave the prefix or take it off."""
    path = head.path[len(root) :] if head.path == root or head.path.startswith(f"{root}/") else head.path
    return {**scope, "path": path or "/"}, msgspec.structs.replace(head, path=path or "/")


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
