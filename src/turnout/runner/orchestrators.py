"""Which orchestrators are alive on a database, and how are they? Read from the store, by any process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnout.contracts.store import OwnershipStore
from turnout.model.health import Orchestrator, read_status
from turnout.model.health_summary import health_report
from turnout.orchestration.lease import seen_dead
from turnout.orchestration.stages.stage import Stage
from turnout.runner.drivers import OpenCounts

POOLS = tuple(stage.value for stage in Stage)


def live_orchestrators(store: OwnershipStore) -> list[Orchestrator]:
    """Those that drive runs, oldest first. Who is seen to be dead from this machine does not wait for its lease."""
    return [
        Orchestrator(
            id=one.session.id,
            host=one.session.host,
            pid=one.session.pid,
            silent_seconds=one.silent,
            status=read_status(one.health, one.age),
        )
        for one in store.session_health()
        if one.session.kind == "orchestrator" and not seen_dead(one.session)
    ]


def health(orchestrators: Sequence[Orchestrator], counts: OpenCounts | None) -> dict[str, Any]:
    """Their health report, with all five pools whether or not anybody is alive, and how many runs are not driven; None
    where that is not known."""
    runs = None if counts is None else {"unfinished": counts.unfinished, "not_driven": counts.not_driven}
    return {**health_report([one.status for one in orchestrators], POOLS), "runs": runs}
