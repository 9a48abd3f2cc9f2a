"""The bounds of a hub, and who may reach it."""

from __future__ import annotations

from urllib.parse import urlsplit

import msgspec

from turnout.errors import InvalidSetting
from turnout.model.checks import at_least, positive_seconds
from turnout.model.durations import Duration, seconds
from turnout.wire.addresses import can_be_listened_on
from turnout.wire.limits import MAX_RESULTS

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 5890


class HubSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where a hub listens, who may come in, and how long it waits for its workers."""

    address: str = f"tcp://{DEFAULT_HOST}:{DEFAULT_PORT}"
    advertise: str = ""
    """The address under which other machines reach it, if that is not the one above: behind a forwarded port, or where
    it listens on all addresses and the name of the machine will not do."""
    key_file: str | None = None
    """The hub's own pair of keys; with it, everything is encrypted."""
    workers_file: str | None = None
    """The keys that workers may come with, and what each allows; read again whenever it changes."""
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

    def check(self, path: str = "hub") -> None:
        """Raise what is wrong with them."""
        for name in ("heartbeat", "lease", "resend"):
            positive_seconds(seconds(getattr(self, name), f"{path}.{name}"), f"{path}.{name}")
        if seconds(self.lease) < 2 * seconds(self.heartbeat):
            raise InvalidSetting(
                f"{path}.lease is {self.lease!r}; it must be at least twice heartbeat, {self.heartbeat!r}",
                field=f"{path}.lease",
                beside=(f"{path}.heartbeat",),
            )
        for name in ("batch", "max_message_bytes", "queue"):
            at_least(getattr(self, name), 1, f"{path}.{name}")
        if self.batch > MAX_RESULTS:
            raise InvalidSetting(
                f"{path}.batch is {self.batch}; a message has at most {MAX_RESULTS} steps", field=f"{path}.batch"
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
                "whoever reaches the hub could take its work and answer for it. Make keys with `turnout keys "
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
        """Whether only this machine can reach it."""
        return is_loopback(self.address)


def is_loopback(address: str) -> bool:
    """Whether an address leads nowhere but to the machine that uses it."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    return parts.scheme == "ipc" or host in ("localhost", "::1") or _is_loopback_v4(host)


def reached_at(bound: str, host: str) -> str:
    """What others connect to where a socket is bound: a socket on all addresses is reached by the machine's name."""
    parts = urlsplit(bound)
    return f"tcp://{host}:{parts.port}" if parts.hostname in ("0.0.0.0", "::", "*") else bound


def _is_loopback_v4(host: str) -> bool:
    parts = host.split(".")
    return len(parts) == 4 and parts[0] == "127" and all(part.isdecimal() for part in parts)
