"""After an outage of the database, no session is declared dead before all had the time of one lease to renew theirs.

The same for workers and pollers after the start of an orchestrator: their hub may have been away with it, or the
database with all of them, and nobody knows for how long."""

from __future__ import annotations


class Outage:
    """What one orchestrator has seen of it; times by the monotonic clock."""

    def __init__(self, lease: float, started: float) -> None:
        self._lease = lease
        self._started = started
        self._since: float | None = None
        self._grace = 0.0
        self._until = 0.0

    def away(self, now: float) -> None:
        """The database does not answer."""
        if self._since is None:
            self._since = now

    def spares_holders(self, now: float) -> bool:
        """Whether workers and pollers whose leases are over may still come back to an orchestrator that is new."""
        return now < self._started + self._lease

    def grace(self, now: float) -> float:
        """It answers: how long a lease may be over without meaning anything."""
        # Leases are renewed long before they end, so a shorter absence made nobody late.
        if self._since is not None and now - self._since > self._lease / 2:
            self._grace, self._until = now - self._since + self._lease, now + self._lease
        self._since = None
        return self._grace if now < self._until else 0.0
