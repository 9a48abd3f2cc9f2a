"""Declares where schedules and the decisions about their due times are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from turnout.model.run_triggers import ScheduledRun
from turnout.model.schedule_decisions import Outcome, Turn
from turnout.model.schedule_rows import (
    DecisionKind,
    DecisionRow,
    NewFire,
    PendingDecision,
    RecordedTurns,
    ScheduleChange,
    ScheduleTurn,
    StoredSchedule,
)


class ScheduleStore(Protocol):
    """Keeps schedules and the decisions about their due times. Changes by authors and operators are made one after the
    other, and each wakes ``schedules``."""

    def clock(self) -> float:
        """The time by the database's clock."""
        ...

    def schedules(self, *, since: int = 0) -> list[StoredSchedule]:
        """Returns the schedules that were changed after this revision, in the order of their revisions, removed ones
        too. A decision is no change."""
        ...

    def schedules_page(
        self, *, after: int = 0, limit: int = 100, workflow: str | None = None, name: str | None = None
    ) -> list[StoredSchedule]:
        """Returns schedules that are not removed, by id; ``after`` is the last id of the previous page. ``workflow`` is
        a full name or its last segment."""
        ...

    def schedules_by_id(self, ids: Sequence[int]) -> list[StoredSchedule]: ...

    def upcoming_schedules(self, limit: int, *, since: float = 0.0) -> list[StoredSchedule]:
        """Returns the schedules whose next due times come first, none of them before ``since``."""
        ...

    def put_schedules(self, changes: Sequence[ScheduleChange], actor: str) -> None:
        """Stores schedules. One that is stored as it is already is left alone, one with other times begins anew, and
        one with other options keeps its place. ``decided_until`` never moves back."""
        ...

    def remove_schedules(self, ids: Sequence[int], actor: str) -> None:
        """Marks schedules as removed. Their decisions stay; runs that have not begun never will."""
        ...

    def pause_schedule(self, schedule_id: int, actor: str) -> bool:
        """False: it is paused already, or removed."""
        ...

    def resume_schedule(self, schedule_id: int, expected: float, turn: Turn, actor: str) -> bool:
        """Resumes a paused schedule and records the decisions about the due times of the pause. False: it is not
        paused, or it was changed since ``expected`` was read."""
        ...

    def schedule_activity(self, ids: Sequence[int]) -> dict[int, list[tuple[str, bool]]]:
        """Returns the runs of these schedules that have not ended, oldest first, and whether each waits for others."""
        ...

    def last_success(self, workflow: str, schedule_id: int, since: float, lowest: str) -> float | None:
        """Returns when the newest completed run of the workflow that the schedule did not start was made, if that was
        after ``since``. ``lowest`` is below the id of every run that was made since then."""
        ...

    def record_turns(self, turns: Sequence[ScheduleTurn]) -> RecordedTurns:
        """Records decisions, each turn by compare-and-swap on ``decided_until``, all in one transaction. Runs that a
        decision cancels and that have not begun never will."""
        ...

    def fire_schedule(self, schedule_id: int, kind: DecisionKind, fires: Sequence[NewFire], actor: str) -> list[str]:
        """Records runs that an operator asks for. Returns those that were recorded: a due time fires once by a
        backfill."""
        ...

    def pending_decisions(self, *, after: int = 0, limit: int = 1_000) -> list[PendingDecision]:
        """Returns decisions whose effect is still to be had, by id; ``after`` is the last id of the previous page."""
        ...

    def settle_decisions(self, *, opened: Sequence[int] = (), closed: Sequence[int] = ()) -> None:
        """Marks decisions as settled. Whether the runs of opened ones have ended is of interest later."""
        ...

    def refuse_decision(self, decision_id: int, reason: str) -> None:
        """Makes a decision that cannot take effect a skip."""
        ...

    def schedule_decisions(
        self, schedule_id: int | None, *, before: int | None = None, limit: int = 100, outcome: Outcome | None = None
    ) -> list[DecisionRow]:
        """Returns decisions of a schedule, or with None of all, newest first; ``before`` is the last id of the previous
        page."""
        ...

    def scheduled_runs(self, run_ids: Sequence[str]) -> dict[str, ScheduledRun]:
        """Returns the decisions of schedules that started these runs, by run; others are left out."""
        ...

    def fired_due_times(self, schedule_id: int, first: float, last: float) -> frozenset[float]:
        """Returns the due times from the first to the last that have fired, by themselves or by a backfill."""
        ...
