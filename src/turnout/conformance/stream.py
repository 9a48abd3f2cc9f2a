"""Sends many steps, as many at a time as the worker has credits, and acknowledges each result when it arrives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from turnout.conformance.hub import ScriptedHub
from turnout.conformance.steps import Flow

MAX_AT_ONCE = 100


class StepStream:
    """One stream of steps; ``give`` sends steps in shorthand."""

    def __init__(self, flow: Flow, hub: ScriptedHub, give: Callable[[Sequence[dict[str, Any]]], None]) -> None:
        self._flow = flow
        self._hub = hub
        self._give = give
        self._given = 0
        self._open: set[str] = set()

    @property
    def ended(self) -> int:
        return self._given - len(self._open)

    def advance(self) -> bool:
        """Processes arrived messages and sends steps within the credits. Returns True once all results have arrived."""
        self._acknowledge()
        while (count := min(self._hub.credits - len(self._open), self._flow.count - self._given, MAX_AT_ONCE)) > 0:
            tokens = [f"{self._flow.prefix}{self._given + number}.1" for number in range(1, count + 1)]
            self._given += count
            self._open |= set(tokens)
            self._give([{"token": token, "handler": self._flow.handler} for token in tokens])
        return self.ended == self._flow.count

    def _acknowledge(self) -> None:
        ended: list[str] = []
        for came in list(self._hub.mailbox):
            match came.kind:
                case "results":
                    tokens = [each["metadata"]["token"] for each in came.body["results"]]
                    ended += [token for token in tokens if token in self._open]
                case "received" | "heartbeat" | "credit":
                    tokens = []
                case _:
                    continue
            self._open -= set(tokens)
            self._hub.mailbox.remove(came)
        if ended:
            self._hub.send("ack", {"tokens": ended})
