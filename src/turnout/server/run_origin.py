"""Tells from a request how a run is handed in."""

from __future__ import annotations

from typing import Any

from litestar import Request

from turnout.model.run_triggers import CLI_AGENT, origin
from turnout.server.exchange import exchange_of


def origin_of(request: Request[Any, Any, Any]) -> str:
    """Returns the origin of a run that this request starts."""
    caller = exchange_of(request.scope).caller
    name = "" if caller is None else caller.name
    if caller is not None and caller.via == "cookie":
        return origin("web", name)
    return origin("cli" if request.headers.get("user-agent", "").startswith(CLI_AGENT) else "api", name)
