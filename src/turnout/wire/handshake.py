"""Decides which workers a hub welcomes, and writes the welcome."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable

import msgspec

from turnout.wire.frames import CODECS
from turnout.wire.messages import MAX_CREDITS, VERSION, Error, Hello, Welcome

_WORKER_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
MAX_LABELS, MAX_HANDLERS = 64, 10_000
MAX_TEXT_LENGTH = 256
MAX_PID = 2**31 - 1
MAX_BLOCKED = 10_000
SUSPENSION_SECONDS = 30.0
"""Seconds for which a key is refused whose worker sent a message over the limit."""


class HubFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of every welcome."""

    hub_id: str
    heartbeat_ms: int = 5_000
    lease_ms: int = 15_000
    resend_ms: int = 2_000
    max_message_bytes: int = 16 * 1024 * 1024
    hubs: tuple[str, ...] = ()
    codecs: tuple[str, ...] = CODECS

    def welcome(self, session: str, seq: int, codec: str, release: tuple[str, ...]) -> Welcome:
        return Welcome(
            protocol_version=VERSION,
            session=session,
            seq=seq,
            hub_id=self.hub_id,
            codec=codec,
            heartbeat_ms=self.heartbeat_ms,
            lease_ms=self.lease_ms,
            resend_ms=self.resend_ms,
            max_message_bytes=self.max_message_bytes,
            hubs=self.hubs,
            release=release,
        )


Permission = Callable[[str | None, Hello], Error | None]
"""Returns the error for a worker that its key does not allow, or not with this name, these labels and handlers."""


class HelloCheck:
    """Checks a hello before its session is opened."""

    def __init__(self, permission: Permission = lambda key, hello: None) -> None:
        self._permission = permission

    def refusal(self, hello: Hello, key: str | None, key_before: str | None) -> Error | None:
        """Returns the error that refuses the worker; None if it is welcome."""
        if VERSION not in hello.versions:
            spoken = ", ".join(hello.versions[:8]) or "none"
            return Error("version_unsupported", f"this hub speaks {VERSION}, the worker {spoken}", retry=False)
        if not set(hello.codecs) & set(CODECS):
            return Error("codec_unsupported", f"this hub knows {', '.join(CODECS)}", retry=False)
        if (problem := _problem(hello)) is not None:
            return Error("bad_hello", problem, retry=False)
        if key != key_before:
            return Error("worker_in_use", f"worker {hello.worker_id} belongs to another key", retry=False)
        return self._permission(key, hello)


class Blocklist:
    """Connections that are ignored, and keys that are refused for a while, after a message over the limit."""

    def __init__(self) -> None:
        self._routes: OrderedDict[bytes, None] = OrderedDict()
        self._keys: dict[str, float] = {}

    def add(self, route: bytes, key: str | None, now: float) -> None:
        self._routes[route] = None
        while len(self._routes) > MAX_BLOCKED:
            self._routes.popitem(last=False)
        if key is not None:
            self._keys[key] = now + SUSPENSION_SECONDS

    def has_route(self, route: bytes) -> bool:
        return route in self._routes

    def has_key(self, key: str | None, now: float) -> bool:
        if key is None or key not in self._keys:
            return False
        if now < self._keys[key]:
            return True
        del self._keys[key]
        return False


def _problem(hello: Hello) -> str | None:
    if not _WORKER_ID.fullmatch(hello.worker_id):
        return "worker_id must be 1 to 64 of A-Z a-z 0-9 _ . -"
    if not 0 <= hello.credits <= MAX_CREDITS:
        return f"credits is {hello.credits}; it must be between 0 and {MAX_CREDITS}"
    if not 0 <= hello.concurrency <= MAX_CREDITS:
        return f"concurrency is {hello.concurrency}; it must be between 0 and {MAX_CREDITS}"
    if len(hello.labels) > MAX_LABELS or len(hello.handlers) > MAX_HANDLERS:
        return f"at most {MAX_LABELS} labels and {MAX_HANDLERS} handlers"
    texts = (hello.name, hello.language, hello.sdk_version, hello.host, hello.boot_id, hello.pid_namespace)
    texts += (hello.process_started, *hello.labels, *hello.labels.values(), *hello.handlers)
    # Logs and tables print them as they are: none may forge a line there, or move a cursor.
    if any(len(text) > MAX_TEXT_LENGTH or not text.isprintable() for text in texts):
        return f"names, labels and handlers have at most {MAX_TEXT_LENGTH} characters, all of them printable"
    if not 0 <= hello.pid <= MAX_PID:
        return f"pid is {hello.pid}; it must be between 0 and {MAX_PID}"
    return None
