"""Decides for each due time of a schedule whether it fires, and why not.

Due times are decided in their order, each once: the cursor of a schedule is the last that was decided, and never moves
back. A clock that is set back waits for the cursor; one that is set forward has missed the time between.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from turnout.errors import InputError
from turnout.model.events import clipped
from turnout.model.schedules import ScheduleSpec, acted_on_at, count_due, due_times, newest_due, next_due

Outcome: TypeAlias = Literal["fired", "skipped"]

ON_TIME = 60.0
"""Seconds by which a due time may be late and is not missed."""
MAX_QUEUED = 100
"""Runs of one schedule that wait for earlier ones; further due times are skipped."""

ON_SCHEDULE = "on_time"
CAUGHT_UP = "caught_up"
QUEUED = "queued"
CANCELLED_PREVIOUS = "cancelled_previous"
MISSED = "missed"
CATCH_UP_LIMIT = "catch_up_limit"
OVERLAP = "overlap"
QUEUE_FULL = "queue_full"
SUPERSEDED = "superseded"
ALREADY_SUCCESSFUL = "already_successful"
NOTHING_TO_STOP = "nothing_to_stop"
PAUSED = "paused"
REMOVED = "removed"
INVALID_INPUT = "invalid_input"
MAX_REASON = 2_000
"""Characters of a reason with its detail."""
REASONS = {
    ON_SCHEDULE: "It fired when it was due.",
    CAUGHT_UP: "It fired later than it was due, by the catch-up policy.",
    QUEUED: "It fired, and its run starts when earlier ones of the schedule have ended.",
    CANCELLED_PREVIOUS: "It fired, and earlier runs are cancelled first.",
    MISSED: "No server acted on it before it was late or the next one came, and the catch-up policy leaves it out.",
    CATCH_UP_LIMIT: "It was missed, and more than `max_catch_up` newer ones were missed too.",
    OVERLAP: "An earlier run of the schedule had not ended.",
    QUEUE_FULL: f"{MAX_QUEUED} runs of the schedule wait already.",
    SUPERSEDED: "Another due time replaced it before its run began: a later one, or one of a schedule that restarts.",
    ALREADY_SUCCESSFUL: "A run that the schedule did not start has completed since the previous due time.",
    NOTHING_TO_STOP: "The workflow had no open run.",
    PAUSED: "The schedule was paused.",
    INVALID_INPUT: "The parameters of the schedule do not fit the workflow in several ways.",
    "unknown_parameter": "The schedule gives a parameter that the workflow does not have.",
    "missing_parameter": "The schedule gives no value for a parameter that needs one.",
    "invalid_parameter": "The schedule gives a parameter a value that it cannot have.",
    "unknown_queue": "The workflow is in a queue that is not configured.",
    "unknown_limit": "The workflow has a limit without a size.",
    "no_limit_key": "A limit of the workflow takes a parameter that has no value in the parameters of the schedule.",
    REMOVED: "The schedule was removed before its run could begin.",
    "manual": "It was fired by hand.",
    "backfill": "It was fired by a backfill.",
}
"""Why a due time was decided as it was, by code. A detail in braces may follow the code."""


def refusal(error: InputError) -> str:
    """Returns the reason of a due time whose run was refused, with the whole message.

    >>> refusal(InputError("workflow 'a' needs the parameter 'day'", code="missing_parameter"))
    "missing_parameter{workflow 'a' needs the parameter 'day'}"
    """
    code = error.code if error.code in REASONS else INVALID_INPUT
    return clipped(f"{code}{{{error.message}}}", MAX_REASON)


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about a schedule that its decisions depend on."""

    now: float
    """The time by the database's clock."""
    unfinished: Sequence[str] = ()
    """The runs of the schedule that have not ended, those that have not begun included, oldest first."""
    queued: int = 0
    """How many of them wait for others."""
    open_runs: Sequence[str] = ()
    """The open runs of the workflow, whatever started them. For schedules that stop or restart."""
    succeeded_at: float | None = None
    """When the last run that completed and was not started by the schedule was made. For ``skip_if_successful``."""


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """The decision about a due time, or about several in a row that are skipped for one reason."""

    due_at: float
    outcome: Outcome
    reason: str
    last_due_at: float
    due_times: int = 1
    run_id: str | None = None
    """The run that a fired due time starts."""
    cancels: tuple[str, ...] = ()
    """Runs that are cancelled."""
    waits_for: tuple[str, ...] = ()
    """Runs that end before the run begins."""
    params: Mapping[str, Any] = {}
    """What an operator has given, instead of the parameters of the schedule."""


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """The decisions about all due times that have come."""

    cursor: float
    next_at: float | None
    """When the next due time is acted on; None if there is none."""
    decisions: tuple[Decided, ...] = ()


