"""The steps that a script is made of, each with the key that tells it apart."""

from __future__ import annotations

from math import inf
from typing import Any, Literal, TypeAlias

import msgspec

WITHIN_MS = 10_000
"""How long a script waits for what must come, unless it says otherwise."""
HELLO_WITHIN_MS = 30_000
"""A program may take its time to start."""


class MessagePattern(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message as a pattern."""

    kind: str
    body: dict[str, Any] = {}


class _Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    hub: int = 1
    note: str = ""
    """Why; for readers of the file."""


class Expect(_Step, frozen=True, kw_only=True):
    """A message must come."""

    expect: MessagePattern
    within_ms: int | None = None
    not_before_ms: int = 0
    """It must not come sooner than that after the step before it."""
    new: bool = False
    """Only what comes from now on counts."""
    next: bool = False
    """The very next of its kind must match."""
    connections: int = 1
    """Messages of this kind must have come over so many; of hellos, the one with the lowest ``seq`` is taken."""
    or_skip: str = ""
    """If it does not match, or does not come, the program has not got this ability; the session is skipped."""


class Nothing(_Step, frozen=True, kw_only=True):
    """None of these may come for so long, counted by this clock and by the heartbeats of the program."""

    nothing: list[MessagePattern]
    for_ms: int


class Send(_Step, frozen=True, kw_only=True):
    send: dict[str, Any]
    """``kind``, ``body`` and, if not the session's own, ``session``; or ``frames``, as they are."""


class Welcome(_Step, frozen=True, kw_only=True):
    """Answer the last hello that was expected; fields that are not given are the session's."""

    welcome: dict[str, Any]


class Greet(_Step, frozen=True, kw_only=True):
    """Expect a hello, welcome it, and expect the first heartbeat."""

    greet: dict[str, Any]
    """Of the welcome."""
    hello: dict[str, Any] = {}


class Give(_Step, frozen=True, kw_only=True):
    """Sends steps, written in short (``step_shorthand``)."""

    give: list[dict[str, Any]]
    session: str = ""


class Answer(_Step, frozen=True, kw_only=True):
    """Sets what the hub answers by itself from now on."""

    answer: dict[str, bool]


class Cut(_Step, frozen=True, kw_only=True):
    """Break the connections, and be there again at once, or not (``down``)."""

    cut: Literal["restart", "down"]


class Pause(_Step, frozen=True, kw_only=True):
    pause_ms: int


class Signal(_Step, frozen=True, kw_only=True):
    signal: Literal["TERM", "KILL"]


class Launch(_Step, frozen=True, kw_only=True):
    """Starts the program again after it has ended."""

    launch: Literal["again"]


class Flow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """So many steps with the same handler."""

    count: int
    handler: str
    prefix: str


class Stream(_Step, frozen=True, kw_only=True):
    """Sends these steps as the worker's credits allow and acknowledges each result, until all have come."""

    stream: Flow
    within_ms: int = 6 * WITHIN_MS


class Exit(_Step, frozen=True, kw_only=True):
    """The program must end, with this code."""

    exit: int | Literal["any", "nonzero"]
    within_ms: int = WITHIN_MS


class File(_Step, frozen=True, kw_only=True):
    """A file of the session's folder has exactly these lines; null: it is not there."""

    file: str
    lines: list[str] | None
    within_ms: int = WITHIN_MS


class Lines(_Step, frozen=True, kw_only=True):
    """The log of a token, put together by offset, is exactly this text."""

    lines_of: str
    texts: list[str]
    within_ms: int = WITHIN_MS


Step: TypeAlias = (
    Expect
    | Nothing
    | Send
    | Welcome
    | Greet
    | Give
    | Stream
    | Answer
    | Cut
    | Pause
    | Signal
    | Launch
    | Exit
    | File
    | Lines
)
BY_KEY: dict[str, type[Any]] = {
    "expect": Expect,
    "nothing": Nothing,
    "send": Send,
    "welcome": Welcome,
    "greet": Greet,
    "give": Give,
    "stream": Stream,
    "answer": Answer,
    "cut": Cut,
    "pause_ms": Pause,
    "signal": Signal,
    "launch": Launch,
    "exit": Exit,
    "file": File,
    "lines_of": Lines,
}


def seconds_for(step: Step) -> float:
    """Returns the time limit of a step that waits for a message."""
    match step:
        case Expect():
            usual = HELLO_WITHIN_MS if step.expect.kind == "hello" else WITHIN_MS
            return (usual if step.within_ms is None else step.within_ms) / 1000
        case Exit() | File() | Lines() | Stream():
            return step.within_ms / 1000
        case Nothing():
            return (step.for_ms + WITHIN_MS) / 1000
        case _:
            return inf


def measures_time(step: Step) -> bool:
    """True if the step shows by its own limits how soon or how late the program does something."""
    match step:
        case Expect():
            return (step.within_ms or WITHIN_MS) < WITHIN_MS or step.not_before_ms > 0
        case File() | Lines():
            return step.within_ms < WITHIN_MS
        case _:
            return False
