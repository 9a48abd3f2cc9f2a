"""Decides the due times of schedules that have come, and records the decisions."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

import msgspec

from turnout.contracts.store import Store
from turnout.model.names import new_run_id
from turnout.model.run_filter import RunFilter
from turnout.model.schedule_decisions import Facts, decide, restarted_until, without_superseded
from turnout.model.schedule_rows import PendingDecision, ScheduleTurn, StoredSchedule
from turnout.model.schedules import newest_due
from turnout.model.states import RUN_TERMINAL, RunState

OPEN_STATES = tuple(state for state in RunState if state not in RUN_TERMINAL)
MAX_STOPPED = 10_000
"""Open runs of a workflow that one due time cancels, at most."""
CLOCK_ERROR = 3_600.0
"""Seconds by which the clock of a submitter may differ from the database's."""


class Turned(msgspec.Struct, frozen=True):
    """The outcome for some schedules."""

    now: float
    """The time by the database's clock."""
    schedules: Sequence[StoredSchedule]
    """As they are stored now."""
    fired: Sequence[PendingDecision]
    """What was decided here, and is still to take effect."""


def take_turns(store: Store, ids: Sequence[int]) -> Turned:
    """Decides the due times of these schedules that have come. Blocks. Each is decided here or elsewhere, once."""
    now = store.clock()
    rows = store.schedules_by_id(ids)
    ready = [each for each in rows if each.next_at is not None and each.next_at <= now]
    turns = _consistent(
        ready, {each.id: _turn(store, each, now, found) for each, found in _with_activity(store, ready)}
    )
    if not turns:
        return Turned(now, rows, ())
    recorded = store.record_turns(list(turns.values()))
    after = {each.id: each for each in rows}
    for schedule_id in recorded.applied:
        turn = turns[schedule_id].turn
        after[schedule_id] = msgspec.structs.replace(
            after[schedule_id], decided_until=turn.cursor, next_at=turn.next_at
        )
    if elsewhere := [id for id in turns if id not in recorded.applied]:
        after |= {each.id: each for each in store.schedules_by_id(elsewhere)}
    fired = [
        PendingDecision(
            id=recorded.decisions[schedule_id, made.due_at],
            schedule_id=schedule_id,
            kind="due",
            due_at=made.due_at,
            run_id=made.run_id,
            cancels=made.cancels,
            workflow=after[schedule_id].workflow,
            spec=after[schedule_id].spec,
            age=0.0,
            blocked=bool(made.waits_for),
        )
        for schedule_id in sorted(recorded.applied)
        for made in turns[schedule_id].turn.decisions
        if (schedule_id, made.due_at) in recorded.decisions and made.outcome == "fired"
    ]
    return Turned(now, list(after.values()), fired)


def _with_activity(
    store: Store, ready: Sequence[StoredSchedule]
) -> list[tuple[StoredSchedule, Sequence[tuple[str, bool]]]]:
    dependent = [each.id for each in ready if each.spec.keeps_open]
    activity = store.schedule_activity(dependent) if dependent else {}
    return [(each, activity.get(each.id, ())) for each in ready]


def _turn(store: Store, schedule: StoredSchedule, now: float, activity: Sequence[tuple[str, bool]]) -> ScheduleTurn:
    spec = schedule.spec
    facts = Facts(
        now=now,
        unfinished=[run_id for run_id, _ in activity],
        queued=sum(waits for _, waits in activity),
        open_runs=_open_runs(store, schedule.workflow) if spec.action != "start" else (),
        succeeded_at=_succeeded_at(store, schedule, now) if spec.skip_if_successful else None,
    )
    turn = decide(spec, schedule.key, schedule.decided_until, facts, new_run_id)
    return ScheduleTurn(schedule_id=schedule.id, expected=schedule.decided_until, turn=turn, keeps_open=spec.keeps_open)


def _consistent(ready: Sequence[StoredSchedule], turns: Mapping[int, ScheduleTurn]) -> dict[int, ScheduleTurn]:
    """Returns the turns without the starts that a restart of the same workflow replaces."""
    restarts: dict[str, float] = {}
    for each in ready:
        restarted = restarted_until(each.spec, turns[each.id].turn)
        restarts[each.workflow] = max(restarted, restarts.get(each.workflow, restarted))
    return {
        each.id: turns[each.id]
        if each.spec.action != "start"
        else msgspec.structs.replace(
            turns[each.id], turn=without_superseded(turns[each.id].turn, restarts[each.workflow])
        )
        for each in ready
    }


def _open_runs(store: Store, workflow: str) -> list[str]:
    wanted = RunFilter(among=(workflow,), states=OPEN_STATES, top_level=True)
    return [run.new.run_id for run in reversed(store.find_runs(wanted, limit=MAX_STOPPED))]


def _succeeded_at(store: Store, schedule: StoredSchedule, now: float) -> float | None:
    """Returns when the last success of another run was, if that can matter: since the due time before the last."""
    recent = newest_due(schedule.spec, 0.0, now, 2)
    since = recent[0] if len(recent) == 2 else 0.0
    stamp = max(0, int((since - CLOCK_ERROR) * 1_000))
    return store.last_success(schedule.workflow, schedule.id, since, str(uuid.UUID(int=stamp << 80)))
