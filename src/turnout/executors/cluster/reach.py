"""Tells whether something listens at the address of a cluster, without the cluster's own client and its patience."""

from __future__ import annotations

import socket

CONNECT_TIMEOUT = 3.0
SCHEMES = ("", "tcp", "tls", "ray")
"""Schemes of addresses that are a host and a port of TCP."""


def why_not_listening(address: str) -> str | None:
    """Returns why no connection to the address can be made; None if one can, or it is no host and port of TCP."""
    scheme, _, rest = address.rpartition("://")
    host, _, port = rest.rpartition(":")
    if scheme not in SCHEMES or not host or not port.isdigit():
        return None
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_TIMEOUT).close()
    except OSError as error:
        return error.strerror or str(error) or type(error).__name__
    return None
