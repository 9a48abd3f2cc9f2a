"""Gives slots of limits to what waits for them, within a transaction that holds the lock of limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from turnout.model.limit_declarations import SizeOrigin, size_in_force
from turnout.model.limits import LimitSize
from turnout.model.slot_admission import NOTHING_ABOVE, Admitted, LimitState, Waiter, admit
from turnout.model.slots import RUN, AdmissionScope, begin_slack
from turnout.store.database import Database, Execute, Rows, json_list
from turnout.store.limit_declarations import known_sizes

MAX_EXAMINED = 128
"""Waiters of a limit that one transaction examines."""
MAX_NESTED_EXAMINED = 1_000
"""Waiters of a limit that it examines beside those, because runs that hold slots may wait for them."""
MAX_SWEPT = 1_000
"""Waiters that one transaction checks for whether they have ended."""

Above: TypeAlias = dict[str, dict[str, dict[str, frozenset[str]]]]
"""By run, limit and slot: those of the run and its ancestors that use the slot."""


class SlotAdmission:
    """One pass over waiters, under the lock."""

    def __init__(self, database: Database, execute: Execute, scope: AdmissionScope | None) -> None:
        self._dialect = database.dialect
        self._execute = execute
        self._scope = _scoped(scope)

    def admit(self, names: Sequence[str]) -> Admitted:
        """Gives free slots of these limits to what waits."""
        if not names:
            return Admitted()
        execute = self._execute
        execute("drop_ended_slots", names=json_list(names))
        execute("drop_ended_waiters", names=json_list(names), limit=MAX_SWEPT)
        first = self._waiters("first_waiters", names, MAX_EXAMINED)
        if not first:
            return Admitted()
        nested = self._waiters("nested_waiters", names, MAX_NESTED_EXAMINED)
        rows = {(str(row[1]), row[2]): row for row in (*first, *nested)}
        slots: dict[tuple[str, int], list[tuple[Any, ...]]] = {each: [] for each in rows}
        for run_id, pos, *slot in execute("slots_of_waiters", waiters=json_list(sorted(rows))):
            slots[str(run_id), pos].append(tuple(slot))
        wanted = [slot for each in rows for slot in slots[each]]
        others = sorted({slot[0] for slot in wanted}.difference(names))
        if others:
            execute("drop_ended_slots", names=json_list(others))
        above = self._above(sorted({str(row[1]) for row in rows.values() if row[5]}))
        states = self._states(wanted, above)
        waiters = [
            Waiter(
                run_id,
                pos,
                rank,
                since,
                tuple(slot[0] for slot in slots[run_id, pos]),
                above.get(run_id, NOTHING_ABOVE),
            )
            for (run_id, pos), (_, _, _, rank, since, _) in rows.items()
        ]
        admitted = admit(waiters, states, float(execute("clock")[0][0]))
        if admitted.granted:
            self._grant(admitted, [slot for each in admitted.granted for slot in slots[each]], states)
            if _cut(first, MAX_EXAMINED) or _cut(nested, MAX_NESTED_EXAMINED):
                return msgspec.structs.replace(admitted, more=True)
        return admitted

    def _waiters(self, block: str, names: Sequence[str], limit: int) -> Rows:
        if self._dialect == "postgres":
            return self._execute(block, names=json_list(names), limit=limit, **self._scope)
        found = (self._execute(block, name=name, limit=limit, **self._scope) for name in names)
        return [row for rows in found for row in rows]

    def _above(self, run_ids: Sequence[str]) -> Above:
        above: Above = {}
        rows = self._execute("slots_above", ids=json_list(run_ids)) if run_ids else []
        for run_id, member, name, slot in rows:
            slots = above.setdefault(str(run_id), {}).setdefault(name, {})
            slots[str(slot)] = slots.get(str(slot), frozenset()) | {str(member)}
        return above

    def _states(self, slots: Iterable[tuple[Any, ...]], above: Above) -> dict[str, LimitState]:
        """Returns the limits of these slots as they are now. A size that a run was submitted with counts only where
        none is configured or declared."""
        execute = self._execute
        declared: dict[str, str] = {}
        sizes: dict[str, list[tuple[SizeOrigin, LimitSize]]] = {}
        for name, of, at_most, rate, per in slots:
            declared[name] = of
            sizes.setdefault(name, []).append((SizeOrigin.IN_USE, LimitSize(at_most, rate, per)))
        held: dict[str, int] = {}
        for name, _, at_most, rate, per, count in execute("held_slots", names=json_list(sorted(sizes))):
            held[name] = held.get(name, 0) + count
            sizes[name].append((SizeOrigin.IN_USE, LimitSize(at_most, rate, per)))
        others = known_sizes(execute, set(declared.values()))
        states = {
            name: LimitState(size_in_force((*known, *others.get(declared[name], ()))), held.get(name, 0))
            for name, known in sizes.items()
        }
        for name, state in states.items():
            if state.size.rate is not None:
                self._count_begun(name, state)
        shareable = sorted({slot for limits in above.values() for slots in limits.values() for slot in slots})
        for name, slot, run_id, pos in execute("users_of_slots", ids=json_list(shareable)) if shareable else ():
            if name in states:
                states[name].users.setdefault(str(slot), set()).add((str(run_id), pos))
        return states

    def _count_begun(self, name: str, state: LimitState) -> None:
        period = state.size.per + begin_slack(state.size.per)
        self._execute("forget_starts", name=name, period=period)
        now = float(self._execute("clock")[0][0])
        count, oldest = self._execute("begun_slots", name=name, period=period)[0]
        state.begun = count
        state.next_in = period if oldest is None else max(0.0, oldest + period - now)

    def _grant(self, admitted: Admitted, slots: Iterable[tuple[Any, ...]], states: Mapping[str, LimitState]) -> None:
        execute = self._execute
        execute("grant_slots", granted=json_list(admitted.granted))
        if admitted.shared:
            execute("share_slots", shared=json_list(admitted.shared))
        for name, *_ in slots:
            if states[name].size.rate is not None:
                execute("record_slot", name=name)
        runs = [run_id for run_id, pos in admitted.granted if pos == RUN]
        if runs:
            execute("admit_runs", ids=json_list(runs))
        if self._dialect == "postgres":
            if runs:
                execute("notify", topic="runs")
            execute("notify", topic="limits")


def configured_sizes(execute: Execute) -> dict[str, LimitSize]:
    """Returns the sizes of the configuration, by the names as they are declared."""
    return {name: LimitSize(*size) for name, *size in execute("limit_sizes")}


def _cut(rows: Rows, limit: int) -> bool:
    """True if a limit has as many waiters as were asked for, so that there may be more."""
    return bool(rows) and max(Counter(row[0] for row in rows).values()) == limit


def _scoped(scope: AdmissionScope | None) -> dict[str, Any]:
    given = scope or AdmissionScope()
    return {
        "any": int(scope is None),
        "workflows": json_list(given.workflows),
        "versions": json_list(given.versions),
        "ids": json_list(given.run_ids),
    }
