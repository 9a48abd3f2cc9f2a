"""Every bound and interval of an orchestrator, with its default; how long it keeps runs."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from turnout.errors import InvalidSetting, InvalidWorkflow
from turnout.model.breaker import BreakerSettings
from turnout.model.checks import at_least, positive_seconds
from turnout.model.durations import Duration, seconds
from turnout.model.states import RUN_TERMINAL, RunState
from turnout.model.verdict import Limits
from turnout.orchestration.coordination.settings import CoordinatorSettings, PoolsSettings
from turnout.runtime.log_buffer import LogSettings


class Retention(msgspec.Struct, frozen=True, kw_only=True):
    """How long runs are kept after their end."""

    older_than: Duration = "30d"
    """Runs that ended longer ago are deleted."""
    every: Duration = "1h"
    """How often that is looked into, by one of the orchestrators on the database."""
    states: tuple[RunState, ...] = (RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED)
    """Only runs that ended so."""
    runs: int = 100
    """Runs in one transaction."""
    rows: int = 2_000
    """Rows of one table in one transaction."""

    def check(self, path: str = "orchestration.retention") -> None:
        for name in ("older_than", "every"):
            value, at = getattr(self, name), f"{path}.{name}"
            try:
                number = seconds(value, at)
            except InvalidWorkflow as error:
                raise InvalidSetting(error.message, field=at) from error
            if name == "every" and number <= 0:
                raise InvalidSetting(f"{at} is {value!r}; it must be more than nothing", field=at)
        for name in ("runs", "rows"):
            at_least(getattr(self, name), 1, f"{path}.{name}")
        ended_states(self.states, f"{path}.states")


def ended_states(states: Sequence[RunState | str], path: str = "states") -> list[RunState]:
    """These states, if runs can end in them: nothing else is ever pruned."""
    known = {str(state): state for state in RUN_TERMINAL}
    for state in states:
        if str(state) not in known:
            may = ", ".join(sorted(known))
            raise InvalidSetting(f"{path} holds {str(state)!r}: only runs that ended go, in {may}", field=path)
    return [known[str(state)] for state in states]


class EngineSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What an orchestrator may take and how often it looks."""

    heartbeat: float = 5.0
    """Seconds in which the others may expect a sign of life; the lease keeper renews at half of it."""
    lease: float = 15.0
    self_fence: float = 12.0
    """Without a renewal for this long, nothing new is started."""
    sweep: float = 2.0
    """How often lost wake-ups, dead owners and stray attempts are looked for."""
    max_owned_runs: int = 2_000
    """Runs held in memory. Above it, submissions are stored for any orchestrator to claim."""
    claim_batch: int = 500
    lanes: int = 8
    """Commits in flight at once, at most (PostgreSQL; SQLite has one writer). As many are used as the largest pool has
    stage executors."""
    connections: int = 10
    """Connections to PostgreSQL for everything but the lanes and the lease."""
    request_high_water: int = 10_000
    """Submissions that are not durable yet. Above it, ``submit`` waits."""
    submit_wait: float | None = None
    """Seconds that ``submit`` waits then before it raises ``TooBusy``; None: until there is room, 0: not at all."""
    coordinator: CoordinatorSettings = CoordinatorSettings()
    executor_pools: PoolsSettings = PoolsSettings()
    executor_breaker: BreakerSettings | None = BreakerSettings()
    """The circuit breaker of each task executor; None: they have none."""
    max_commit: int = 512
    """Runs in one commit."""
    cancel_grace: float = 10.0
    """How long a cancelled attempt may take to stop before its run ends without it."""
    stop_grace: float = 10.0
    limits: Limits = Limits()
    logs: LogSettings = LogSettings()
    retention: Retention | None = None
    """None: nothing is deleted by itself."""

    def check(self, path: str = "orchestration") -> None:
        """Refuse what cannot work, by the names that configuration files use."""
        for name in ("heartbeat", "lease", "self_fence", "sweep", "cancel_grace", "stop_grace"):
            positive_seconds(getattr(self, name), f"{path}.{name}")
        if not self.heartbeat <= self.self_fence < self.lease:
            raise InvalidSetting(
                f"{path}.self_fence is {self.self_fence:g}; it must be at least heartbeat, {self.heartbeat:g}, "
                f"and less than lease, {self.lease:g}",
                field=f"{path}.self_fence",
                beside=(f"{path}.heartbeat", f"{path}.lease"),
            )
        for name in ("max_owned_runs", "claim_batch", "max_commit", "lanes", "connections", "request_high_water"):
            at_least(getattr(self, name), 1, f"{path}.{name}")
        if self.submit_wait is not None:
            at_least(self.submit_wait, 0, f"{path}.submit_wait")
        for name in self.limits.__struct_fields__:
            at_least(getattr(self.limits, name), 0, f"{path}.limits.{name}")
        self.logs.check(f"{path}.logs")
        if self.retention is not None:
            self.retention.check(f"{path}.retention")
        self.coordinator.check(f"{path}.coordinator")
        self.executor_pools.check(f"{path}.executor_pools")
        if self.executor_breaker is not None:
            self.executor_breaker.check(f"{path}.executor_breaker")
