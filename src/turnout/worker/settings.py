"""Declares the settings of a worker with its CURVE keys, and reads them from the environment."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from turnout.errors import InvalidSetting
from turnout.model.setting_types import NonNegativeSeconds, Seconds, Settings, converted
from turnout.model.texts import checked_text
from turnout.runtime.log_buffer import LogSettings
from turnout.wire.addresses import can_be_connected_to
from turnout.wire.handshake import MAX_TEXT_LENGTH
from turnout.wire.keys import LENGTH, is_key, own_pair

log = logging.getLogger("turnout.worker")

CONNECT, NAME, LABELS, CONCURRENCY = (
    "TURNOUT_CONNECT",
    "TURNOUT_WORKER_NAME",
    "TURNOUT_WORKER_LABELS",
    "TURNOUT_WORKER_CONCURRENCY",
)
SERVER_KEY, PUBLIC_KEY, SECRET_KEY = (
    "TURNOUT_CURVE_SERVER_KEY",
    "TURNOUT_CURVE_PUBLIC_KEY",
    "TURNOUT_CURVE_SECRET_KEY",
)
KEY_FILE = "TURNOUT_CURVE_KEY_FILE"
VARIABLES = (CONNECT, NAME, LABELS, CONCURRENCY, SERVER_KEY, PUBLIC_KEY, SECRET_KEY, KEY_FILE)
SLIP = 0.93
"""The similarity of two names above which one counts as a misspelling of the other."""
DEFAULT_CONCURRENCY = 4
MAX_CONCURRENCY = 10_000
"""Each slot is a thread or a process; hubs give 100,000 credits at most."""
Concurrency: TypeAlias = Annotated[int, Meta(ge=1, le=MAX_CONCURRENCY)]


class CurveKeys(msgspec.Struct, frozen=True):
    """The CURVE keys of a worker, all in Z85 text."""

    server: str
    """The hub's public key: a server without its secret half cannot pose as the hub."""
    public: str
    secret: str

    def __repr__(self) -> str:
        return f"CurveKeys(server={self.server!r}, public={self.public!r}, secret=***)"

    @classmethod
    def of(cls, server: str, public: str, secret: str) -> CurveKeys | None:
        """Returns the keys if all three are given, None if none is."""
        given = {"server": server, "public": public, "secret": secret}
        if not any(given.values()):
            return None
        for name, key in given.items():
            if not key:
                raise InvalidSetting(
                    f"the {name} key is missing: encryption needs the hub's public key and this worker's own pair",
                    code="incomplete_keys",
                    field=name,
                )
            if not is_key(key):
                raise InvalidSetting(
                    f"the {name} key, of {len(key)} characters, is none: a key has {LENGTH} of Z85",
                    code="bad_key",
                    field=name,
                )
        return cls(server, public, secret)


class WorkerSettings(Settings, frozen=True, kw_only=True):
    """The settings of a worker. Everything but the hubs has a default."""

    connect: tuple[str, ...]
    """Addresses of hubs, such as ``tcp://127.0.0.1:5890``."""
    discover: bool = True
    """Whether to connect to the other hubs that a hub names."""
    name: str = ""
    """The name that people see; by default the machine's name and the process id."""
    labels: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    """Labels that tasks may ask for, such as ``gpu=true``."""
    concurrency: Concurrency = DEFAULT_CONCURRENCY
    """How many steps run at once; twice as many are prefetched, so that the next is there when a slot becomes free."""
    processes: bool = False
    """Whether each Python body runs in a child process, which can be killed, instead of a thread."""
    grace: NonNegativeSeconds = 30.0
    """Seconds that running steps get to finish when the worker stops."""
    kill_grace: NonNegativeSeconds = 5.0
    """Seconds between SIGTERM and SIGKILL for a process whose step was cancelled or has timed out."""
    keys: CurveKeys | None = None
    """The key of the hubs and the worker's own pair; None: connections are not encrypted."""
    logs: LogSettings = LogSettings()
    """What is kept of the output of steps."""
    max_message_bytes: int = 16 * 1024 * 1024
    """Bytes of one message at most; larger messages are refused."""
    worker_id: str = ""
    """The id under which a hub expects this worker; by default a new one."""
    once: str = ""
    """The token of the only attempt that it takes; it ends when the result of that is acknowledged. Empty: it takes any
    number."""
    once_timeout: Seconds = 600.0
    """Seconds that such a worker waits for its attempt."""

    def check_rules(self, path: str) -> None:
        if not self.connect:
            raise InvalidSetting(
                f"connect is empty: name a hub, such as tcp://127.0.0.1:5890 (or set {CONNECT})", field="connect"
            )
        for address in self.connect:
            if not can_be_connected_to(address):
                raise InvalidSetting(
                    f"connect has {address!r}: write tcp://host:port or ipc:///path", field="connect", value=address
                )
        for field, text in (("name", self.name), *(("labels", part) for pair in self.labels.items() for part in pair)):
            checked_text(text, field, error=InvalidSetting)
            if len(text) > MAX_TEXT_LENGTH:
                raise InvalidSetting(
                    f"{field} has {text[:40]!r}…, {len(text)} characters: write at most {MAX_TEXT_LENGTH}", field=field
                )

    @property
    def shown_name(self) -> str:
        return self.name or f"{socket.gethostname()}-{os.getpid()}"


