"""Reads and writes the slots of limits, and gives them to what waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from turnout.model.limits import LimitSize, smallest
from turnout.model.rows import RunWrite
from turnout.model.slots import (
    AGEING_INTERVAL,
    RUN,
    AdmissionScope,
    Admitted,
    HeldLimit,
    LimitDetail,
    LimitHolder,
    LimitState,
    LimitView,
    SlotRequest,
    Waiter,
    admit,
    begin_slack,
)
from turnout.store.database import Database, Execute, Rows, json_list
from turnout.store.row_codec import canonical

MAX_EXAMINED = 128
"""Waiters of a limit that one transaction examines."""
MAX_SWEPT = 1_000
"""Waiters that one transaction checks for whether they have ended."""
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
            known = _configured(execute)
            gone = [name for name in known if name not in sizes]
            changed = [name for name, size in sizes.items() if known.get(name) != size]
            for name in changed:
                execute("put_limit_size", declared=name, **_columns(sizes[name]))
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
            return self._admit(execute, wanted, scope)

    def request_slots(self, requests: Sequence[SlotRequest], scope: AdmissionScope | None = None) -> Admitted:
        with self._database.transaction() as execute:
            execute("lock_limits")
            for request in requests:
                _request(execute, request)
            return self._admit(execute, sorted({use.name for request in requests for use in request.limits}), scope)

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
        found = _views(self._database.read("limits_in_use", name=""), sizes)
        used = {view.declared for view in found}
        idle = [_view(name, name, size, configured=True) for name, size in sizes.items() if name not in used]
        return sorted((*found, *idle), key=lambda view: view.name)

    def limit(self, name: str) -> LimitDetail | None:
        view = next((each for each in self.limits() if each.name == name), None)
        if view is None:
            return None
        holders = self._database.read("limit_holders", name=name, limit=MAX_SHOWN)
        waiters = self._database.read("limit_waiters", name=name, limit=MAX_SHOWN)
        return LimitDetail(
            limit=view,
            holders=[_holder(row) for row in holders],
            waiters=[_holder(row, position) for position, row in enumerate(waiters, 1)],
        )

    def limits_of(self, run_id: str) -> list[HeldLimit]:
        known = canonical(run_id)
        rows = self._database.read("limits_of_run", run_id=known) if known else []
        return [
            HeldLimit(name=name, task=task, held=bool(held), since=since, position=position)
            for name, task, held, since, position in rows
        ]

    # -- giving slots -------------------------------------------------------------------------------------------
    def _admit(self, execute: Execute, names: Sequence[str], scope: AdmissionScope | None) -> Admitted:
        """Gives free slots of these limits to what waits, under the lock."""
        if not names:
            return Admitted()
        execute("drop_ended_slots", names=json_list(names))
        execute("drop_ended_waiters", names=json_list(names), limit=MAX_SWEPT)
        first = self._first_waiters(execute, names, _scoped(scope))
        if not first:
            return Admitted()
        ids = json_list(sorted({row[1] for row in first}))
        slots: dict[tuple[str, int], list[tuple[Any, ...]]] = {}
        for run_id, pos, *slot in execute("slots_of_runs", ids=ids):
            slots.setdefault((str(run_id), pos), []).append(tuple(slot))
        waiters = {
            (str(run_id), pos): Waiter(
                str(run_id), pos, rank, since, tuple(slot[0] for slot in slots[str(run_id), pos])
            )
            for _, run_id, pos, rank, since in first
        }
        wanted = [slot for each in waiters for slot in slots[each]]
        others = sorted({slot[0] for slot in wanted}.difference(names))
        if others:
            execute("drop_ended_slots", names=json_list(others))
        states = _states(execute, wanted)
        now = float(execute("clock")[0][0])
        admitted = admit(waiters.values(), states, now)
        if admitted.granted and max(Counter(row[0] for row in first).values()) == MAX_EXAMINED:
            admitted = msgspec.structs.replace(admitted, more=True)
        if admitted.granted:
            self._grant(execute, admitted, [slot for each in admitted.granted for slot in slots[each]], states)
        return admitted

    def _first_waiters(self, execute: Execute, names: Sequence[str], scope: dict[str, Any]) -> Rows:
        if self._database.dialect == "postgres":
            return execute("first_waiters", names=json_list(names), limit=MAX_EXAMINED, **scope)
        found = (execute("first_waiters", name=name, limit=MAX_EXAMINED, **scope) for name in names)
        return [row for rows in found for row in rows]

    def _grant(
        self,
        execute: Execute,
        admitted: Admitted,
        slots: Iterable[tuple[Any, ...]],
        states: Mapping[str, LimitState],
    ) -> None:
        execute("grant_slots", granted=json_list(admitted.granted))
        for name, *_ in slots:
            if states[name].size.rate is not None:
                execute("record_slot", name=name)
        runs = [run_id for run_id, pos in admitted.granted if pos == RUN]
        if runs:
            execute("admit_runs", ids=json_list(runs))
        if self._database.dialect == "postgres":
            if runs:
                execute("notify", topic="runs")
            execute("notify", topic="limits")


def _scoped(scope: AdmissionScope | None) -> dict[str, Any]:
    given = scope or AdmissionScope()
    return {
        "any": int(scope is None),
        "workflows": json_list(given.workflows),
        "versions": json_list(given.versions),
        "ids": json_list(given.run_ids),
    }


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
            **_columns(use.size),
        )


def queue_rows(writes: Sequence[RunWrite]) -> str | None:
    """Returns the slots that new runs of a commit wait for, as the parameter of ``queue_runs``; None if there are
    none."""
    rows = [
        {
            "run_id": write.run_id,
            "name": use.name,
            "declared": use.declared,
            **_columns(use.size),
            "handicap": AGEING_INTERVAL * write.insert.priority,
        }
        for write in writes
        if write.insert is not None
        for use in write.limits
    ]
    return json_list(rows) if rows else None


def _columns(size: LimitSize) -> dict[str, Any]:
    return {"at_most": size.at_most, "rate": size.rate, "per": float(size.per)}


def _configured(execute: Execute) -> dict[str, LimitSize]:
    return {name: LimitSize(*size) for name, *size in execute("limit_sizes")}


def _states(execute: Execute, slots: Iterable[tuple[Any, ...]]) -> dict[str, LimitState]:
    """Returns the limits of these slots as they are now. The configured size wins, else the smallest declared."""
    declared: dict[str, str] = {}
    sizes: dict[str, list[LimitSize]] = {}
    for name, of, at_most, rate, per, _ in slots:
        declared[name] = of
        sizes.setdefault(name, []).append(LimitSize(at_most, rate, per))
    held: dict[str, int] = {}
    for name, _, at_most, rate, per, count in execute("held_slots", names=json_list(sorted(sizes))):
        held[name] = held.get(name, 0) + count
        sizes[name].append(LimitSize(at_most, rate, per))
    configured = _configured(execute)
    states = {
        name: LimitState(configured.get(declared[name]) or smallest(known), held.get(name, 0))
        for name, known in sizes.items()
    }
    for name, state in states.items():
        if state.size.rate is not None:
            _count_begun(execute, name, state)
    return states


def _count_begun(execute: Execute, name: str, state: LimitState) -> None:
    period = state.size.per + begin_slack(state.size.per)
    execute("forget_starts", name=name, period=period)
    now = float(execute("clock")[0][0])
    count, oldest = execute("begun_slots", name=name, period=period)[0]
    state.begun = count
    state.next_in = period if oldest is None else max(0.0, oldest + period - now)


def _column(rows: Iterable[tuple[Any, ...]]) -> list[str]:
    return [str(row[0]) for row in rows]


def _views(rows: Iterable[tuple[Any, ...]], configured: Mapping[str, LimitSize]) -> list[LimitView]:
    found: dict[str, LimitView] = {}
    for name, declared, at_most, rate, per, held, waiting in rows:
        size, known = LimitSize(at_most, rate, per), found.get(name)
        if known is None:
            in_force = configured.get(declared)
            view = _view(name, declared, in_force or size, configured=in_force is not None)
            found[name] = msgspec.structs.replace(view, held=held, waiting=waiting)
            continue
        changes: dict[str, Any] = {"held": known.held + held, "waiting": known.waiting + waiting}
        if not known.configured:
            least = smallest((LimitSize(known.at_most, known.rate, known.per or per), size))
            changes |= {"conflict": True, "at_most": least.at_most, "rate": least.rate, "per": _period(least)}
        found[name] = msgspec.structs.replace(known, **changes)
    return list(found.values())


def _view(name: str, declared: str, size: LimitSize, *, configured: bool) -> LimitView:
    return LimitView(
        name=name,
        declared=declared,
        at_most=size.at_most,
        rate=size.rate,
        per=_period(size),
        configured=configured,
        held=0,
        waiting=0,
    )


def _period(size: LimitSize) -> float | None:
    return None if size.rate is None else size.per


def _holder(row: tuple[Any, ...], position: int | None = None) -> LimitHolder:
    run_id, workflow, task, priority, since = row
    return LimitHolder(
        run_id=str(run_id), workflow=workflow, task=task, priority=priority, since=since, position=position
    )
