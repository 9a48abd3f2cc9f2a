"""Reads what the search for deadlocks of limits needs: what waits below runs that hold slots, and the holders."""

from __future__ import annotations

from turnout.model.limit_deadlocks import Deadlocks, Key, LimitSlots, NestedWaiter, find_deadlocks
from turnout.model.limit_declarations import SizeOrigin, size_in_force
from turnout.model.limits import LimitSize
from turnout.store.database import Database, json_list
from turnout.store.limit_declarations import known_sizes

MAX_NESTED = 5_000
"""Slots that are waited for below other runs, of which a deadlock is looked for."""


def read_deadlocks(database: Database) -> Deadlocks:
    """Returns the deadlocks that there are. Without tasks or child runs that wait it is one look into an index."""
    waiting: dict[Key, set[str]] = {}
    declared: dict[str, str] = {}
    sizes: dict[str, list[tuple[SizeOrigin, LimitSize]]] = {}
    for run_id, pos, name, of, *size in database.read("nested_slots", limit=MAX_NESTED):
        waiting.setdefault((str(run_id), pos), set()).add(name)
        declared[name] = of
        sizes.setdefault(name, []).append((SizeOrigin.IN_USE, LimitSize(*size)))
    if not waiting:
        return Deadlocks()
    above: dict[str, dict[str, set[str]]] = {}
    family: dict[str, set[str]] = {}
    for run_id, member, name, slot in database.read(
        "slots_above", ids=json_list(sorted({run_id for run_id, _ in waiting}))
    ):
        above.setdefault(str(run_id), {}).setdefault(name, set()).add(str(slot))
        family.setdefault(str(run_id), set()).add(str(member))
    users: dict[str, dict[str, set[str]]] = {name: {} for name in declared}
    for name, slot, run_id in database.read("slots_of_runs", names=json_list(sorted(declared))):
        users[name].setdefault(str(slot), set()).add(str(run_id))
    known = known_sizes(database.read, set(declared.values()))
    limits = {
        name: LimitSlots(size_in_force((*sizes[name], *known.get(of, ()))).at_most, users[name])
        for name, of in declared.items()
    }
    return find_deadlocks(
        {
            (run_id, pos): NestedWaiter(
                run_id, pos, frozenset(names), above.get(run_id, {}), frozenset(family.get(run_id, ()))
            )
            for (run_id, pos), names in waiting.items()
        },
        limits,
    )
