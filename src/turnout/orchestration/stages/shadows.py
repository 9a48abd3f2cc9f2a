"""Compares the results of shadow attempts with the real ones, and logs differences. Changes no run."""

from __future__ import annotations

import logging
from collections import OrderedDict

import msgspec

from turnout.model.events import ExecutionResult, ExecutionStatus, TaskReadyEvent

log = logging.getLogger("turnout.shadow")

MAX_REMEMBERED = 10_000
"""Attempts whose other half is waited for; beyond it the oldest are forgotten and counted."""


NO_ANSWER = frozenset({ExecutionStatus.RETURNED, ExecutionStatus.LOST, ExecutionStatus.CANCELLED})
"""How attempts end of which nobody knows what they would have answered."""


class ShadowMetrics(msgspec.Struct):
    same: int = 0
    different: int = 0
    unanswered: int = 0
    """One of the two ended without an answer."""
    without_room: int = 0
    """Attempts that got no shadow, since nobody had a place for it."""
    forgotten: int = 0


class Shadows:
    """Pairs of a real result and its shadow."""

    def __init__(self) -> None:
        self.expected: OrderedDict[tuple[str, int], ExecutionResult | None] = OrderedDict()
        """By task and attempt, whichever of the two results is there."""
        self.metrics = ShadowMetrics()

    def expect(self, event: TaskReadyEvent) -> None:
        self.expected[event.task_id, event.attempt] = None
        while len(self.expected) > MAX_REMEMBERED:
            self.expected.popitem(last=False)
            self.metrics.forgotten += 1

    def compare(self, result: ExecutionResult) -> None:
        key = (result.task_id, result.attempt)
        if key not in self.expected:
            return
        other = self.expected[key]
        if other is None or other.shadow is result.shadow:
            self.expected[key] = result
            return
        del self.expected[key]
        self._evaluate_trigger(*((other, result) if result.shadow else (result, other)))

    def _evaluate_trigger(self, real: ExecutionResult, shadow: ExecutionResult) -> None:
        if NO_ANSWER & {real.status, shadow.status}:
            self.metrics.unanswered += 1
            return
        if (real.status, real.output) == (shadow.status, shadow.output):
            self.metrics.same += 1
            return
        self.metrics.different += 1
        log.warning(
            "shadow of %s attempt %d differs: %s %s, shadow %s %s",
            real.task_id,
            real.attempt,
            real.status,
            (real.output or "")[:200],
            shadow.status,
            (shadow.output or "")[:200],
        )
