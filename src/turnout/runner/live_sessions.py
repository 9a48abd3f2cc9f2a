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
from turnout.orchestration.session import process_is_gone
from turnout.orchestration.stages.stage import Stage
from turnout.runner.open_runs import OpenCounts
from turnout.wire.step_codec import handler_of

WORKER = "worker"
ORCHESTRATOR = "orchestrator"
MAX_NAMED = 5
POOLS = tuple(stage.value for stage in Stage)


def live_orchestrators(store: OwnershipStore) -> list[Orchestrator]:
    """Returns those that drive runs, oldest first, without those whose process on this machine has ended."""
    return [
        Orchestrator(
            id=one.session.id,
            host=one.session.host,
            pid=one.session.pid,
            silent_seconds=one.silent,
            status=read_status(one.health, one.age),
        )
        for one in store.session_health()
        if one.session.kind == ORCHESTRATOR and not process_is_gone(one.session)
    ]


def health(orchestrators: Sequence[Orchestrator], counts: OpenCounts | None) -> dict[str, Any]:
    """Returns their health report, always with all five pools, and how many runs are not driven; None where that is not
    known."""
    runs = None if counts is None else {"unfinished": counts.unfinished, "not_driven": counts.not_driven}
    return {**health_report([one.status for one in orchestrators], POOLS), "runs": runs}


class Needs(msgspec.Struct, frozen=True):
    """The demands of a task on a worker, and the live workers that meet them."""

    handler: str
    labels: dict[str, str]
    matching: tuple[str, ...]
    """The names of these workers."""
    connected: int
    """The number of live workers."""

    def text(self) -> str:
        labels = ", ".join(f"{name}={value}" for name, value in sorted(self.labels.items()))
        asked = f"handler {self.handler}" + (f", labels {labels}" if labels else "")
        if not self.matching:
            return f"needs {asked}: none of {self.connected} connected workers has that"
        named = ", ".join(self.matching[:MAX_NAMED]) + (", …" if len(self.matching) > MAX_NAMED else "")
        return f"needs {asked}: {len(self.matching)} of {self.connected} connected workers match: {named}"


def live_workers(store: OwnershipStore, orchestrators: Sequence[Orchestrator] = ()) -> list[WorkerView]:
    """Returns live workers, by name, with the figures of the hubs of ``orchestrators``."""
    hubs = [one.status.hub for one in orchestrators if one.status.hub is not None]
    addresses = {hub.id: hub.address for hub in hubs}
    at: dict[str, dict[str, WorkerFigures]] = {}
    for hub in hubs:
        for figures in hub.listed:
            at.setdefault(figures.id, {})[hub.id] = figures
    found = [
        _view(one, at.get(one.session.id, {}), addresses)
        for one in store.session_health()
        if one.session.kind == WORKER and not process_is_gone(one.session)
    ]
    return sorted(found, key=lambda view: (view.name, view.id))


def _view(one: SessionHealth, at: dict[str, WorkerFigures], addresses: Mapping[str, str]) -> WorkerView:
    """Returns the view of one worker; ``at`` holds its figures by hub."""
    session, report = one.session, _report(one)
    if report.figures is not None and report.hub not in at:
        at[report.hub] = report.figures
    total = over_hubs(list(at.values())) if at else WorkerFigures(id=session.id)
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
        credits=total.credits,
        capacity=total.capacity,
        in_flight=total.in_flight,
        running=total.running,
        waiting=total.waiting,
        executed=total.executed,
        failed=total.failed,
        lost=total.lost,
        breaker=total.breaker,
        cause=total.cause,
        draining=total.draining or one.drain is not None,
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
    """Returns the worker with this name or id, or the only one whose id begins so."""
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
    """Drains a worker through its hubs: it finishes what it has and leaves."""
    checked_text(reason, "reason", longest=MAX_REASON_LENGTH)
    if not store.drain_worker(worker.id, reason):
        raise InvalidInput(f"worker {worker.name!r} has left", code="worker_not_found", worker=worker.name)


def needs(task: TaskSpec, decision: DispatchDecision, views: Sequence[WorkerView]) -> Needs:
    """Returns what the task asks of a worker, and which workers have it."""
    handler, labels = handler_of(task.body), dict(decision.labels or {})
    matching = tuple(view.name for view in views if view.facts.matches(handler, labels) and not view.draining)
    return Needs(handler, labels, matching, len(views))
