"""Declares the role that each route needs, and refuses requests without it."""

from __future__ import annotations

from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from turnout.errors import AccessDenied, RequestError
from turnout.model.access import Role
from turnout.server.exchange import Exchange, exchange_of

UNBOUNDED = "unbounded"
"""``opt={UNBOUNDED: True}`` of a route: the request timeout does not apply. The route has its own bound."""
CONSUMES = "consumes"
"""``opt={CONSUMES: ("application/yaml",)}`` of a route: the media types of its body, if that is not JSON."""
JSON = ("application/json",)


class RoleGuard:
    """Refuses requests whose caller's role does not include this one."""

    def __init__(self, role: Role | None, *, loopback: bool = False) -> None:
        self.role = role
        """None: the route is open to all."""
        self._loopback = loopback
        """True if a caller on this machine may be let in without a token."""

    async def __call__(self, connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
        exchange = exchange_of(connection.scope)
        if handler.opt.get(UNBOUNDED):
            exchange.unbounded = True
            exchange.end_deadline()
        self._check_role(exchange, connection)
        _check_media_type(connection, handler)

    def _check_role(self, exchange: Exchange, connection: ASGIConnection[Any, Any, Any, Any]) -> None:
        if self.role is None or (self._loopback and exchange.local and connection.app.state.open_to_loopback):
            return
        caller = exchange.caller
        if caller is None:
            raise exchange.refusal or AccessDenied(
                "this needs a token: send the header `Authorization: Bearer TOKEN`; `turnout tokens create` makes one"
            )
        if not caller.role.includes(self.role):
            needed = self.role if self.role is Role.ADMIN else f"{self.role} or a higher one"
            raise AccessDenied(
                f"the role of token {caller.name!r} is {caller.role}; this needs {needed}",
                code="role_too_low",
                role=str(caller.role),
                needed=str(self.role),
            )


def requires(role: str, *, loopback: bool = False) -> RoleGuard:
    """Returns the guard of routes that need this role: ``guards=[requires("operator")]``."""
    return RoleGuard(Role(role), loopback=loopback)


open_to_all = RoleGuard(None)
"""The guard of routes that need no token."""


def role_guard_of(handler: BaseRouteHandler) -> RoleGuard | None:
    """Returns the innermost role guard of a route; None if it declares none."""
    layers = handler.ownership_layers
    for layer in reversed(layers):
        for guard in layer.guards or ():
            if isinstance(guard, RoleGuard):
                return guard
    return None


def _check_media_type(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    headers = connection.headers
    length = headers.get("content-length")
    if connection.scope["type"] != "http" or connection.scope["method"] in ("GET", "HEAD", "OPTIONS"):
        return
    if (length is None or length == "0") and "transfer-encoding" not in headers:
        return
    allowed = handler.opt.get(CONSUMES, JSON)
    given = headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in allowed:
        raise RequestError(
            f"the body is {given or 'of no declared type'}; this takes {' or '.join(allowed)}",
            code="unsupported_media_type",
            accepted=list(allowed),
        )
