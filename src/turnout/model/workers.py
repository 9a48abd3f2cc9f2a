"""What workers and hubs report of themselves, and all of it put together for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from turnout.model.events import ExecutionStatus

ANY_HANDLER = "*"
"""What a worker lists that takes whatever comes."""
LISTED = 200
"""Workers that a hub's status names one by one; the rest are summed up."""
OTHERS = "(others)"

FAILURES = frozenset({ExecutionStatus.FAILED, ExecutionStatus.TIMED_OUT, ExecutionStatus.CRASHED})
UNSTARTED = frozenset({ExecutionStatus.RETURNED, ExecutionStatus.LOST})
"""Ends of attempts that say nothing of a body."""


class WorkerFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a worker says of itself when it comes."""

    name: str = ""
    language: str = ""
    sdk_version: str = ""
    labels: dict[str, str] = {}
    handlers: tuple[str, ...] = ()

    def matches(self, handler: str, labels: Mapping[str, str]) -> bool:
        """Whether it has the handler, and every label that is asked for, with the same value."""
        if any(self.labels.get(name) != value for name, value in labels.items()):
            return False
        return handler in self.handlers or ANY_HANDLER in self.handlers


class WorkerFigures(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One worker as one hub sees it."""

    id: str
    name: str = ""
    credits: int = 0
    """How many attempts it takes from this hub at present, to run and to wait: more while bodies are quick."""
    capacity: int = 0
    """How many attempts it runs at once, whoever they are from."""
    in_flight: int = 0
    """What it has of this hub."""
    running: int = 0
    """How many of these run, as far as can be told; never more than ``capacity``."""
    waiting: int = 0
    """The others."""
    ended: dict[str, int] = {}
    """Attempts that ended, by outcome."""
    breaker: str = "closed"
    cause: str = ""
    """Of a breaker that is not closed: the last failure."""
    draining: bool = False
    silent_seconds: float = 0.0
    """Since its last message."""

    @property
    def executed(self) -> int:
        """Attempts whose bodies ran to an end of some kind."""
        return sum(count for outcome, count in self.ended.items() if outcome not in UNSTARTED)

    @property
    def failed(self) -> int:
        return sum(self.ended.get(outcome, 0) for outcome in FAILURES)

    @property
    def lost(self) -> int:
        return self.ended.get(ExecutionStatus.LOST, 0)


class HubStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The hub of one orchestrator at one moment."""

    id: str = ""
    address: str = ""
    """Where workers reach it; empty: they do not, yet."""
    workers: int = 0
    """How many are connected."""
    listed: tuple[WorkerFigures, ...] = ()
    others: WorkerFigures | None = None
    """Those beyond the listed, summed up."""
    received: int = 0
    """Messages."""
    sent: int = 0
    malformed: int = 0
    dropped: int = 0
    """Messages to workers that were not there any more, or did not take what waited for them."""
    waits: tuple[str, ...] = ()
    """Why tasks wait that no connected worker can take."""


class WorkerReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What stands on the session of a worker: said by the hub that renewed it last."""

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
    """How many attempts it runs at once."""
    in_flight: int = 0
    """What it has in hand: what runs, and what waits."""
    running: int = 0
    waiting: int = 0
    executed: int = 0
    failed: int = 0
    lost: int = 0
    breaker: str = "closed"
    """The worst of its hubs'."""
    cause: str = ""
    draining: bool = False
    """A hub has told it to leave, or somebody has asked for that."""
    drain_reason: str | None = None
    silent_seconds: float = 0.0
    """Since it was last heard of, by any hub."""
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
    """At most so many one by one, those first that somebody should look at; the rest as one."""
    if len(figures) <= LISTED:
        return tuple(figures), None
    ranked = sorted(figures, key=lambda one: (one.breaker == "closed", not one.draining, one.name, one.id))
    return tuple(ranked[:LISTED]), together(OTHERS, ranked[LISTED:])


def by_name(hub: HubStatus) -> dict[str, WorkerFigures]:
    """The hub's workers for metrics: those that share a name as one, so that labels stay few."""
    named: dict[str, list[WorkerFigures]] = {}
    for one in hub.listed:
        named.setdefault(one.name or one.id, []).append(one)
    if hub.others is not None:
        named.setdefault(OTHERS, []).append(hub.others)
    return {name: some[0] if len(some) == 1 else together(name, some) for name, some in named.items()}


def together(name: str, figures: Iterable[WorkerFigures]) -> WorkerFigures:
    """Several as one: amounts are summed, of states the worst counts."""
    some = list(figures)
    ended: dict[str, int] = {}
    for one in some:
        for outcome, count in one.ended.items():
            ended[outcome] = ended.get(outcome, 0) + count
    worst = max(some, key=lambda one: ("closed", "half_open", "open").index(one.breaker))
    return WorkerFigures(
        id=some[0].id,
        name=name,
        credits=sum(one.credits for one in some),
        capacity=sum(one.capacity for one in some),
        in_flight=sum(one.in_flight for one in some),
        running=sum(one.running for one in some),
        waiting=sum(one.waiting for one in some),
        ended=ended,
        breaker=worst.breaker,
        cause=worst.cause,
        draining=any(one.draining for one in some),
        silent_seconds=max(one.silent_seconds for one in some),
    )


def over_hubs(figures: Sequence[WorkerFigures]) -> WorkerFigures:
    """One worker as several hubs see it: its places are the same ones for all of them."""
    whole = together(figures[0].name, figures)
    capacity = max(one.capacity for one in figures)
    running = min(whole.in_flight, capacity)
    return msgspec.structs.replace(whole, capacity=capacity, running=running, waiting=whole.in_flight - running)
