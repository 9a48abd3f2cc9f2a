"""Defines the messages between hub and worker, one frozen struct for each kind (docs/reference/protocol.md)."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from turnout.wire.documents import StepBatch, StepResults

VERSION = "1.0"

Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""What every language can count with, and every codec can say again."""
MAX_CREDITS = 100_000
Credits: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=MAX_CREDITS)]

HeldState: TypeAlias = Literal["waiting", "running", "done"]


class Malformed(ValueError):
    """Raised when frames are no message: their sender is not to be trusted with a session."""


class OverLimit(Malformed):
    """A message that lists more than it may, or is too complex to be repaired: its sender is not heard any more."""


class Held(msgspec.Struct, frozen=True, gc=False):
    """A step that a worker holds."""

    token: str
    state: HeldState


class Hello(msgspec.Struct, frozen=True, kw_only=True):
    versions: tuple[str, ...]
    worker_id: str
    seq: int
    codecs: tuple[str, ...]
    credits: int
    handlers: tuple[str, ...]
    labels: dict[str, str] = {}
    name: str = ""
    language: str = ""
    sdk_version: str = ""
    host: str = ""
    pid: int = 0
    boot_id: str = ""
    pid_namespace: str = ""
    process_started: str = ""
    concurrency: int = 0
    """How many steps it runs at once, for people; 0: it does not say."""
    in_flight: tuple[Held, ...] = ()


class Welcome(msgspec.Struct, frozen=True, kw_only=True):
    protocol_version: str
    session: str
    seq: int
    hub_id: str
    codec: str
    heartbeat_ms: int
    lease_ms: int
    resend_ms: int
    max_message_bytes: int
    hubs: tuple[str, ...] = ()
    release: tuple[str, ...] = ()


class Credit(msgspec.Struct, frozen=True, omit_defaults=True):
    seq: Number
    credits: Credits
    concurrency: int = 0
    """As that of the hello, if it has changed; 0: it has not."""


class Heartbeat(msgspec.Struct, frozen=True, kw_only=True):
    """Of a worker. A hub answers with the ``seq``, what it takes over, and which hubs there are."""

    seq: Number
    credits: Credits = 0
    in_flight: tuple[Held, ...] = ()
    keep: tuple[str, ...] = ()
    hubs: tuple[str, ...] = ()


class Received(msgspec.Struct, frozen=True):
    tokens: tuple[str, ...]


class Start(msgspec.Struct, frozen=True):
    tokens: tuple[str, ...]


class Started(msgspec.Struct, frozen=True):
    granted: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()


class Ack(msgspec.Struct, frozen=True):
    tokens: tuple[str, ...]


class Cancel(msgspec.Struct, frozen=True):
    tokens: tuple[str, ...]
    reason: str = ""


class Line(msgspec.Struct, frozen=True):
    stream: str
    text: str


class Log(msgspec.Struct, frozen=True):
    token: str
    offset: Number
    lines: tuple[Line, ...]


class Logged(msgspec.Struct, frozen=True):
    token: str
    next: int


class Progress(msgspec.Struct, frozen=True):
    token: str
    done: float
    total: float | None = None
    message: str = ""


class Drain(msgspec.Struct, frozen=True):
    reason: str = ""


class Bye(msgspec.Struct, frozen=True):
    reason: str = ""


class Error(msgspec.Struct, frozen=True):
    code: str
    message: str = ""
    retry: bool = True
    tokens: tuple[str, ...] = ()
    """What it is about, where it is about steps."""


Message: TypeAlias = (
    Hello
    | Welcome
    | Credit
    | Heartbeat
    | Received
    | Start
    | Started
    | Ack
    | Cancel
    | Log
    | Logged
    | Progress
    | Drain
    | Bye
    | Error
    | StepBatch
    | StepResults
)

KINDS: dict[str, type[Any]] = {
    "hello": Hello,
    "welcome": Welcome,
    "credit": Credit,
    "heartbeat": Heartbeat,
    "steps": StepBatch,
    "received": Received,
    "start": Start,
    "started": Started,
    "results": StepResults,
    "ack": Ack,
    "cancel": Cancel,
    "log": Log,
    "logged": Logged,
    "progress": Progress,
    "drain": Drain,
    "bye": Bye,
    "error": Error,
}
KIND_OF: dict[type[Any], str] = {message: kind for kind, message in KINDS.items()}
ALWAYS_JSON = frozenset({"hello", "welcome", "error"})
