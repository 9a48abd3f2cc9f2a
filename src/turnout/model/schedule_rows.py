"""Holds the rows that the store keeps of schedules and of the decisions about their due times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from turnout.model.schedule_decisions import Outcome, Turn
from turnout.model.schedules import ScheduleSpec

DecisionKind: TypeAlias = Literal["due", "manual", "backfill"]
DecisionState: TypeAlias = Literal["pending", "open", "closed"]


class ScheduleChange(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule as an author declares it."""

    workflow: str
    """The full name."""
    name: str
    spec: str
    """JSON text."""
    anew: bool
    """True if it has other times than the one that is stored."""
    decided_until: float
    """Of a new one, and one that begins anew: earlier due times are not its own."""
    next_at: float | None


class StoredSchedule(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule as it is stored."""

    id: int
    workflow: str
    """The full name."""
    spec: ScheduleSpec
    paused: bool
    removed: bool
    """True if its workflow does not declare it any more."""
    decided_until: float
    """The last due time that was decided, or the time at which the schedule began."""
    next_at: float | None
    """When the next due time is acted on; None while it is paused, and if there is none."""
    changed_at: float
    changed_by: str
    revision: int

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def key(self) -> str:
        """Identifies the schedule to people: ``workflow/name``."""
        return f"{self.workflow}/{self.spec.name}"


class ScheduleTurn(msgspec.Struct, frozen=True, kw_only=True):
    """Decisions about a schedule that is still as it was when they were made."""

    schedule_id: int
    expected: float
    """The ``decided_until`` that the decisions begin at."""
    turn: Turn
    keeps_open: bool
    """True if later decisions depend on whether the runs have ended."""


class RecordedTurns(msgspec.Struct, frozen=True):
    """The turns that were applied. The others were decided elsewhere, or paused, changed or removed meanwhile."""

    applied: frozenset[int] = frozenset()
    """Ids of schedules."""
    decisions: Mapping[tuple[int, float], int] = {}
    """Ids of decisions, by schedule and due time."""


class NewFire(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a schedule that an operator asks for."""

    due_at: float
    run_id: str
    waits_for: tuple[str, ...] = ()
    params: Mapping[str, Any] = {}
    """Parameters of the run, instead of those of the schedule with the same names."""


class PendingDecision(msgspec.Struct, frozen=True, kw_only=True):
    """A decision whose effect is still to be had."""

    id: int
    schedule_id: int
    kind: DecisionKind
    due_at: float
    run_id: str | None
    cancels: tuple[str, ...]
    workflow: str
    spec: ScheduleSpec
    age: float
    """Seconds since it was decided, by the database's clock."""
    params: Mapping[str, Any] = {}
    """What an operator has given, instead of the parameters of the schedule."""
    blocked: bool = False
    """True if a run that it waits for has not ended."""
    exists: bool = False
    """True if its run is stored."""


class DecisionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A decision as it is read back."""

    id: int
    schedule_id: int
    kind: DecisionKind
    due_at: float
    last_due_at: float
    due_times: int
    outcome: Outcome
    reason: str
    run_id: str | None
    state: DecisionState
    decided_at: float
    actor: str | None
