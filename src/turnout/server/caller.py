"""Decides from the head of a request which address it comes from and which secrets it carries (pure)."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable, Mapping
from functools import lru_cache
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlsplit

import msgspec

from turnout.errors import AccessDenied, RequestError
from turnout.model.access import TOKEN_PATTERN
from turnout.runner.server_settings import LOOPBACK_NAMES, ROOT_PATH, ServerSettings, is_loopback_host

COOKIE = "turnout_session"
CSRF_HEADER = "x-csrf-token"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
PROBES = frozenset({"/healthz", "/readyz"})
"""Paths that any Host header may ask for: probes use addresses."""
SECRET_PARAMETERS = frozenset({"token", "access_token", "api_key", "authorization"})
FORWARDED = ("x-forwarded-for", "x-forwarded-proto", "forwarded")

_BEARER = re.compile(r"[Bb]earer +(\S+) *")


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a request that come before its body."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    """By their names in lower case; values of repeated headers are joined."""
    peer: str
    """The address of the other end of the connection."""
    tls: bool = False

    @property
    def changes(self) -> bool:
        return self.method not in SAFE_METHODS


class Sender(msgspec.Struct, frozen=True):
    """The origin of a request."""

    address: str
    secure: bool
    local: bool


def sender_of(head: Head, settings: ServerSettings) -> Sender:
    """Returns where a request comes from. Forwarded headers count only from listed proxies.

    A caller is local if the connection is, and no proxy can be in between."""
    secure = head.tls or settings.behind_proxy
    if not _listed(head.peer, settings.trusted_proxies):
        direct = not settings.behind_proxy and not any(name in head.headers for name in FORWARDED)
        return Sender(head.peer, secure, direct and is_loopback_host(head.peer))
    chain = [each.strip() for each in head.headers.get("x-forwarded-for", "").split(",")]
    outside = [each for each in chain if _is_address(each) and not _listed(each, settings.trusted_proxies)]
    scheme = head.headers.get("x-forwarded-proto", "").strip().lower()
    return Sender(outside[-1] if outside else head.peer, scheme == "https" if scheme else secure, False)


def root_of(head: Head, settings: ServerSettings) -> str:
    """Returns the path below which the caller reaches the server: the setting, or what a listed proxy reports."""
    given = head.headers.get("x-forwarded-prefix", "").strip().rstrip("/")
    if given and _listed(head.peer, settings.trusted_proxies) and ROOT_PATH.fullmatch(given):
        return given
    return settings.root_path


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _listed(address: str, networks: Iterable[str]) -> bool:
    if not _is_address(address):
        return False
    given = ipaddress.ip_address(address)
    return any(given in ipaddress.ip_network(each, strict=False) for each in networks)


def check_head(head: Head, sender: Sender, settings: ServerSettings) -> None:
    """Raises RequestError for a request to another host, from a foreign page, or with a token in its URL."""
    for name, value in parse_qsl(head.query, keep_blank_values=True):
        if name.lower() in SECRET_PARAMETERS or TOKEN_PATTERN.search(value):
            raise RequestError(
                f"the query has {name if name.lower() in SECRET_PARAMETERS else 'a token'!r}: URLs end up in logs, so "
                "tokens are only taken from the header `Authorization: Bearer TOKEN`; revoke a token that was sent "
                "in a URL",
                code="token_in_query",
            )
    if head.path in PROBES:
        return
    host = host_name(head.headers.get("host", ""))
    if host not in allowed_hosts(settings):
        raise RequestError(
            f"the request is addressed to {host!r}, which is not a name of this server; server.hosts lists its names",
            code="host_not_allowed",
            host=host,
        )
    origin = head.headers.get("origin")
    if origin is not None and head.changes and not _own_origin(origin, head, sender, settings):
        raise AccessDenied(
            f"pages of {origin!r} may not send requests here; server.origins lists those that may",
            code="origin_not_allowed",
        )


@lru_cache
def allowed_hosts(settings: ServerSettings) -> frozenset[str]:
    """Returns the names that requests may be addressed to."""
    own = () if settings.loopback else (socket.gethostname().lower(), settings.host.lower())
    return frozenset((*LOOPBACK_NAMES, settings.host.lower(), *own, *(each.lower() for each in settings.hosts)))


def host_name(host: str) -> str:
    """Returns the name in a Host header, without its port.

    >>> host_name("Ops.example:8470"), host_name("[::1]:8470"), host_name("127.0.0.1")
    ('ops.example', '::1', '127.0.0.1')
    """
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _own_origin(origin: str, head: Head, sender: Sender, settings: ServerSettings) -> bool:
    scheme = "https" if sender.secure else "http"
    return origin in settings.origins or origin.lower() == f"{scheme}://{head.headers.get('host', '').lower()}"


def bearer_of(head: Head) -> str | None:
    """Returns the token in the Authorization header. Raises AccessDenied for a header of another kind."""
    given = head.headers.get("authorization")
    if given is None:
        return None
    found = _BEARER.fullmatch(given)
    if found is None:
        raise AccessDenied("the Authorization header is not of the form `Bearer TOKEN`", code="malformed_authorization")
    return found[1]


def cookie_of(head: Head) -> str | None:
    """Returns the secret in the cookie of a browser that has signed in."""
    try:
        found = SimpleCookie(head.headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return None
    return found.value if found is not None else None
