"""Checks the addresses that workers connect to and hubs listen on."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

EVERYWHERE = "*"


def can_be_listened_on(address: str) -> bool:
    """``tcp://127.0.0.1:5890``, with port 0 or ``*`` for any that is free, or ``ipc:///path``."""
    return _is_address(address, listening=True)


def can_be_connected_to(address: str) -> bool:
    """``tcp://host:5890`` or ``ipc:///path``: one host, at a known port."""
    return _is_address(address, listening=False)


def _is_address(address: str, *, listening: bool) -> bool:
    try:
        parts = urlsplit(address)
        port = _port(parts, listening=listening)
    except ValueError:
        return False
    if parts.scheme == "ipc":
        return bool(parts.netloc or parts.path)
    if parts.scheme != "tcp" or not parts.hostname or parts.path or port is None:
        return False
    return listening or (port > 0 and parts.hostname != EVERYWHERE)


def _port(parts: SplitResult, *, listening: bool) -> int | None:
    # ZeroMQ takes any number modulo 65,536; the property raises for those that are no port.
    return 0 if listening and parts.netloc.rpartition(":")[2] == EVERYWHERE else parts.port
