"""Splits a batch that fails in halves, down to the items at fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def bisect_failing(
    items: Sequence[T], attempt: Callable[[Sequence[T]], R], has_failed: Callable[[R], bool]
) -> Iterator[tuple[Sequence[T], R]]:
    """Yields parts of the items, in order, with the result of their attempt. A part that has failed has one item.

    >>> halves = bisect_failing([1, 2, 0, 4], lambda part: 0 in part, lambda failed: failed)
    >>> list(halves)
    [([1, 2], False), ([0], True), ([4], False)]
    """
    parts = [items]
    while parts:
        part = parts.pop()
        result = attempt(part)
        if len(part) > 1 and has_failed(result):
            half = len(part) // 2
            parts += [part[half:], part[:half]]
        else:
            yield part, result
