"""Declares the settings of the server: where it listens, what it trusts, and the bounds of requests."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, ClassVar

from msgspec import Meta

from turnout.errors import InvalidSetting
from turnout.model.setting_types import Count, NonNegativeSeconds, Seconds, Settings

SERVER = "server"
DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8470
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
ROOT_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)+")
"""A path below which a proxy serves the server."""


class ServerSettings(Settings, frozen=True, kw_only=True):
    """Settings of the server."""

    table: ClassVar[str] = SERVER

    host: str = DEFAULT_HOST
    """The address that the API listens on."""
    port: Annotated[int, Meta(ge=0, le=65_535)] = DEFAULT_PORT
    """The port that the API listens on; 0: any free one."""
    hosts: tuple[str, ...] = ()
    """Names that requests may be addressed to, beside loopback names, ``host`` and the machine's own name."""
    origins: tuple[str, ...] = ()
    """Origins of web pages that may send requests, as ``https://ops.example.org``; pages of the server itself may."""
    tls_certificate: str | None = None
    """The file of the certificate chain (PEM); with it, the server speaks TLS."""
    tls_key: str | None = None
    """The file of the certificate's private key (PEM)."""
    behind_proxy: bool = False
    """Whether a proxy in front of the server ends TLS."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks of proxies whose ``X-Forwarded-For`` and ``X-Forwarded-Proto`` headers are believed,
    and ``X-Forwarded-Prefix``."""
    root_path: str = ""
    """The path below which a proxy serves the server, as ``/turnout``; empty at the top of its host."""
    insecure_local: bool = False
    """Whether every caller on this machine is an admin, without a token; only on a loopback address."""
    open_to_loopback: bool = False
    """Whether callers on this machine need no token for ``/metrics`` and the OpenAPI document."""
    first_token_file: str | None = None
    """The file that the first admin token is written to where no terminal shows it; by default
    ``turnout-admin-token`` beside the SQLite database, else in the working directory."""
    workflow_folders: tuple[str, ...] = ()
    """Folders whose YAML and Python files are imported and watched; relative ones start at the configuration's folder.
    Every server should have the same files in them."""
    allow_local_execution: bool = False
    """Whether definitions that authors upload may run on the server itself; otherwise they run on workers only."""
    session_lifetime: Seconds = 12 * 3600.0
    """Seconds after which a browser has to sign in again."""
    max_body_bytes: Count = 8 * 1024 * 1024
    """Bytes of one request's body at most."""
    max_hook_bytes: Count = 1024 * 1024
    """Bytes of the body of a webhook's delivery at most."""
    header_timeout: Seconds = 10.0
    """Seconds in which the head of a request has to arrive, from its first byte or from the connection."""
    request_timeout: Seconds = 30.0
    """Seconds that a request may take, and in which its body has to arrive; requests that wait for a run and streams
    have their own bounds for the answer."""
    max_requests: Count = 256
    """Requests that are served at once; more are answered with 429."""
    max_streams: Count = 1_000
    """Open event streams at once; more are answered with 429."""
    threads: Annotated[int, Meta(ge=1, le=256)] = 16
    """Threads that read the database for requests."""
    store_timeout: Seconds = 0.9
    """Seconds that a request waits for a database that does not answer while others already wait in vain."""
    drain: NonNegativeSeconds = 2.0
    """Seconds in which a server that stops still answers, `/readyz` and new runs with 503, before it closes its port;
    none on a loopback address that no connection uses and whose `/readyz` was not asked for in the last minute."""
    stop_grace: NonNegativeSeconds = 5.0
    """Seconds that open requests get to finish when the server stops."""

    @property
    def loopback(self) -> bool:
        """True if only this machine can reach it."""
        return is_loopback_host(self.host)

    @property
    def tls(self) -> bool:
        return self.tls_certificate is not None

    def check_rules(self, path: str) -> None:
        for name, other in (("tls_certificate", "tls_key"), ("tls_key", "tls_certificate")):
            if getattr(self, name) is not None and getattr(self, other) is None:
                raise InvalidSetting(
                    f"{path}.{name} is {getattr(self, name)!r}, but {path}.{other} is not set: TLS needs both files",
                    code="incomplete_tls",
                    field=f"{path}.{name}",
                )
        for each in self.trusted_proxies:
            try:
                ipaddress.ip_network(each, strict=False)
            except ValueError as error:
                raise InvalidSetting(
                    f"{path}.trusted_proxies holds {each!r}; write addresses or networks, as 10.0.0.7 or 10.0.0.0/8",
                    field=f"{path}.trusted_proxies",
                ) from error
        if self.root_path and ROOT_PATH.fullmatch(self.root_path) is None:
            raise InvalidSetting(
                f"{path}.root_path is {self.root_path!r}; write a path without a slash at its end, as /turnout",
                field=f"{path}.root_path",
            )
        for each in self.origins:
            scheme, _, rest = each.partition("://")
            if scheme not in ("http", "https") or not rest or "/" in rest:
                raise InvalidSetting(
                    f"{path}.origins holds {each!r}; write scheme and host, as https://ops.example.org",
                    field=f"{path}.origins",
                )


def is_loopback_host(host: str) -> bool:
    """True if an address leads nowhere but to the machine that uses it.

    >>> is_loopback_host("127.0.0.1"), is_loopback_host("::1"), is_loopback_host("0.0.0.0")
    (True, True, False)
    """
    if host in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
