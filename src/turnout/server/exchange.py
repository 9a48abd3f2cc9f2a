"""Holds what is known of one request while it is served: its id, its caller, and how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import msgspec

from turnout.model.access import Role

KEY = "turnout.exchange"


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """The holder of the token of a request."""

    token_id: str
    name: str
    role: Role
    via: Literal["token", "cookie", "local", "webhook"]
    """The Authorization header, the cookie of a browser, a local caller where no token is needed, or a webhook."""
    parent: str | None = None
    """The token that a browser signed in with."""

    @property
    def actor(self) -> str:
        """The token that answers for the request."""
        return self.parent or self.token_id


@dataclass
class Exchange:
    """One request and its answer."""

    request_id: str
    address: str = ""
    """The caller's address; behind listed proxies the one that they report."""
    secure: bool = False
    """True if the caller speaks TLS, with the server or with a listed proxy."""
    local: bool = False
    """True if the caller is on this machine."""
    root: str = ""
    """The path below which the caller reaches the server; empty at the top of its host."""
    caller: Caller | None = None
    refusal: Exception | None = None
    """Why the caller is not known, if it tried to be."""
    deadline: asyncio.Timeout | None = None
    """The request timeout; None where none applies."""
    unbounded: bool = False
    """True if the route has a bound of its own."""
    store_away: bool = False
    """True if the request was given up since the database does not answer."""
    answered: bool = False
    """True once the head of the answer was sent."""
    code: str = ""
    """The code of the problem that it was answered with."""

    def end_deadline(self) -> None:
        """Lets the request take as long as it wants from now on."""
        if self.deadline is not None and not self.deadline.expired():
            self.deadline.reschedule(None)


def exchange_of(scope: MutableMapping[str, Any] | Any) -> Exchange:
    """Returns the exchange of a request's scope. One that came past the gateway has no caller."""
    found = cast("MutableMapping[str, Any]", scope)
    return found.setdefault(KEY, Exchange(""))
