"""Do shadow attempts answer as the real ones do? Compares and logs; nothing here touches a run."""

from __future__ import annotations

import logging
from collections import OrderedDict

import msgspec

from turnout.model.events import ExecutionResult, TaskReadyEvent

log = logging.getLogger("turnout.shadow")

REMEMBERED = 10_000
"""Attempts whose other half is waited for; beyond it the oldest are forgotten and counted."""


class ShadowMetrics(msgspec.Struct):
    same: int = 0
    different: int = 0
    forgotten: int = 0


class Shadows:
    """Pairs of a real result and its shadow."""

    def __init__(self) -> None:
        self.expected: OrderedDict[tuple[str, int], list[ExecutionResult]] = OrderedDict()
        self.metrics = ShadowMetrics()

    def expect(self, event: TaskReadyEvent) -> None:
        self.expected[event.task_id, event.attempt] = []
        while len(self.expected) > REMEMBERED:
            self.expected.popitem(last=False)
            self.metrics.forgotten += 1

    def compare(self, result: ExecutionResult) -> None:
        key = (result.task_id, result.attempt)
        seen = self.expected.get(key)
        if seen is None:
            return
        seen.append(result)
        if len(seen) < 2:
            return
        del self.expected[key]
        real, shadow = sorted(seen, key=lambda one: one.shadow)
        if (real.status, real.output) == (shadow.status, shadow.output):
            self.metrics.same += 1
            return
        self.metrics.different += 1
        log.warning(
            "shadow of %s attempt %d differs: %s %s, shadow %s %s",
            result.task_id,
            result.attempt,
            real.status,
            (real.output or "")[:200],
            shadow.status,
            (shadow.output or "")[:200],
        )