def from_environment(environment: Mapping[str, str], *, server_key: str = "") -> WorkerSettings:
    """Returns the settings of these variables; ``connect`` is empty if they name no hub. ``server_key`` is the
    hub's, for the pair that they name."""
    for name in environment:
        if (meant := _slip(name)) is not None:
            raise InvalidSetting(f"there is no variable {name}: did you mean {meant}?", field=name)
    concurrency = environment.get(CONCURRENCY, "").strip() or DEFAULT_CONCURRENCY
    return WorkerSettings(
        connect=tuple(part.strip() for part in environment.get(CONNECT, "").split(",") if part.strip()),
        name=environment.get(NAME, ""),
        labels=labels_of((part for part in environment.get(LABELS, "").split(",") if part.strip()), LABELS),
        concurrency=converted(concurrency, Concurrency, CONCURRENCY),
        keys=_keys(environment, server_key),
    )


_taken: dict[str, str] = {}
"""Secret keys that were taken out of the environment of this process, by their public halves."""


def _keys(environment: Mapping[str, str], server_key: str) -> CurveKeys | None:
    server, public, file = (environment.get(name, "") for name in (SERVER_KEY, PUBLIC_KEY, KEY_FILE))
    secret = _secret(environment, public)
    server = server_key or server if public or secret or file else server
    if not file:
        return CurveKeys.of(server, public, secret)
    if public or secret:
        raise InvalidSetting(
            f"{KEY_FILE} and {PUBLIC_KEY if public else SECRET_KEY} are both there: a worker has one pair of keys",
            code="two_key_pairs",
            field=KEY_FILE,
        )
    own = own_pair(Path(file), log)
    return CurveKeys.of(server, own.public, own.secret)


def _secret(environment: Mapping[str, str], public: str) -> str:
    """Returns the secret key, and removes it from the environment: programs that the worker starts could print it."""
    if environment is not os.environ:
        return environment.get(SECRET_KEY, "")
    if secret := os.environ.pop(SECRET_KEY, ""):
        _taken[public] = secret
    return _taken.get(public, "") if public else secret


def _slip(name: str) -> str | None:
    """Returns the variable that was probably meant; None for others that begin alike and those of the configuration."""
    if name in VARIABLES or not name.startswith("TURNOUT_") or "__" in name:
        return None
    return next(iter(get_close_matches(name, VARIABLES, n=1, cutoff=SLIP)), None)


def labels_of(pairs: Iterable[str], field: str = "labels") -> dict[str, str]:
    """Returns ``["gpu=true", "zone=a"]`` as labels; ``field`` is what an error names."""
    labels: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not (name and equals and value):
            raise InvalidSetting(f"{field} has {pair!r}: write NAME=VALUE, such as gpu=true", field=field, value=pair)
        if labels.setdefault(name, value) != value:
            raise InvalidSetting(
                f"{field} has {name}={labels[name]} and {name}={value}: a worker has one value for each name",
                field=field,
                value=pair,
            )
    return labels
