"""Declares the reports of workers and hubs with their figures, and combines those of several hubs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, ClassVar

import msgspec

from turnout.model.events import ExecutionStatus
from turnout.model.figures import (
    BREAKER_COLUMN,
    Figure,
    Part,
    TableColumn,
    Unit,
    breaker_figure,
    combine,
    first,
    largest,
    of_worst_breaker,
    summed_by_key,
)

ANY_HANDLER = "*"
"""The entry of a worker that takes steps of any handler."""
LISTED = 200
"""Workers that a hub's status names one by one; the rest are summed up."""
OTHERS = "(others)"

FAILURES = frozenset({ExecutionStatus.FAILED, ExecutionStatus.TIMED_OUT, ExecutionStatus.CRASHED})
UNSTARTED = frozenset({ExecutionStatus.RETURNED, ExecutionStatus.LOST})
"""Ends of attempts whose bodies did not run to an end."""


class WorkerFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The facts that a worker reports in its hello."""

    name: str = ""
    language: str = ""
    sdk_version: str = ""
    labels: dict[str, str] = {}
    handlers: tuple[str, ...] = ()

    def matches(self, handler: str, labels: Mapping[str, str]) -> bool:
        """True if it has the handler and every one of the labels, with the same value."""
        if any(self.labels.get(name) != value for name, value in labels.items()):
            return False
        return handler in self.handlers or ANY_HANDLER in self.handlers


class WorkerFigures(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One worker as one hub sees it."""

    METRIC_PREFIX: ClassVar[str] = "turnout_worker_"
    id: Annotated[str, Figure(total=first)]
    name: Annotated[str, Figure(total=first)] = ""
    credits: Annotated[int, Figure()] = 0
    """Attempts that it takes from this hub at present, to run and to wait: more while bodies are quick."""
    capacity: Annotated[int, Figure("capacity_attempts", "Attempts that a worker runs at once, from all its hubs.")] = 0
    in_flight: Annotated[int, Figure("in_flight_attempts", "Attempts that a worker has from this hub.")] = 0
    running: Annotated[
        int,
        Figure("running_attempts", "Attempts of this hub that a worker runs; within its capacity."),
        TableColumn("running", of="capacity"),
    ] = 0
    waiting: Annotated[
        int, Figure("waiting_attempts", "Attempts of this hub that a worker has not begun."), TableColumn("waiting")
    ] = 0
    ended: Annotated[
        dict[str, int],
        Figure(
            "attempts_total", "Attempts of this hub that ended, by worker and outcome.", summed_by_key, label="outcome"
        ),
    ] = {}
    breaker: Annotated[str, breaker_figure("breaker_state", "worker"), BREAKER_COLUMN] = "closed"
    cause: Annotated[str, Figure(total=of_worst_breaker)] = ""
    """Of a breaker that is not closed: the last failure."""
    draining: Annotated[bool, Figure("draining", "1 for a worker that finishes what it has and leaves.", largest)] = (
        False
    )
    silent_seconds: Annotated[
        float,
        Figure("last_contact_seconds", "Since the last message of a worker.", largest),
        TableColumn("heard", Unit.AGE, rank=3, order=2),
    ] = 0.0

    @property
    def executed(self) -> Annotated[int, Figure(), TableColumn("executed", order=1)]:
        """Attempts whose bodies ended, with any outcome."""
        return sum(count for outcome, count in self.ended.items() if outcome not in UNSTARTED)

    @property
    def failed(self) -> Annotated[int, Figure(), TableColumn("failed", Unit.FAILURES, order=1)]:
        return sum(self.ended.get(outcome, 0) for outcome in FAILURES)

    @property
    def lost(self) -> Annotated[int, Figure(), TableColumn("lost", Unit.FAILURES, rank=2, order=1)]:
        return self.ended.get(ExecutionStatus.LOST, 0)


class HubStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The hub of one orchestrator at one moment."""

    METRIC_PREFIX: ClassVar[str] = "turnout_hub_"
    id: str = ""
    address: str = ""
    """The address that workers connect to; empty before it listens."""
    workers: Annotated[int, Figure("turnout_workers", "Workers that are connected to the orchestrator's hub.")] = 0
    listed: tuple[WorkerFigures, ...] = ()
    others: WorkerFigures | None = None
    """Those beyond the listed, summed up."""
    received: Annotated[
        int, Figure("messages_total", "Messages between a hub and its workers.", label="direction=received")
    ] = 0
    sent: Annotated[int, Figure("messages_total", label="direction=sent")] = 0
    malformed: Annotated[int, Figure("malformed_total", "Messages that could not be read.")] = 0
    dropped: Annotated[int, Figure("dropped_total", "Messages to workers that had gone or did not take them.")] = 0
    waits: tuple[str, ...] = ()
    """Waiting reasons of tasks that no connected worker can take."""

    @property
    def unmatched_waits(
        self,
    ) -> Annotated[int, Figure("unmatched_waits", "Kinds of tasks that wait for a worker that is not there.")]:
        return len(self.waits)

    @property
    def by_name(self) -> Annotated[dict[str, WorkerFigures], Part(WorkerFigures, "worker")]:
        """The workers for metrics: those that share a name as one, so that labels stay few."""
        named: dict[str, list[WorkerFigures]] = {}
        for one in self.listed:
            named.setdefault(one.name or one.id, []).append(one)
        if self.others is not None:
            named.setdefault(OTHERS, []).append(self.others)
        return {name: combine(found) for name, found in named.items()}


class WorkerReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The report on the session of a worker, written by the hub that renewed it last."""

    facts: WorkerFacts
    hub: str = ""
    figures: WorkerFigures | None = None


class WorkerView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A worker that is alive, over all hubs that it is connected to."""

    id: str
    name: str
    language: str = ""
    sdk_version: str = ""
    host: str = ""
    pid: int = 0
    labels: dict[str, str] = {}
    handlers: tuple[str, ...] = ()
    up_seconds: float = 0.0
    credits: int = 0
    capacity: int = 0
    """Attempts that it runs at once."""
    in_flight: int = 0
    """Attempts that run or wait there."""
    running: int = 0
    waiting: int = 0
    executed: int = 0
    failed: int = 0
    lost: int = 0
    breaker: str = "closed"
    """The worst state among its hubs."""
    cause: str = ""
    draining: bool = False
    """A hub drains it, or its drain was requested."""
    drain_reason: str | None = None
    silent_seconds: float = 0.0
    """Since its last message to any hub."""
    hubs: tuple[str, ...] = ()
    """Addresses of the hubs that it is connected to."""

    @property
    def facts(self) -> WorkerFacts:
        return WorkerFacts(
            name=self.name,
            language=self.language,
            sdk_version=self.sdk_version,
            labels=self.labels,
            handlers=self.handlers,
        )


def listed(figures: Sequence[WorkerFigures]) -> tuple[tuple[WorkerFigures, ...], WorkerFigures | None]:
    """Returns at most ``LISTED`` workers, those first that need attention, and the others as one."""
    if len(figures) <= LISTED:
        return tuple(figures), None
    ranked = sorted(figures, key=lambda one: (one.breaker == "closed", not one.draining, one.name, one.id))
    return tuple(ranked[:LISTED]), msgspec.structs.replace(combine(ranked[LISTED:]), name=OTHERS)


def over_hubs(figures: Sequence[WorkerFigures]) -> WorkerFigures:
    """Returns one worker as several hubs see it: its slots are the same ones for all of them."""
    total = combine(figures)
    capacity = max(one.capacity for one in figures)
    running = min(total.in_flight, capacity)
    return msgspec.structs.replace(total, capacity=capacity, running=running, waiting=total.in_flight - running)


def over_all_hubs(hubs: Iterable[HubStatus]) -> list[WorkerFigures]:
    """Returns the workers of these hubs, each once; those that a hub does not list as one."""
    found: dict[str, list[WorkerFigures]] = {}
    others: list[WorkerFigures] = []
    for hub in hubs:
        for one in hub.listed:
            found.setdefault(one.id, []).append(one)
        others += () if hub.others is None else (hub.others,)
    return [*map(over_hubs, found.values()), *((combine(others),) if others else ())]