def decide(spec: ScheduleSpec, key: str, cursor: float, facts: Facts, run_id: Callable[[], str]) -> Turn:
    """Returns the decisions about the due times after the cursor. ``run_id`` makes the id of a new run."""
    until = _ready_until(spec, key, cursor, facts.now)
    first = next_due(spec, cursor)
    if first is None or first > until:
        return Turn(cursor=cursor, next_at=acted_on_at(spec, key, first))
    limit = spec.max_catch_up if spec.catch_up == "all" and spec.action == "start" else 1
    candidates = newest_due(spec, cursor, until, limit)
    decisions: list[Decided] = []
    if first < candidates[0]:
        last = newest_due(spec, cursor, math.nextafter(candidates[0], -math.inf), 1)[0]
        reason = CATCH_UP_LIMIT if limit > 1 else MISSED
        decisions.append(_skipped(first, reason, last_due_at=last, count=count_due(spec, cursor, last)))
    decisions += _fires(spec, candidates, facts, run_id)
    next_at = acted_on_at(spec, key, next_due(spec, candidates[-1]))
    return Turn(cursor=candidates[-1], next_at=next_at, decisions=tuple(_merged(decisions)))


def restarted_until(spec: ScheduleSpec, turn: Turn) -> float:
    """Returns the last due time of the turn that restarts the workflow; minus infinity if none does."""
    if spec.action != "restart":
        return -math.inf
    return max((each.due_at for each in turn.decisions if each.outcome == "fired"), default=-math.inf)


def without_superseded(turn: Turn, restarted: float) -> Turn:
    """Returns the turn of a schedule that starts runs without those up to the instant at which another schedule
    restarts the workflow: they have not begun, so the restart cannot cancel them, and would make a second run."""
    gone = {each.run_id for each in turn.decisions if each.run_id is not None and each.due_at <= restarted}
    if not gone:
        return turn
    kept = [
        _skipped(each.due_at, SUPERSEDED)
        if each.run_id in gone
        else msgspec.structs.replace(each, waits_for=tuple(run for run in each.waits_for if run not in gone))
        for each in turn.decisions
    ]
    return msgspec.structs.replace(turn, decisions=tuple(_merged(kept)))


def skip_until(spec: ScheduleSpec, key: str, cursor: float, now: float, reason: str) -> Turn:
    """Returns the one decision that skips all due times after the cursor that have come."""
    last = newest_due(spec, cursor, now, 1)
    decisions: tuple[Decided, ...] = ()
    if last:
        first = next_due(spec, cursor)
        assert first is not None
        decisions = (_skipped(first, reason, last_due_at=last[0], count=count_due(spec, cursor, last[0])),)
        cursor = last[0]
    cursor = max(cursor, now)
    return Turn(cursor=cursor, next_at=acted_on_at(spec, key, next_due(spec, cursor)), decisions=decisions)


def _ready_until(spec: ScheduleSpec, key: str, cursor: float, now: float) -> float:
    """Returns the instant up to which due times have come. They are acted on in order: with jitter, one that is not
    ready delays those behind it."""
    if spec.jitter:
        for due in due_times(spec, max(cursor, now - spec.jitter), now):
            ready = acted_on_at(spec, key, due)
            if ready is not None and ready > now:
                return math.nextafter(due, -math.inf)
    return now


