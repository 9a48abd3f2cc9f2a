"""Reads the live orchestrators and workers of a database, their health and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from turnout.contracts.store import OwnershipStore
from turnout.errors import InvalidInput
from turnout.model.events import DispatchDecision
from turnout.model.health import Orchestrator, health_report, read_status
from turnout.model.names import suggest
from turnout.model.rows import SessionHealth
from turnout.model.spec import TaskSpec
from turnout.model.texts import MAX_REASON_LENGTH, checked_text
from turnout.model.workers import WorkerFacts, WorkerFigures, WorkerReport, WorkerView, over_hubs
from turnout.orchestration.lease import seen_dead
from turnout.orchestration.stages.stage import Stage
from turnout.runner.open_runs import OpenCounts
from turnout.wire.step_codec import handler_of

WORKER = "worker"
ORCHESTRATOR = "orchestrator"
MAX_NAMED = 5
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
        if one.session.kind == ORCHESTRATOR and not seen_dead(one.session)
    ]


def health(orchestrators: Sequence[Orchestrator], counts: OpenCounts | None) -> dict[str, Any]:
    """Their health report, with all five pools whether or not anybody is alive, and how many runs are not driven; None
    where that is not known."""
    runs = None if counts is None else {"unfinished": counts.unfinished, "not_driven": counts.not_driven}
    return {**health_report([one.status for one in orchestrators], POOLS), "runs": runs}


class Needs(msgspec.Struct, frozen=True):
    """What a task asks of a worker, and who of those that are alive has it."""

    handler: str
    labels: dict[str, str]
    matching: tuple[str, ...]
    """Names."""
    connected: int
    """How many workers there are in all."""

    def text(self) -> str:
        labels = ", ".join(f"{name}={value}" for name, value in sorted(self.labels.items()))
        asked = f"handler {self.handler}" + (f", labels {labels}" if labels else "")
        if not self.matching:
            return f"needs {asked}: none of {self.connected} connected workers has that"
        named = ", ".join(self.matching[:MAX_NAMED]) + (", …" if len(self.matching) > MAX_NAMED else "")
        return f"needs {asked}: {len(self.matching)} of {self.connected} connected workers match: {named}"


def live_workers(store: OwnershipStore, orchestrators: Sequence[Orchestrator] = ()) -> list[WorkerView]:
    """Those that are alive, by name. ``orchestrators`` know best what each of them has from their hubs."""
    hubs = [one.status.hub for one in orchestrators if one.status.hub is not None]
    addresses = {hub.id: hub.address for hub in hubs}
    at: dict[str, dict[str, WorkerFigures]] = {}
    for hub in hubs:
        for figures in hub.listed:
            at.setdefault(figures.id, {})[hub.id] = figures
    found = [
        _view(one, at.get(one.session.id, {}), addresses)
        for one in store.session_health()
        if one.session.kind == WORKER and not seen_dead(one.session)
    ]
    return sorted(found, key=lambda view: (view.name, view.id))


def _view(one: SessionHealth, at: dict[str, WorkerFigures], addresses: Mapping[str, str]) -> WorkerView:
    """``at``: how it is, by hub."""
    session, report = one.session, _report(one)
    if report.figures is not None and report.hub not in at:
        at[report.hub] = report.figures
    all_of_it = over_hubs(list(at.values())) if at else WorkerFigures(id=session.id)
    facts = report.facts
    return WorkerView(
        id=session.id,
        name=facts.name or session.id,
        language=facts.language,
        sdk_version=facts.sdk_version,
        host=session.host,
        pid=session.pid,
        labels=facts.labels,
        handlers=facts.handlers,
        up_seconds=one.age,
        credits=all_of_it.credits,
        capacity=all_of_it.capacity,
        in_flight=all_of_it.in_flight,
        running=all_of_it.running,
        waiting=all_of_it.waiting,
        executed=all_of_it.executed,
        failed=all_of_it.failed,
        lost=all_of_it.lost,
        breaker=all_of_it.breaker,
        cause=all_of_it.cause,
        draining=all_of_it.draining or one.drain is not None,
        drain_reason=one.drain,
        silent_seconds=min((figures.silent_seconds for figures in at.values()), default=0.0) + one.silent,
        hubs=tuple(sorted(addresses.get(hub, hub) for hub in at)),
    )


def _report(one: SessionHealth) -> WorkerReport:
    if one.health is not None:
        try:
            return msgspec.json.decode(one.health, type=WorkerReport)
        except msgspec.ValidationError:  # written by another version of Turnout: alive is all that is known
            pass
    return WorkerReport(facts=WorkerFacts())


def find_worker(views: Sequence[WorkerView], wanted: str) -> WorkerView:
    """The worker with this name or id, or the only one whose id begins so."""
    exact = [view for view in views if wanted in (view.id, view.name)]
    found = exact or [view for view in views if wanted and view.id.startswith(wanted)]
    if not found:
        likely = suggest(wanted, [view.name for view in views])
        raise InvalidInput(f"no worker {wanted!r} is alive{likely}", code="worker_not_found", worker=wanted)
    if len(found) > 1:
        ids = ", ".join(view.id for view in found[:2]) + (", …" if len(found) > 2 else "")
        raise InvalidInput(f"{len(found)} workers answer to {wanted!r}: {ids}", code="ambiguous_worker", worker=wanted)
    return found[0]


def drain(store: OwnershipStore, worker: WorkerView, reason: str) -> None:
    """Tell it, by way of its hubs, to finish what it has and to leave."""
    checked_text(reason, "reason", longest=MAX_REASON_LENGTH)
    if not store.drain_worker(worker.id, reason):
        raise InvalidInput(f"worker {worker.name!r} has left", code="worker_not_found", worker=worker.name)


def needs(task: TaskSpec, decision: DispatchDecision, views: Sequence[WorkerView]) -> Needs:
    """What the task asks of a worker, and who has it."""
    handler, labels = handler_of(task.body), dict(decision.labels or {})
    matching = tuple(view.name for view in views if view.facts.matches(handler, labels) and not view.draining)
    return Needs(handler, labels, matching, len(views))
