"""Declares what routes are given beside their parameters: the parts of the server, and the caller of the request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from litestar import Request
from litestar.di import NamedDependency, Provide

from turnout.errors import AccessDenied
from turnout.server.context import ServerContext
from turnout.server.exchange import Caller, exchange_of

Context: TypeAlias = NamedDependency[ServerContext]
"""The type of a route's parameter ``context``."""
ByCaller: TypeAlias = NamedDependency[Caller]
"""The type of a route's parameter ``caller``, on routes that need a role."""


def dependencies(context: ServerContext) -> Mapping[str, Provide]:
    """Returns the providers of ``context`` and ``caller``."""

    def provide_context() -> ServerContext:
        return context

    return {
        "context": Provide(provide_context, sync_to_thread=False),
        "caller": Provide(_caller_of, sync_to_thread=False),
    }


def _caller_of(request: Request[Any, Any, Any]) -> Caller:
    caller = exchange_of(request.scope).caller
    if caller is None:
        raise AccessDenied("this needs a token")
    return caller
