"""Declares where a hub listens, its bounds, and which machines can reach it."""

from __future__ import annotations

from typing import Annotated, ClassVar
from urllib.parse import urlsplit

from msgspec import Meta

from turnout.errors import InvalidSetting
from turnout.model.durations import seconds
from turnout.model.setting_types import Count, Period, Settings
from turnout.wire.addresses import can_be_listened_on
from turnout.wire.limits import MAX_RESULTS

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 5890


class HubSettings(Settings, frozen=True, kw_only=True):
    """Settings of a hub: its address, the workers that may connect, and how long it waits for them."""

    table: ClassVar[str] = "hub"

    address: str = f"tcp://{DEFAULT_HOST}:{DEFAULT_PORT}"
    """The address that the hub listens on."""
    advertise: str = ""
    """The address under which other machines reach the hub, if that is not ``address``: behind a forwarded port, or
    where it listens on all addresses and the machine's name is not known to others."""
    key_file: str | None = None
    """The file of the hub's own pair of keys; with it, everything is encrypted."""
    workers_file: str | None = None
    """The file of the keys that workers may have, and what each allows; read again whenever it changes."""
    heartbeat: Period = 5.0
    """Seconds between two heartbeats of a worker."""
    lease: Period = 15.0
    """Seconds without a heartbeat after which what a worker holds is lost."""
    resend: Period = 2.0
    """Seconds without an acknowledgement after which a message is sent again."""
    batch: Annotated[int, Meta(ge=1, le=MAX_RESULTS)] = 100
    """Steps in one message at most."""
    max_message_bytes: Count = 16 * 1024 * 1024
    """Bytes of one message at most; a connection that sends a larger one is closed."""
    queue: Count = 10_000
    """Messages that may wait for one worker; more are dropped and sent again later."""
    trace_wire: bool = False
    """Whether every message is logged, to ``turnout.wire``; arguments, outputs and log lines are masked."""

    def check_rules(self, path: str) -> None:
        if seconds(self.lease) < 2 * seconds(self.heartbeat):
            raise InvalidSetting(
                f"{path}.lease is {self.lease!r}; it must be at least twice heartbeat, {self.heartbeat!r}",
                field=f"{path}.lease",
                beside=(f"{path}.heartbeat",),
            )
        for name, value in (("address", self.address), ("advertise", self.advertise or self.address)):
            if not can_be_listened_on(value):
                raise InvalidSetting(
                    f"{path}.{name} is {value!r}; write tcp://127.0.0.1:5890 or ipc:///path/to/socket",
                    field=f"{path}.{name}",
                )
        self._check_keys(path)

    def _check_keys(self, path: str) -> None:
        if self.key_file is None and not self.loopback:
            raise InvalidSetting(
                f"{path}.address is {self.address!r}, which other machines can reach, and {path}.key_file is not set: "
                "any program that reaches the hub could take its steps and send results. Make keys with `turnout keys "
                f"generate`, or listen on {DEFAULT_HOST}",
                code="hub_without_keys",
                field=f"{path}.address",
            )
        for name, other in (("key_file", "workers_file"), ("workers_file", "key_file")):
            if getattr(self, name) is not None and getattr(self, other) is None:
                raise InvalidSetting(
                    f"{path}.{name} is {getattr(self, name)!r}, but {path}.{other} is not set: a hub with keys needs "
                    "its own pair and the file that lists its workers' keys",
                    code="incomplete_keys",
                    field=f"{path}.{name}",
                )

    @property
    def loopback(self) -> bool:
        """True if only this machine can reach it."""
        return is_loopback(self.address)


def is_loopback(address: str) -> bool:
    """True if an address leads nowhere but to the machine that uses it."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    return parts.scheme == "ipc" or host in ("localhost", "::1") or _is_loopback_v4(host)


def reached_at(bound: str, host: str) -> str:
    """Returns the address that others connect to: a socket on all addresses is reached by the machine's name."""
    parts = urlsplit(bound)
    return f"tcp://{host}:{parts.port}" if parts.hostname in ("0.0.0.0", "::", "*") else bound


def _is_loopback_v4(host: str) -> bool:
    parts = host.split(".")
    return len(parts) == 4 and parts[0] == "127" and all(part.isdecimal() for part in parts)
