"""Who may be declared dead after the database was away? Nobody, until all had the time of one lease to renew theirs."""

from __future__ import annotations


class Outage:
    """What one orchestrator has seen of it; times by the monotonic clock."""

    def __init__(self, lease: float) -> None:
        self._lease = lease
        self._since: float | None = None
        self._grace = 0.0
        self._until = 0.0

    def away(self, now: float) -> None:
        """The database does not answer."""
        if self._since is None:
            self._since = now

    def grace(self, now: float) -> float:
        """It answers: how long a lease may be over without meaning anything."""
        # Leases are renewed long before they end, so a shorter absence made nobody late.
        if self._since is not None and now - self._since > self._lease / 2:
            self._grace, self._until = now - self._since + self._lease, now + self._lease
        self._since = None
        return self._grace if now < self._until else 0.0
