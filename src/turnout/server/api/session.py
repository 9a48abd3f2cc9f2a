"""Sign-in of browsers: a token or the code of a link becomes a cookie."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Controller, Request, Response, delete, get, post
from litestar.datastructures import Cookie
from litestar.params import JSONBody

from turnout.errors import AccessDenied, RequestError
from turnout.model.access import Role
from turnout.model.durations import seconds
from turnout.server.access import csrf_token
from turnout.server.caller import COOKIE
from turnout.server.context import ServerContext
from turnout.server.dependencies import ByCaller, Context
from turnout.server.exchange import Caller, exchange_of
from turnout.server.guards import open_to_all, requires
from turnout.server.responses import ALWAYS, answers, problems


class SignIn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A token, or the code of a sign-in link."""

    token: str | None = None
    code: str | None = None


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """The name and the role of a caller."""

    name: str
    role: Role
    csrf_token: str | None = None
    """Sent back in the header ``X-CSRF-Token`` with every change; None for callers with a token."""
    version: str = ""
    """The version of the server."""
    interface: str | None = None
    """The build of the web interface that the server has; a page of another one should be loaded again."""


EXAMPLE = Session(name="ci", role=Role.OPERATOR, version="0.1.0", interface="5f1c0d9be2a7")


class SessionController(Controller):
    """The session of a browser."""

    tags = ("session",)

    @post(
        "/api/v1/session",
        guards=[open_to_all],
        operation_id="sign_in",
        summary="Sign in",
        security=[{}],
        responses=answers(
            Session,
            "unknown_token",
            "revoked_token",
            "expired_token",
            "unknown_code",
            status=201,
            takes_body=True,
            example=EXAMPLE,
            description="The session; its secret is in the cookie.",
        ),
    )
    async def sign_in(
        self, data: JSONBody[SignIn], request: Request[Any, Any, Any], context: Context
    ) -> Response[Session]:
        """Signs a browser in: sets a cookie that no script can read."""
        if (data.token is None) == (data.code is None):
            raise RequestError("give either token or code", code="invalid_request")
        access, exchange = context.access, exchange_of(request.scope)
        row = await access.token_of(data.token) if data.token is not None else access.redeem(data.code or "")
        if row.parent is not None:
            raise AccessDenied("this is a session and not a token", code="unknown_token")
        made = await access.sign_in(row)
        exchange.caller = Caller(token_id=made.row.id, name=row.name, role=row.role, via="cookie", parent=row.id)
        lifetime = int(seconds(context.settings.session_lifetime))
        cookie = Cookie(
            key=COOKIE,
            value=made.secret,
            httponly=True,
            samesite="strict",
            secure=exchange.secure,
            path=exchange.root or "/",
            max_age=lifetime,
        )
        body = _session(context, row.name, row.role, made.secret)
        return Response(body, status_code=201, cookies=[cookie])

    @get(
        "/api/v1/session",
        guards=[requires("viewer")],
        operation_id="get_session",
        summary="Get the caller",
        sync_to_thread=False,
        responses=answers(Session, example=EXAMPLE, description="The caller's name and role."),
    )
    def show(self, caller: ByCaller, request: Request[Any, Any, Any], context: Context) -> Session:
        """The caller's name and role; for a browser, also what it has to send with changes."""
        secret = request.cookies.get(COOKIE) if caller.via == "cookie" else None
        return _session(context, caller.name, caller.role, secret)

    @delete(
        "/api/v1/session",
        guards=[requires("viewer")],
        operation_id="sign_out",
        summary="Sign out",
        responses=problems(*ALWAYS),
    )
    async def sign_out(self, caller: ByCaller, request: Request[Any, Any, Any], context: Context) -> Response[None]:
        """Signs a browser out. A token is not revoked by it."""
        if caller.via != "cookie":
            raise RequestError("this caller has a token and no session: there is nothing to sign out of")
        await context.access.sign_out(caller.token_id)
        response = Response(None, status_code=204)
        response.delete_cookie(COOKIE, path=exchange_of(request.scope).root or "/")
        return response


def _session(context: ServerContext, name: str, role: Role, secret: str | None) -> Session:
    files = context.web_files
    return Session(
        name=name,
        role=role,
        csrf_token=csrf_token(secret) if secret else None,
        version=context.version,
        interface=files.build if files is not None else None,
    )
