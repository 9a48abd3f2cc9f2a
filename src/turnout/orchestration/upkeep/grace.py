"""How long an attempt that a worker or poller holds is left alone by an orchestrator that has just claimed its run."""

from __future__ import annotations

from turnout.model.rows import Holder

AWAY_KINDS = frozenset({"worker", "poller"})
"""Sessions of those who hold attempts without driving runs: they may be there although nobody renewed their lease."""
LEAST = 8.0
"""Seconds that it lasts at least, however short the lease: a worker's next try to reach its hub may be 5 s away."""


def grace(holder: Holder | None, *, gone: bool) -> float:
    """Seconds in which an attempt of this holder is not lost, whatever its lease says. ``gone``: its process is known
    to have died. What an orchestrator held itself, and what nobody is known to hold, gets none.

    >>> grace(None, gone=False)
    0.0
    """
    if holder is None or gone or holder.session.kind not in AWAY_KINDS:
        return 0.0
    return max(holder.lease, LEAST)
