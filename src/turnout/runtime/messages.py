"""Declares the messages between an orchestrator and a child process: JSON with its length in front."""

from __future__ import annotations

import logging
import struct
from typing import Any, TypeAlias

import msgspec

from turnout.model.deferral import Condition
from turnout.model.events import ExecutionResult, TaskReadyEvent

LENGTH = struct.Struct(">I")


class Where(msgspec.Struct, frozen=True, omit_defaults=True):
    """The location of a function for another process: the module, the name in it, and the file if the module has no
    name that can be imported there."""

    module: str
    qualname: str
    file: str | None = None


class Setting(msgspec.Struct, frozen=True, kw_only=True, tag="setting"):
    """The first message: the state of the parent's interpreter."""

    path: list[str]
    argv: list[str]
    cwd: str
    main_name: str | None = None
    """How ``__main__`` can be run again: by its name (``python -m name``) or by its file."""
    main_file: str | None = None
    output_limit: int
    log_level: int = logging.WARNING
    """The level of the root logger."""


class Job(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="job"):
    """One attempt: everything that ``Work`` has, with names for functions."""

    event: TaskReadyEvent
    workflow: str = ""
    name: str = ""
    body: Where
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    context: dict[str, Any] | None = None
    index: int | None = None
    labels: dict[str, str] = {}
    timeout: float | None = None
    begin_by: float | None = None
    """The time until which it may begin, by ``contracts.clock.boot_time``: it is checked where the body is called."""
    idempotency_key: str = ""
    token: str = ""
    saved: Any = None
    condition: Condition | None = None
    predicate: Where | None = None
    """Where the child finds the function that the task declares for the condition."""
    retry_if: Where | None = None
    own_retry_if: bool = False
    """True if the predicate is that of the task found at ``body``."""
    traceparent: str = ""


class Began(msgspec.Struct, frozen=True, tag="began"):
    """The child has taken the job: if it dies from now on, the job has crashed."""

    at: float


class Entered(msgspec.Struct, frozen=True, tag="entered"):
    """The body was found, and is called now."""


class BodyOutput(msgspec.Struct, frozen=True, tag="said"):
    """Text that the body has printed or logged, or its progress."""

    stream: str
    text: str


class Done(msgspec.Struct, frozen=True, tag="done"):
    result: ExecutionResult


ToChild: TypeAlias = Setting | Job
FromChild: TypeAlias = Began | Entered | BodyOutput | Done

encode_json = msgspec.json.Encoder().encode
decode_to_child = msgspec.json.Decoder(ToChild).decode
decode_from_child = msgspec.json.Decoder(FromChild).decode


def frame(message: ToChild | FromChild) -> bytes:
    """Returns the message with its length in front."""
    data = encode_json(message)
    return LENGTH.pack(len(data)) + data
