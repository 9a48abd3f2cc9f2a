"""Decides which topics a commit announces to other processes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from turnout.model.rows import RunWrite
from turnout.orchestration.active_runs import ActiveRuns
from turnout.orchestration.session import OrchestratorSession


class Announcements:
    """The topics of commits; none if no other session is alive."""

    def __init__(self, session: OrchestratorSession, runs: ActiveRuns, polled: Collection[str] | None) -> None:
        self._session = session
        self._runs = runs
        self._polled = polled
        """Executor keys that pollers serve; None: they serve all."""

    def topics_of(self, writes: Sequence[RunWrite]) -> frozenset[str]:
        """Returns the topics that a commit of these writes announces."""
        # Pollers may have come since the lease was last renewed, so what is offered to them is always announced.
        if not self._session.peers and self._polled is not None and not self._polled:
            return frozenset()
        topics: set[str] = set()
        for write in writes:
            if write.insert is not None and write.owner is None:
                topics.add("queued" if write.limits else "runs")
            if write.run is not None and write.run.state.terminal:
                topics.add("finished")
                if write.answer is not None and write.answer.run_id not in self._runs:
                    topics.add("inbox")
            if any(row.poll_key for row in (*write.tasks, *write.items)):
                topics.add("ready")
        return frozenset(topics)
