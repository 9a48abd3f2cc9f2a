"""What is a worker told? Its hubs, labels, places and keys, as values and as the variables that every worker knows."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path

import msgspec

from turnout.errors import InvalidSetting
from turnout.model.texts import checked_text
from turnout.runtime.log_buffer import LogSettings
from turnout.wire.addresses import can_be_connected_to
from turnout.wire.handshake import MAX_TEXT_LENGTH
from turnout.wire.keys import own_pair
from turnout.worker.keys import CurveKeys

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
"""How much alike two names are of which one was written for the other."""
DEFAULT_CONCURRENCY = 4
MAX_CONCURRENCY = 10_000
"""Each place is a thread or a process; hubs give a tenth of a million credits at most."""


class WorkerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything has a default but the hubs."""

    connect: tuple[str, ...]
    """Addresses of hubs, such as ``tcp://127.0.0.1:5890``."""
    discover: bool = True
    """Whether to connect to the other hubs that a hub names."""
    name: str = ""
    """For people; by default the machine's name and the process id."""
    labels: dict[str, str] = {}
    concurrency: int = DEFAULT_CONCURRENCY
    """How many steps run at once. Twice as many are asked for, so that the next is there when a place becomes free."""
    processes: bool = False
    """Each Python body in a child process, which can really be killed, instead of a thread."""
    grace: float = 30.0
    """Seconds that running steps get to finish when the worker is told to stop."""
    kill_grace: float = 5.0
    """Seconds between SIGTERM and SIGKILL for a process whose step was cancelled or has timed out."""
    keys: CurveKeys | None = None
    logs: LogSettings = LogSettings()
    max_message_bytes: int = 16 * 1024 * 1024
    """Larger messages are not taken."""

    def check(self) -> None:
        """Raise what is wrong with them."""
        if not self.connect:
            raise InvalidSetting(
                f"connect is empty: name a hub, such as tcp://127.0.0.1:5890 (or set {CONNECT})", field="connect"
            )
        for address in self.connect:
            if not can_be_connected_to(address):
                raise InvalidSetting(
                    f"connect has {address!r}: write tcp://host:port or ipc:///path", field="connect", value=address
                )
        if not 1 <= self.concurrency <= MAX_CONCURRENCY:
            raise InvalidSetting(
                f"concurrency is {self.concurrency}: write a number from 1 to {MAX_CONCURRENCY}", field="concurrency"
            )
        for field, text in (("name", self.name), *(("labels", part) for pair in self.labels.items() for part in pair)):
            checked_text(text, field, error=InvalidSetting)
            if len(text) > MAX_TEXT_LENGTH:
                raise InvalidSetting(
                    f"{field} has {text[:40]!r}…, {len(text)} characters: write at most {MAX_TEXT_LENGTH}", field=field
                )
        if self.grace < 0 or self.kill_grace < 0:
            raise InvalidSetting("grace and kill_grace are seconds, not below 0", field="grace")
        self.logs.check()

    @property
    def shown_name(self) -> str:
        return self.name or f"{socket.gethostname()}-{os.getpid()}"


def from_environment(environment: Mapping[str, str], *, server_key: str = "") -> WorkerSettings:
    """What the variables say; ``connect`` is empty if they name no hub. ``server_key`` is the hub's for the pair that
    they name."""
    for name in environment:
        if (meant := _slip(name)) is not None:
            raise InvalidSetting(f"there is no variable {name}: did you mean {meant}?", field=name)
    said = environment.get(CONCURRENCY, "").strip() or str(DEFAULT_CONCURRENCY)
    if not said.isdecimal():
        raise InvalidSetting(
            f"{CONCURRENCY} is {said!r}: write a number from 1 to {MAX_CONCURRENCY}", field=CONCURRENCY
        )
    return WorkerSettings(
        connect=tuple(part.strip() for part in environment.get(CONNECT, "").split(",") if part.strip()),
        name=environment.get(NAME, ""),
        labels=labels_of((part for part in environment.get(LABELS, "").split(",") if part.strip()), LABELS),
        concurrency=int(said),
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
    """The secret key. What the worker starts gets its environment, and may print it: the key does not stay there."""
    if environment is not os.environ:
        return environment.get(SECRET_KEY, "")
    if secret := os.environ.pop(SECRET_KEY, ""):
        _taken[public] = secret
    return _taken.get(public, "") if public else secret


def _slip(name: str) -> str | None:
    """The variable that was probably meant; others that begin alike, and those of the configuration, are not ours."""
    if name in VARIABLES or not name.startswith("TURNOUT_") or "__" in name:
        return None
    return next(iter(get_close_matches(name, VARIABLES, n=1, cutoff=SLIP)), None)


def labels_of(pairs: Iterable[str], field: str = "labels") -> dict[str, str]:
    """``["gpu=true", "zone=a"]`` as labels; ``field`` is who says so."""
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
