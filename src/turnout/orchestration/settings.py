"""Declares every bound and interval of an orchestrator with its default, and the retention of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from turnout.errors import InvalidSetting
from turnout.model.breaker import BreakerSettings
from turnout.model.setting_types import Age, Count, NonNegativeSeconds, Period, Seconds, Settings
from turnout.model.states import RUN_TERMINAL, RunState
from turnout.model.verdict import Limits
from turnout.orchestration.coordination.settings import CoordinatorSettings, PoolsSettings
from turnout.runtime.log_buffer import LogSettings


class Retention(Settings, frozen=True, kw_only=True):
    """Settings of the deletion of runs after their end."""

    table: ClassVar[str] = "orchestration.retention"

    older_than: Age = "30d"
    """Runs that ended longer ago are deleted."""
    every: Period = "1h"
    """The time between two deletions by one of the orchestrators on the database."""
    states: tuple[RunState, ...] = (RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED)
    """Only runs that ended in one of these states are deleted."""
    runs: Count = 100
    """Runs in one transaction."""
    rows: Count = 2_000
    """Rows of one table in one transaction."""

    def check_rules(self, path: str) -> None:
        ended_states(self.states, f"{path}.states")


def ended_states(states: Sequence[RunState | str], path: str = "states") -> list[RunState]:
    """Returns these states if runs can end in them. Raises InvalidSetting otherwise: nothing else is ever pruned."""
    known = {str(state): state for state in RUN_TERMINAL}
    for state in states:
        if str(state) not in known:
            may = ", ".join(sorted(known))
            raise InvalidSetting(f"{path} holds {str(state)!r}: only runs that ended are deleted, in {may}", field=path)
    return [known[str(state)] for state in states]


class EngineSettings(Settings, frozen=True, kw_only=True):
    """Limits and intervals of an orchestrator."""

    table: ClassVar[str] = "orchestration"

    heartbeat: Seconds = 5.0
    """Seconds within which other orchestrators expect a heartbeat; the lease is renewed at half of it."""
    lease: Seconds = 15.0
    """Seconds without a renewal after which other orchestrators claim the runs."""
    self_fence: Seconds = 12.0
    """Seconds without a renewal after which this orchestrator starts nothing new."""
    sweep: Seconds = 2.0
    """Seconds between two sweeps for lost notifications, dead owners and stray attempts."""
    max_owned_runs: Count = 10_000
    """Runs held in memory; above it, submissions are stored for any orchestrator to claim."""
    claim_batch: Count = 500
    """Runs claimed at a time."""
    lanes: Count = 8
    """Commits in flight at once, at most (PostgreSQL; SQLite has one writer). As many are used as the largest pool has
    stage executors."""
    connections: Count = 10
    """Connections to PostgreSQL for everything but commits and the lease."""
    request_high_water: Count = 10_000
    """Submissions that are not durable yet; above it, ``submit`` waits."""
    submit_wait: NonNegativeSeconds | None = None
    """Seconds that ``submit`` waits then before it raises ``TooBusy``; None: until there is room, 0: not at all."""
    coordinator: CoordinatorSettings = CoordinatorSettings()
    """The sizing and supervision of the pools."""
    executor_pools: PoolsSettings = PoolsSettings()
    """The five pools."""
    executor_breaker: BreakerSettings | None = BreakerSettings()
    """The circuit breaker of each task executor; None: they have none."""
    max_commit: Count = 512
    """Runs in one commit."""
    cancel_grace: Seconds = 10.0
    """Seconds that a cancelled attempt may take to stop before its run ends without it."""
    stop_grace: Seconds = 10.0
    """Seconds that running bodies get when the Runner closes."""
    limits: Limits = Limits()
    """Limits of losses and deferrals of a task, and of the size of a run."""
    logs: LogSettings = LogSettings()
    """The storage of the output of attempts."""
    retention: Retention | None = None
    """The deletion of ended runs; None: nothing is deleted automatically."""

    def check_rules(self, path: str) -> None:
        if not self.heartbeat <= self.self_fence < self.lease:
            raise InvalidSetting(
                f"{path}.self_fence is {self.self_fence:g}; it must be at least heartbeat, {self.heartbeat:g}, "
                f"and less than lease, {self.lease:g}",
                field=f"{path}.self_fence",
                beside=(f"{path}.heartbeat", f"{path}.lease"),
            )
