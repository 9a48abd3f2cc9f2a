"""The bounds of a hub."""

from __future__ import annotations

from urllib.parse import urlsplit

import msgspec

from turnout.errors import InvalidSetting
from turnout.model.durations import Duration, seconds


class HubSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where a hub listens, and how long it waits for its workers."""

    address: str = "tcp://127.0.0.1:5890"
    advertise: str = ""
    """The address under which other machines reach it, if that is not the one above: behind a forwarded port, or where
    it listens on all addresses and the name of the machine will not do."""
    heartbeat: Duration = 5.0
    """How often a worker gives a sign of life."""
    lease: Duration = 15.0
    """Without one for this long, what it holds is lost."""
    resend: Duration = 2.0
    """How long an answer may take before something is said again."""
    batch: int = 100
    """Steps in one message at most."""
    max_message_bytes: int = 16 * 1024 * 1024
    queue: int = 10_000
    """Messages that may wait for one worker; more are dropped and said again later."""
    trace_wire: bool = False
    """Log every message, to ``turnout.wire``; arguments, outputs and lines are masked."""

    def check(self) -> None:
        for name in ("heartbeat", "lease", "resend"):
            value = getattr(self, name)
            if not seconds(value, f"hub.{name}") > 0:
                raise InvalidSetting(f"hub.{name} is {value!r}; it must be more than nothing", field=f"hub.{name}")
        if seconds(self.lease) < 2 * seconds(self.heartbeat):
            raise InvalidSetting(
                f"hub.lease is {self.lease!r}; it must be at least twice hub.heartbeat, {self.heartbeat!r}",
                field="hub.lease",
            )
        for name in ("batch", "max_message_bytes", "queue"):
            if getattr(self, name) < 1:
                raise InvalidSetting(
                    f"hub.{name} is {getattr(self, name)!r}; it must be at least 1", field=f"hub.{name}"
                )
        for name, value in (("address", self.address), ("advertise", self.advertise or self.address)):
            if urlsplit(value).scheme not in ("tcp", "ipc"):
                raise InvalidSetting(
                    f"hub.{name} is {value!r}; write tcp://127.0.0.1:5890 or ipc:///path/to/socket", field=f"hub.{name}"
                )

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.address)


def is_loopback(address: str) -> bool:
    """Whether an address leads nowhere but to the machine that uses it."""
    parts = urlsplit(address)
    return parts.scheme == "ipc" or parts.hostname in ("127.0.0.1", "localhost", "::1")


def reached_at(bound: str, host: str) -> str:
    """What others connect to where a socket is bound: a socket on all addresses is reached by the machine's name."""
    parts = urlsplit(bound)
    return f"tcp://{host}:{parts.port}" if parts.hostname in ("0.0.0.0", "::", "*") else bound
