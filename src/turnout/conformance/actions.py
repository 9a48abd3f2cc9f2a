"""Applies the steps of a script that wait for nothing, and declares what the owner of sockets and program has to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

import msgspec

from turnout.conformance.hub import ScriptedHub
from turnout.conformance.patterns import Captured, fill
from turnout.conformance.rules import Rules
from turnout.conformance.step_shorthand import batch
from turnout.conformance.steps import Answer, Cut, Give, Launch, Send, Signal, Step, Welcome


class Post(msgspec.Struct, frozen=True):
    hub: int
    route: bytes
    frames: list[bytes]


class Drop(msgspec.Struct, frozen=True):
    """The hub's socket is closed, and opened again unless ``down``."""

    hub: int
    down: bool


class Kill(msgspec.Struct, frozen=True):
    signal: str


class Relaunch(msgspec.Struct, frozen=True):
    """The program is started again; the process before has ended."""


class Look(msgspec.Struct, frozen=True):
    """This file is read, and ``looked`` is called with its content."""

    file: str


Act: TypeAlias = Post | Drop | Kill | Relaunch | Look


class Verdict(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


Note = Callable[[int, str, str], None]
"""Takes a hub, an arrow and a text for the trace."""


class Actions:
    """Applies script steps to hubs; ``acts`` holds what the owner of the sockets and the program has to do."""

    def __init__(self, session: str, captured: Captured, rules: Rules, note: Note) -> None:
        self.acts: list[Act] = []
        self._session = session
        self._captured = captured
        self._rules = rules
        self._note = note
        self._batches = 0

    def apply(self, hub: ScriptedHub, step: Step) -> None:
        match step:
            case Send():
                self._send(hub, fill(step.send, self._captured))
            case Welcome():
                hub.welcome(fill(step.welcome, self._captured))
            case Give():
                self.give(hub, step.give, fill(step.session, self._captured) or None)
            case Answer():
                hub.answers.update(step.answer)
            case Cut():
                self._note(step.hub, "·", f"connections cut ({step.cut})")
                hub.forget_connections()
                self.acts.append(Drop(step.hub, step.cut == "down"))
            case Signal():
                self._note(1, "·", f"signal {step.signal}")
                self.acts.append(Kill(step.signal))
            case Launch():
                self._note(1, "·", "the program is started again")
                self.acts.append(Relaunch())
            case _:
                raise AssertionError(step)

    def give(self, hub: ScriptedHub, steps: Sequence[Mapping[str, Any]], session: str | None = None) -> None:
        self._batches += 1
        body = batch(f"batch_{self._batches}", fill(steps, self._captured), self._session)
        self._rules.give(body)
        hub.send("steps", body, session)

    def _send(self, hub: ScriptedHub, message: Mapping[str, Any]) -> None:
        if "frames" in message:
            hub.send_frames([each.encode() for each in message["frames"]])
        else:
            hub.send(message["kind"], message.get("body", {}), message.get("session"))
