"""Reads and writes schedules, and the decisions about their due times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from turnout.model.run_triggers import ScheduledRun
from turnout.model.schedule_decisions import REMOVED, SUPERSEDED, Decided, Outcome, Turn
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
from turnout.model.schedules import decode_schedule
from turnout.store.database import Database, Execute, json_list, json_text

TOPIC = "schedules"
BATCH = 1_000
"""Schedules that are written by one statement."""
NEWEST = 2**62
"""Above the id of every decision."""


class Schedules:
    """Schedules by workflow and name. Changes by authors and operators pass the row of the counter one by one."""

    _database: Database

    # -- schedules ------------------------------------------------------------------------------------------------
    def schedules(self, *, since: int = 0) -> list[StoredSchedule]:
        return [_schedule(row) for row in self._database.read("schedules_since", revision=since)]

    def schedules_page(
        self, *, after: int = 0, limit: int = 100, workflow: str | None = None, name: str | None = None
    ) -> list[StoredSchedule]:
        asked = {"workflow": workflow or "", "suffix": _suffix(workflow), "name": name or ""}
        rows = self._database.read("schedules_page", after=after, limit=limit, **asked)
        return [_schedule(row) for row in rows]

    def schedules_by_id(self, ids: Sequence[int]) -> list[StoredSchedule]:
        return [_schedule(row) for row in self._database.read("schedules_by_id", ids=json_list(ids))] if ids else []

    def upcoming_schedules(self, limit: int, *, since: float = 0.0) -> list[StoredSchedule]:
        rows = self._database.read("upcoming_schedules", limit=limit, since=float(since))
        return [_schedule(row) for row in rows]

    def put_schedules(self, changes: Sequence[ScheduleChange], actor: str) -> None:
        with self._database.transaction() as execute:
            revision = _next(execute)
            for start in range(0, len(changes), BATCH):
                rows = json_list([msgspec.to_builtins(each) for each in changes[start : start + BATCH]])
                for block in ("add_schedules", "restart_schedules", "change_schedules"):
                    execute(block, rows=rows, actor=actor, revision=revision)
            self._announce(execute)

    def remove_schedules(self, ids: Sequence[int], actor: str) -> None:
        with self._database.transaction() as execute:
            execute("remove_schedules", ids=json_list(ids), actor=actor, revision=_next(execute))
            execute("refuse_pending", ids=json_list(ids), reason=REMOVED)
            self._announce(execute)

    def pause_schedule(self, schedule_id: int, actor: str) -> bool:
        with self._database.transaction() as execute:
            found = execute("pause_schedule", id=schedule_id, actor=actor, revision=_next(execute))
            self._announce(execute)
        return bool(found)

    def resume_schedule(self, schedule_id: int, expected: float, turn: Turn, actor: str) -> bool:
        with self._database.transaction() as execute:
            found = execute(
                "resume_schedule",
                id=schedule_id,
                expected=float(expected),
                decided_until=float(turn.cursor),
                next_at=turn.next_at,
                actor=actor,
                revision=_next(execute),
            )
            if found and turn.decisions:
                execute("add_decisions", rows=_rows([(schedule_id, each, "closed") for each in turn.decisions]))
            self._announce(execute)
        return bool(found)

    # -- decisions ------------------------------------------------------------------------------------------------
    def schedule_activity(self, ids: Sequence[int]) -> dict[int, list[tuple[str, bool]]]:
        found: dict[int, list[tuple[str, bool]]] = {}
        for schedule_id, run_id, waits in self._database.read("schedule_activity", ids=json_list(ids)):
            found.setdefault(schedule_id, []).append((run_id, bool(waits)))
        return found

    def last_success(self, workflow: str, schedule_id: int, since: float, lowest: str) -> float | None:
        given = {"workflow": workflow, "schedule": schedule_id, "since": float(since), "lowest": lowest}
        found = self._database.read("last_success", **given)[0][0]
        return None if found is None else float(found)

    def record_turns(self, turns: Sequence[ScheduleTurn]) -> RecordedTurns:
        ordered = sorted(turns, key=lambda each: each.schedule_id)
        moves = [
            {
                "id": each.schedule_id,
                "expected": each.expected,
                "decided_until": each.turn.cursor,
                "next_at": each.turn.next_at,
            }
            for each in ordered
        ]
        ids = json_list([each.schedule_id for each in ordered])
        with self._database.transaction() as execute:
            # In one order, so that two orchestrators that decide the same schedules never wait for each other.
            execute("lock_due", ids=ids)
            applied = {row[0] for row in execute("advance_schedules", rows=json_list(moves))}
            mine = [each for each in ordered if each.schedule_id in applied]
            decided = [(each.schedule_id, made, _state(made)) for each in mine for made in each.turn.decisions]
            if not decided:
                return RecordedTurns(frozenset(applied))
            kept = [each.schedule_id for each in mine if each.keeps_open]
            if kept:
                execute("close_ended_decisions", ids=json_list(kept))
            cancelled = [run for _, made, _ in decided for run in made.cancels]
            if cancelled:
                execute("supersede_decisions", runs=json_list(cancelled), reason=SUPERSEDED)
            rows = execute("add_decisions", rows=_rows(_extended(execute, decided)))
        return RecordedTurns(frozenset(applied), {(schedule_id, due_at): id for id, schedule_id, due_at in rows})

    def fire_schedule(self, schedule_id: int, kind: DecisionKind, fires: Sequence[NewFire], actor: str) -> list[str]:
        made = {
            each.due_at: (
                schedule_id,
                Decided(
                    due_at=each.due_at,
                    last_due_at=each.due_at,
                    outcome="fired",
                    reason=f"{kind}{{{actor}}}",
                    run_id=each.run_id,
                    waits_for=each.waits_for,
                    params=each.params,
                ),
                "pending",
            )
            for each in fires
        }
        with self._database.transaction() as execute:
            rows = execute("add_decisions", rows=_rows(list(made.values()), kind=kind, actor=actor))
            self._announce(execute)
        return [str(made[row[2]][1].run_id) for row in sorted(rows)]

    def pending_decisions(self, *, after: int = 0, limit: int = 1_000) -> list[PendingDecision]:
        return [_pending(row) for row in self._database.read("pending_decisions", after=after, limit=limit)]

    def settle_decisions(self, *, opened: Sequence[int] = (), closed: Sequence[int] = ()) -> None:
        with self._database.transaction() as execute:
            for state, ids in (("open", opened), ("closed", closed)):
                if ids:
                    execute("settle_decisions", ids=json_list(sorted(ids)), state=state)

    def refuse_decision(self, decision_id: int, reason: str) -> None:
        with self._database.transaction() as execute:
            if execute("refuse_decision", id=decision_id, reason=reason) and execute("merge_refused", id=decision_id):
                execute("drop_decision", id=decision_id)

    def schedule_decisions(
        self, schedule_id: int | None, *, before: int | None = None, limit: int = 100, outcome: Outcome | None = None
    ) -> list[DecisionRow]:
        highest = NEWEST if before is None else before
        given: dict[str, Any] = {"before": highest, "limit": limit, "outcome": outcome or ""}
        if schedule_id is None:
            return [_decision(row) for row in self._database.read("decisions_of_all", **given)]
        return [_decision(row) for row in self._database.read("schedule_decisions", schedule=schedule_id, **given)]

    def scheduled_runs(self, run_ids: Sequence[str]) -> dict[str, ScheduledRun]:
        rows = self._database.read("scheduled_runs", runs=json_list(run_ids)) if run_ids else []
        return {
            str(run_id): ScheduledRun(schedule_id=schedule, name=name, kind=kind, due_at=due_at, actor=actor)
            for run_id, schedule, name, kind, due_at, actor in rows
        }

    def fired_due_times(self, schedule_id: int, first: float, last: float) -> frozenset[float]:
        given = {"schedule": schedule_id, "first": float(first), "last": float(last)}
        return frozenset(float(row[0]) for row in self._database.read("fired_due_times", **given))

    def _announce(self, execute: Execute) -> None:
        """Notifies other processes with the commit."""
        if self._database.dialect == "postgres":
            execute("notify", topic=TOPIC)


def _suffix(workflow: str | None) -> str:
    """Returns the pattern of full names with this last segment."""
    escaped = (workflow or "").translate({ord(mark): f"\\{mark}" for mark in "%_\\"})
    return f"%::{escaped}"


def _next(execute: Execute) -> int:
    execute("lock_schedules")
    return int(execute("next_schedule_revision")[0][0])


def _extended(execute: Execute, decided: Sequence[tuple[int, Decided, str]]) -> list[tuple[int, Decided, str]]:
    """Counts skips by the newest decision of their schedule if that has the same reason; returns the others."""
    first: dict[int, Decided] = {}
    for schedule_id, made, _ in decided:
        first.setdefault(schedule_id, made)
    skips = [
        {"schedule_id": id, "reason": made.reason, "last_due_at": made.last_due_at, "due_times": made.due_times}
        for id, made in first.items()
        if made.outcome == "skipped"
    ]
    counted = {row[0] for row in execute("extend_skips", rows=json_list(skips))} if skips else set[int]()
    return [each for each in decided if each[0] not in counted or each[1] is not first[each[0]]]


def _state(made: Decided) -> str:
    return "pending" if made.outcome == "fired" else "closed"


def _rows(decided: Sequence[tuple[int, Decided, str]], *, kind: DecisionKind = "due", actor: str | None = None) -> str:
    rows: list[Mapping[str, Any]] = [
        msgspec.structs.asdict(made)
        | {
            "schedule_id": schedule_id,
            "kind": kind,
            "state": state,
            "actor": actor,
            "cancels": json_text(made.cancels),
            "waits_for": json_text(made.waits_for),
            "params": json_text(made.params) if made.params else None,
        }
        for schedule_id, made, state in decided
    ]
    return json_list(rows)


_ids = msgspec.json.Decoder(tuple[str, ...]).decode
_params = msgspec.json.Decoder(dict[str, Any]).decode


def _schedule(row: tuple[Any, ...]) -> StoredSchedule:
    id, workflow, _, spec, paused, removed, decided_until, next_at, changed_at, changed_by, revision = row
    return StoredSchedule(
        id=id,
        workflow=workflow,
        spec=decode_schedule(spec),
        paused=bool(paused),
        removed=bool(removed),
        decided_until=decided_until,
        next_at=next_at,
        changed_at=changed_at,
        changed_by=changed_by,
        revision=revision,
    )


def _pending(row: tuple[Any, ...]) -> PendingDecision:
    id, schedule_id, kind, due_at, run_id, cancels, workflow, spec, params, age, blocked, exists = row
    return PendingDecision(
        id=id,
        schedule_id=schedule_id,
        kind=kind,
        due_at=due_at,
        run_id=run_id,
        cancels=_ids(cancels),
        workflow=workflow,
        spec=decode_schedule(spec),
        params=_params(params) if params else {},
        age=age,
        blocked=bool(blocked),
        exists=bool(exists),
    )


def _decision(row: tuple[Any, ...]) -> DecisionRow:
    names = DecisionRow.__struct_fields__
    return DecisionRow(**dict(zip(names, row, strict=True)))
