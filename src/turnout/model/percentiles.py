"""Computes percentiles of durations: of values, and of counts in buckets (pure)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Spread(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The spread of durations, in seconds. Without any there are no percentiles."""

    count: int
    p50: float | None = None
    p95: float | None = None


def percentile(values: Sequence[float], share: float) -> float:
    """Returns the value below which this share of the values lies, between the nearest two. ``values`` ascend.

    >>> percentile([1.0, 2.0, 3.0, 4.0], 0.5)
    2.5
    """
    at = share * (len(values) - 1)
    below = int(at)
    above = min(below + 1, len(values) - 1)
    return values[below] + (values[above] - values[below]) * (at - below)


def spread(values: Sequence[float]) -> Spread:
    """Returns the count, the median and the 95th percentile, in any order of the values."""
    if not values:
        return Spread(count=0)
    ordered = sorted(values)
    return Spread(count=len(ordered), p50=percentile(ordered, 0.5), p95=percentile(ordered, 0.95))
