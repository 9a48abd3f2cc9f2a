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


class _Pairing:
    """A real attempt and the shadows that it was given."""

    __slots__ = ("answers", "real", "shadows")

    def __init__(self) -> None:
        self.real: ExecutionResult | None = None
        self.answers: list[ExecutionResult] = []
        self.shadows = 0


class Shadows:
    """Pairs of a real result and its shadow."""

    def __init__(self) -> None:
        self.expected: OrderedDict[tuple[str, int], _Pairing] = OrderedDict()
        self.metrics = ShadowMetrics()

    def expect(self, event: TaskReadyEvent) -> None:
        self.expected.setdefault((event.task_id, event.attempt), _Pairing()).shadows += 1
        while len(self.expected) > REMEMBERED:
            self.expected.popitem(last=False)
            self.metrics.forgotten += 1

    def compare(self, result: ExecutionResult) -> None:
        key = (result.task_id, result.attempt)
        pairing = self.expected.get(key)
        if pairing is None:
            return
        if result.shadow:
            pairing.answers.append(result)
        else:
            pairing.real = result
        if pairing.real is None:
            return
        for shadow in pairing.answers:
            pairing.shadows -= 1
            self._judge(pairing.real, shadow)
        pairing.answers.clear()
        if pairing.shadows <= 0:
            del self.expected[key]

    def _judge(self, real: ExecutionResult, shadow: ExecutionResult) -> None:
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
