"""Measures how fast a subscriber answers, and decides whether an unanswered batch was overtaken by later ones.

A batch may be lost on its way, or its answer may be, while the subscriber lives and answers others. A handler that
is slow with one batch, and answers later batches from other threads meanwhile, looks the same. So two measurements of
the handler decide: how long its answers have taken so far, and how many later batches it has answered.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection

OVERTAKEN_FACTOR = 2.0
"""A batch may take this many times the longest answer of its handler before it counts as overtaken."""
LONGEST_DECAY = 0.99
"""The longest time is multiplied by it with every answer, so that one slow answer does not count for ever."""


class Pace:
    """A batch is overtaken if ``batches`` later ones were answered and ``after`` seconds are over; with 0, never."""

    def __init__(self, batches: int, after: float) -> None:
        self._batches = batches
        self._after = after
        self._orders: dict[str, list[int]] = {}
        """By handler: the order of the answered batches that were published last, as a heap."""
        self._longest: dict[str, float] = {}
        self._probes: list[int] = []
        """The order of answered probes."""

    def answered(self, handler: str, order: int, took: float) -> None:
        """Called when a step of this handler was answered ``took`` seconds after its batch was first published."""
        if self._batches:
            self._push(self._orders.setdefault(handler, []), order)
            self._longest[handler] = max(self._longest.get(handler, 0.0) * LONGEST_DECAY, took)

    def probed(self, order: int) -> None:
        """Called when a probe with this order was answered."""
        self._push(self._probes, order)

    def is_suspect(self, handlers: Collection[str], out_for: float, deliveries: int) -> bool:
        """True if a batch is unanswered for longer than these handlers ever take. It is False while one of them has not
        answered often enough. Each delivery doubles the time until the next."""
        if not self._batches or any(len(self._orders.get(each, ())) < self._batches for each in handlers):
            return False
        longest = max((self._longest[each] for each in handlers), default=0.0)
        return out_for >= max(self._after, OVERTAKEN_FACTOR * longest) * 2 ** (deliveries - 1)

    def is_overtaken(self, handlers: Collection[str], order: int) -> bool:
        """True if enough later batches of each of these handlers, or probes, were answered."""
        probes = sum(each > order for each in self._probes)
        return all(
            probes + sum(each > order for each in self._orders.get(handler, ())) >= self._batches
            for handler in handlers
        )

    def _push(self, orders: list[int], order: int) -> None:
        if order not in orders:
            heapq.heappush(orders, order)
            if len(orders) > self._batches:
                heapq.heappop(orders)
