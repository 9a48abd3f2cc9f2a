"""Reads and writes the slots of limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from turnout.model.limit_deadlocks import Deadlocks
from turnout.model.limits import LimitSize
from turnout.model.rows import RunWrite
from turnout.model.slot_admission import Admitted
from turnout.model.slots import (
    AGEING_INTERVAL,
    AdmissionScope,
    HeldLimit,
    LimitDetail,
    LimitHolder,
    LimitView,
    SlotRequest,
    begin_slack,
)
from turnout.store.database import Database, Execute, json_list
from turnout.store.limit_deadlocks import read_deadlocks
from turnout.store.limit_declarations import declarations_of, size_columns, views
from turnout.store.row_codec import canonical
from turnout.store.slot_admission import SlotAdmission, configured_sizes

MAX_LIMITS_AT_ONCE = 1_000
"""Limits whose slots one transaction gives, if it is not told which."""
MAX_SHOWN = 1_000
"""Holders and waiters of a limit that are listed."""


class Limits:
    """Slots of limits. All that give slots do so one after the other, whichever process they are in."""

    _database: Database

    def put_limit_sizes(self, sizes: Mapping[str, LimitSize]) -> list[str]:
        with self._database.transaction() as execute:
            execute("lock_limits")
            known = configured_sizes(execute)
            gone = [name for name in known if name not in sizes]
            changed = [name for name, size in sizes.items() if known.get(name) != size]
            for name in changed:
                execute("put_limit_size", declared=name, **size_columns(sizes[name]))
            if gone:
                execute("drop_limit_sizes", names=json_list(gone))
        return [name for name in (*changed, *gone) if name in known]

    def admit_waiting(self, names: Sequence[str] | None = None, scope: AdmissionScope | None = None) -> Admitted:
        # Most calls find that nothing waits, and must not queue for the lock.
        if not self._database.read("waiting_limits", limit=1):
            return Admitted()
        with self._database.transaction() as execute:
            execute("lock_limits")
            wanted = names if names is not None else _column(execute("waiting_limits", limit=MAX_LIMITS_AT_ONCE))
            return SlotAdmission(self._database, execute, scope).admit(wanted)

    def request_slots(self, requests: Sequence[SlotRequest], scope: AdmissionScope | None = None) -> Admitted:
        with self._database.transaction() as execute:
            execute("lock_limits")
            for request in requests:
                _request(execute, request)
            names = sorted({use.name for request in requests for use in request.limits})
            return SlotAdmission(self._database, execute, scope).admit(names)

    def queued_versions(self, workflows: Sequence[str]) -> list[str]:
        return sorted(_column(self._database.read("queued_versions", workflows=json_list(workflows))))

    def runs_without_slots(self, run_ids: Sequence[str]) -> frozenset[str]:
        rows = self._database.read("runs_without_slots", ids=json_list(sorted(run_ids))) if run_ids else []
        return frozenset(_column(rows))

    def granted_tasks(self, run_ids: Sequence[str]) -> dict[tuple[str, int, int], float]:
        rows = self._database.read("granted_tasks", ids=json_list(sorted(run_ids))) if run_ids else []
        return {(str(run_id), pos, attempt): max(age, 0.0) for run_id, pos, attempt, age in rows}

    # -- looking ------------------------------------------------------------------------------------------------
    def limits(self) -> list[LimitView]:
        sizes = {name: LimitSize(*size) for name, *size in self._database.read("limit_sizes")}
        declared = declarations_of(self._database.read("limit_declarations", name=""))
        found = views(self._database.read("limits_in_use", name=""), sizes, declared)
        if any(view.waiting for view in found):
            full = self.limit_deadlocks().limits
            found = [msgspec.structs.replace(view, deadlock=True) if view.name in full else view for view in found]
        return sorted(found, key=lambda view: view.name)

    def limit_deadlocks(self) -> Deadlocks:
        return read_deadlocks(self._database)

    def limit(self, name: str) -> LimitDetail | None:
        view = next((each for each in self.limits() if each.name == name), None)
        if view is None:
            return None
        holders = self._database.read("limit_holders", name=name, limit=MAX_SHOWN)
        waiters = self._database.read("limit_waiters", name=name, limit=MAX_SHOWN)
        full = self.limit_deadlocks().limits.get(name, ()) if view.deadlock else ()
        begun, next_at = self._rate(view)
        return LimitDetail(
            limit=view,
            holders=[_holder(row) for row in holders],
            waiters=[_holder(row, position, full) for position, row in enumerate(waiters, 1)],
            declarations=declarations_of(self._database.read("limit_declarations", name=view.declared)),
            begun=begun,
            next_at=next_at,
        )

    def _rate(self, view: LimitView) -> tuple[int | None, float | None]:
        """Returns how many have begun within the period of a rate, and when the next one may."""
        if view.rate is None or view.per is None:
            return None, None
        period = view.per + begin_slack(view.per)
        begun, oldest = self._database.read("rate_starts", name=view.name, period=period, rate=view.rate)[0]
        return begun, None if oldest is None else oldest + period

    def limits_of(self, run_id: str) -> list[HeldLimit]:
        known = canonical(run_id)
        rows = self._database.read("limits_of_run", run_id=known) if known else []
        full = {} if all(row[2] for row in rows) else self.limit_deadlocks().limits
        return [
            HeldLimit(
                name=name,
                task=task,
                held=bool(held),
                since=since,
                position=position,
                shared_with=_id(shared_with),
                deadlocked_with=[] if held else sorted(full.get(name, ())),
            )
            for name, task, held, since, position, shared_with in rows
        ]


def _request(execute: Execute, request: SlotRequest) -> None:
    if request.renews:
        execute("return_slots", run_id=request.run_id, pos=request.pos, attempt=request.attempt)
    for use in request.limits:
        execute(
            "request_slot",
            run_id=request.run_id,
            pos=request.pos,
            name=use.name,
            attempt=request.attempt,
            declared=use.declared,
            priority=request.priority,
            handicap=AGEING_INTERVAL * request.priority,
            **size_columns(use.size),
        )


def queue_rows(writes: Sequence[RunWrite]) -> str | None:
    """Returns the slots that new runs of a commit wait for, as the parameter of ``queue_runs``; None if there are
    none."""
    rows = [
        {
            "run_id": write.run_id,
            "name": use.name,
            "declared": use.declared,
            **size_columns(use.size),
            "handicap": AGEING_INTERVAL * write.insert.priority,
        }
        for write in writes
        if write.insert is not None
        for use in write.limits
    ]
    return json_list(rows) if rows else None


def _column(rows: Iterable[tuple[Any, ...]]) -> list[str]:
    return [str(row[0]) for row in rows]


def _holder(row: tuple[Any, ...], position: int | None = None, deadlocked_with: Iterable[str] = ()) -> LimitHolder:
    run_id, workflow, task, priority, since, shared_with = row
    return LimitHolder(
        run_id=str(run_id),
        workflow=workflow,
        task=task,
        priority=priority,
        since=since,
        position=position,
        shared_with=_id(shared_with),
        deadlocked_with=sorted(deadlocked_with),
    )


def _id(value: object) -> str | None:
    return None if value is None else str(value)