def _fires(spec: ScheduleSpec, candidates: Sequence[float], facts: Facts, run_id: Callable[[], str]) -> list[Decided]:
    decisions: list[Decided] = []
    unfinished, queued = list(facts.unfinished), facts.queued
    newest = candidates[-1]
    for due in candidates:
        late = facts.now - due > ON_TIME + spec.jitter
        if spec.catch_up == "skip" and late:
            decisions.append(_skipped(due, MISSED))
        elif spec.action == "stop":
            decisions.append(_stop(due, facts))
        elif spec.skip_if_successful and _successful(spec, due, facts):
            decisions.append(_skipped(due, ALREADY_SUCCESSFUL))
        elif spec.action == "restart":
            decisions.append(_start(due, run_id(), late, cancels=facts.open_runs))
        elif not unfinished or spec.overlap == "allow":
            decisions.append(_start(due, run_id(), late or due < newest))
            unfinished.append(decisions[-1].run_id or "")
        elif spec.overlap == "skip":
            decisions.append(_skipped(due, f"{OVERLAP}{{{unfinished[-1]}}}"))
        elif spec.overlap == "cancel_previous":
            # What fired in this turn has not begun: it is replaced rather than cancelled.
            decisions = [_skipped(each.due_at, SUPERSEDED) if each.run_id else each for each in decisions]
            decisions.append(_start(due, run_id(), late or due < newest, cancels=facts.unfinished))
            unfinished.append(decisions[-1].run_id or "")
        elif queued >= MAX_QUEUED:
            decisions.append(_skipped(due, QUEUE_FULL))
        else:
            decisions.append(_start(due, run_id(), late or due < newest, waits_for=unfinished))
            unfinished.append(decisions[-1].run_id or "")
            queued += 1
    return decisions


def _successful(spec: ScheduleSpec, due: float, facts: Facts) -> bool:
    if facts.succeeded_at is None:
        return False
    previous = newest_due(spec, 0.0, math.nextafter(due, -math.inf), 1)
    return not previous or facts.succeeded_at >= previous[0]


def _start(
    due: float, run_id: str, late: bool, *, cancels: Sequence[str] = (), waits_for: Sequence[str] = ()
) -> Decided:
    reason = CAUGHT_UP if late else ON_SCHEDULE
    if cancels:
        reason = f"{CANCELLED_PREVIOUS}{{{cancels[-1]}}}"
    elif waits_for:
        reason = f"{QUEUED}{{{waits_for[-1]}}}"
    return Decided(
        due_at=due,
        last_due_at=due,
        outcome="fired",
        reason=reason,
        run_id=run_id,
        cancels=tuple(cancels),
        waits_for=tuple(cancels or waits_for),
    )


def _stop(due: float, facts: Facts) -> Decided:
    if not facts.open_runs:
        return _skipped(due, NOTHING_TO_STOP)
    return Decided(due_at=due, last_due_at=due, outcome="fired", reason=ON_SCHEDULE, cancels=tuple(facts.open_runs))


def _skipped(due: float, reason: str, *, last_due_at: float | None = None, count: int = 1) -> Decided:
    last = due if last_due_at is None else last_due_at
    return Decided(due_at=due, last_due_at=last, outcome="skipped", reason=reason, due_times=count)


def _merged(decisions: Sequence[Decided]) -> list[Decided]:
    """Returns the decisions with neighbours that are skipped for one reason as one."""
    merged: list[Decided] = []
    for each in decisions:
        before = merged[-1] if merged else None
        if before is not None and before.outcome == each.outcome == "skipped" and before.reason == each.reason:
            count = before.due_times + each.due_times
            merged[-1] = msgspec.structs.replace(before, last_due_at=each.last_due_at, due_times=count)
        else:
            merged.append(each)
    return merged
