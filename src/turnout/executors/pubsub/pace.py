"""How fast a subscriber answers, and whether a batch that it has not answered was overtaken by later ones.

A batch may be lost on its way, or its answer may be, while the subscriber lives and answers others. A handler that
takes its time, and answers later batches from other threads meanwhile, looks the same; so what is known of a handler
decides: how long its answers have taken so far, and how many later ones have come.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection

PATIENCE = 2.0
"""How many times the longest answer of a handler a batch may take before it counts as overtaken."""
FADING = 0.99
"""What is left of the longest time with every answer: a slow hour does not count for ever."""


class Pace:
    """``batches`` later ones must have been answered, and ``after`` seconds be over; with 0 none is ever overtaken."""

    def __init__(self, batches: int, after: float) -> None:
        self._batches = batches
        self._after = after
        self._orders: dict[str, list[int]] = {}
        """By handler: the places of the answered batches that were published last, as a heap."""
        self._longest: dict[str, float] = {}
        self._probes: list[int] = []
        """The places of answered questions."""

    def answered(self, handler: str, order: int, took: float) -> None:
        """A step of this handler was answered so many seconds after its batch, the order-th, was first published."""
        if self._batches:
            self._push(self._orders.setdefault(handler, []), order)
            self._longest[handler] = max(self._longest.get(handler, 0.0) * FADING, took)

    def probed(self, order: int) -> None:
        """A question that was the order-th to be published was answered."""
        self._push(self._probes, order)

    def is_suspect(self, handlers: Collection[str], out_for: float, deliveries: int) -> bool:
        """Whether a batch has been out for longer than these handlers ever take; handlers that have not answered often
        enough may take any time. Each delivery doubles the time until the next."""
        if not self._batches or any(len(self._orders.get(each, ())) < self._batches for each in handlers):
            return False
        longest = max((self._longest[each] for each in handlers), default=0.0)
        return out_for >= max(self._after, PATIENCE * longest) * 2 ** (deliveries - 1)

    def is_overtaken(self, handlers: Collection[str], order: int) -> bool:
        """Whether enough that was published later, batches of each of these handlers or questions, was answered."""
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
