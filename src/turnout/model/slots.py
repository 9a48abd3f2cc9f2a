"""Holds what is known of slots of limits: requests for them, holders and waiters, and how waiters are ranked."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from turnout.model.limit_declarations import LimitDeclaration
from turnout.model.limits import LimitUse

AGEING_INTERVAL = 60.0
"""Seconds of waiting that count as much as one level of priority."""
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


class AdmissionScope(msgspec.Struct, frozen=True):
    """The runs that an orchestrator may admit: those that it could claim. Of others it does not know whether anything
    will ever drive them, and they would hold their slots meanwhile."""

    workflows: Sequence[str] = ()
    """Full names of the workflows that it has the code for."""
    versions: Sequence[str] = ()
    """Versions of other workflows that it can drive without code."""
    run_ids: Sequence[str] = ()
    """Runs that were submitted to it, and that it is to drive itself."""


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
    shared_with: str | None = None
    """Of a holder: the run whose slot it shares; None if the slot is its own."""
    deadlocked_with: list[str] = []
    """Of a waiter: runs that hold all slots and wait themselves in a circle; none of them ends until one is
    cancelled."""


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
    """Slots that are held. One that a run shares with its tasks or child runs counts once."""
    waiting: int
    conflict: bool = False
    """True if workflows declare different sizes, and none is configured."""
    deadlock: bool = False
    """True if all its slots are held by runs that wait for one another."""


class LimitDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A limit with its holders, and the first of its waiters."""

    limit: LimitView
    holders: list[LimitHolder]
    waiters: list[LimitHolder]
    declarations: list[LimitDeclaration] = []
    """The sizes that workflows declare for it."""
    begun: int | None = None
    """Of a rate: how many have begun within its period, and count."""
    next_at: float | None = None
    """Of a rate: when the next one may begin; null if one may begin now."""


class HeldLimit(msgspec.Struct, frozen=True, kw_only=True):
    """A limit of one run: held, or waited for."""

    name: str
    task: str | None
    """The name of the task that needs it; None: the run itself."""
    held: bool
    position: int | None = None
    """The place in the queue, from 1, while it is waited for."""
    since: float = 0.0
    shared_with: str | None = None
    """The run whose slot is shared; None if it is held by itself."""
    deadlocked_with: list[str] = []
    """While it is waited for: runs that hold all its slots and wait themselves in a circle; none of them ends until one
    is cancelled."""
