"""Decides which waiting runs and tasks get the slots of their limits. No I/O, no clock of its own.

A waiter gets a slot of each of its limits at once, or of none, so waiters never wait for one another in a circle.

Waiters are ranked by the time since which they wait; each level of priority counts as ``AGEING_INTERVAL`` seconds.
So a higher priority goes first, and a waiter is overtaken only by those that come within that time after it. One that
cannot go because another of its limits is full lets others pass for ``OVERTAKE_TIMEOUT``; then free slots are kept for
it. Thus nothing starves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from turnout.model.limits import LimitSize, LimitUse

AGEING_INTERVAL = 60.0
"""Seconds of waiting that count as much as one level of priority."""
OVERTAKE_TIMEOUT = 60.0
"""Seconds for which others may take free slots that a waiter cannot use yet."""
RUN = -1
"""The position of the slots of a run; others are those of a task in its run."""

MIN_BEGIN_SLACK, MAX_BEGIN_SLACK, BEGIN_SLACK_SHARE = 0.25, 5.0, 0.1


def begin_slack(per: float) -> float:
    """Returns by how many seconds the period of a rate is extended: a holder begins within this time after it got its
    slot. What begins in a period thus got its slots in the extended one.

    >>> begin_slack(1.0), begin_slack(30.0), begin_slack(3600.0)
    (0.25, 3.0, 5.0)
    """
    return min(max(BEGIN_SLACK_SHARE * per, MIN_BEGIN_SLACK), MAX_BEGIN_SLACK)


def rank(since: float, priority: int) -> float:
    """Returns the place of a waiter among others: the lowest goes first."""
    return since - AGEING_INTERVAL * priority


class SlotRequest(msgspec.Struct, frozen=True):
    """The limits that a run, or an attempt of one of its tasks, needs a slot of."""

    run_id: str
    limits: Sequence[LimitUse]
    pos: int = RUN
    attempt: int = 0
    """The attempt that is to start; 0 for a run."""
    priority: int = 0
    renews: bool = False
    """True if the slots that it got for this attempt are too old: they are given back first."""


class Waiter(msgspec.Struct, frozen=True):
    """A run or task that waits, with the names of all its limits."""

    run_id: str
    pos: int
    rank: float
    since: float
    names: tuple[str, ...]


class LimitState(msgspec.Struct):
    """A limit as it is when slots are given."""

    size: LimitSize
    held: int = 0
    begun: int = 0
    """Slots that were given within the extended period of its rate."""
    next_in: float = 0.0
    """Seconds until the oldest of those is outside of the period."""

    @property
    def free(self) -> bool:
        at_once = self.size.at_most is None or self.held < self.size.at_most
        return at_once and (self.size.rate is None or self.begun < self.size.rate)

    def take(self) -> None:
        self.held += 1
        self.begun += 1


class AdmissionScope(msgspec.Struct, frozen=True):
    """The runs that an orchestrator may admit: those that it could claim. Of others it does not know whether anything
    will ever drive them, and they would hold their slots meanwhile."""

    workflows: Sequence[str] = ()
    """Full names of the workflows that it has the code for."""
    versions: Sequence[str] = ()
    """Versions of other workflows that it can drive without code."""
    run_ids: Sequence[str] = ()
    """Runs that were submitted to it, and that it is to drive itself."""


class Admitted(msgspec.Struct, frozen=True):
    """The waiters that got their slots."""

    granted: list[tuple[str, int]] = []
    """Run ids and positions."""
    next_in: float | None = None
    """Seconds after which a rate lets the next one pass, if one waits for a rate only."""
    more: bool = False
    """True if not all waiters were examined, and free slots may be left."""


def admit(waiters: Iterable[Waiter], limits: Mapping[str, LimitState], now: float) -> Admitted:
    """Returns the waiters that get their slots, in the order of their ranks. Changes ``limits`` by what they take."""
    granted: list[tuple[str, int]] = []
    due: list[float] = []
    for waiter in sorted(waiters, key=lambda each: (each.rank, each.run_id, each.pos)):
        states = [limits[name] for name in waiter.names]
        if all(state.free for state in states):
            for state in states:
                state.take()
            granted.append((waiter.run_id, waiter.pos))
            continue
        full = [state for state in states if not state.free]
        if all(state.size.at_most is None or state.held < state.size.at_most for state in full):
            due.append(max(state.next_in for state in full))
        if now - waiter.since > OVERTAKE_TIMEOUT:
            for state in states:
                state.take()
    return Admitted(granted, min(due) if due else None)


class LimitHolder(msgspec.Struct, frozen=True, kw_only=True):
    """A run or task that holds or waits for a slot of a limit."""

    run_id: str
    workflow: str
    """Full name."""
    task: str | None
    """The name of the task; None if it is the run itself."""
    priority: int
    since: float
    """When it got its slot, or since when it waits."""
    position: int | None = None
    """Of a waiter: its place in the queue, from 1."""


class LimitView(msgspec.Struct, frozen=True, kw_only=True):
    """A limit with the number of its holders and waiters."""

    name: str
    declared: str
    """The name with ``${parameter}``, as it is declared and configured."""
    at_most: int | None
    rate: int | None
    per: float | None
    """Seconds of the period of ``rate``; None without a rate."""
    configured: bool
    """True if the size is that of the configuration."""
    held: int
    waiting: int
    conflict: bool = False
    """True if holders and waiters declare different sizes: the smallest is in force."""


class LimitDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A limit with its holders, and the first of its waiters."""

    limit: LimitView
    holders: list[LimitHolder]
    waiters: list[LimitHolder]


class HeldLimit(msgspec.Struct, frozen=True, kw_only=True):
    """A limit of one run: held, or waited for."""

    name: str
    task: str | None
    """The name of the task that needs it; None: the run itself."""
    held: bool
    position: int | None = None
    """The place in the queue, from 1, while it is waited for."""
    since: float = 0.0
