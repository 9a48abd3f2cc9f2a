"""Decides which network addresses are private: of the machine itself, of its network, or reserved."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_LOCAL_NAMES = ("localhost", "ip6-localhost", "ip6-loopback")
_LOCAL_SUFFIXES = (".localhost", ".local", ".internal", ".lan", ".home.arpa")


def is_private_address(address: str) -> bool:
    """True if the numeric address is not one of the public internet.

    >>> is_private_address("10.0.0.1"), is_private_address("::ffff:127.0.0.1"), is_private_address("1.1.1.1")
    (True, True, False)
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return True
    mapped = getattr(found, "ipv4_mapped", None) or getattr(found, "sixtofour", None)
    if mapped is None and isinstance(found, ipaddress.IPv6Address) and found in _NAT64:
        mapped = ipaddress.IPv4Address(int(found) & 0xFFFF_FFFF)
    return not (mapped or found).is_global or found.is_multicast


def is_private_host(host: str) -> bool:
    """True if the name or number is known to be private without a look at the name service."""
    name = host.strip("[]").rstrip(".").lower()
    if not name or name in _LOCAL_NAMES or name.endswith(_LOCAL_SUFFIXES) or ("." not in name and ":" not in name):
        return True
    # Numbers in other notations (0x7f000001, 2130706433, 127.1) are addresses for some programs.
    if name.replace(".", "").isdigit() or name.startswith("0x"):
        return is_private_address(name)
    return is_private_address(name) if ":" in name else False


def is_private_url(url: str) -> bool:
    """True if the address of a request is known to be private, or cannot be read.

    The name service may still lead a public name to a private address: a request that must not go there checks the
    address that it connects to as well.
    """
    try:
        host = urlsplit(url).hostname
    except ValueError:
        return True
    return host is None or is_private_host(host)
