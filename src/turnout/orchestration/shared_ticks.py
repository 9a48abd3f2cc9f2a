"""Lets the timers of idle loops end together, so that an idle process wakes a few times a second and not for each."""

from __future__ import annotations

GRID = 0.25
"""Seconds between two moments at which they end."""


def aligned(interval: float, now: float) -> float:
    """Returns the seconds from ``now`` to the first moment of the grid that is at least ``interval`` away. An interval
    that is shorter than the grid stays as it is.

    >>> aligned(1.0, 10.1), aligned(0.1, 10.1)
    (1.15, 0.1)
    """
    if interval < GRID:
        return interval
    return round(interval + -(now + interval) % GRID, 9)


def aligned_within(interval: float, now: float) -> float:
    """Returns the seconds from ``now`` to the last moment of the grid that is at most ``interval`` away. An interval
    that is shorter than two steps of the grid stays as it is.

    >>> aligned_within(2.0, 10.1), aligned_within(0.1, 10.1)
    (1.9, 0.1)
    """
    if interval < 2 * GRID:
        return interval
    return round(interval - (now + interval) % GRID, 9)
