"""Reads and writes the sizes of limits that the workflows of orchestrators declare, and derives those in force."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from turnout.model.limit_declarations import LimitDeclaration, SizeOrigin, size_in_force
from turnout.model.limits import LimitSize
from turnout.model.slots import LimitView
from turnout.store.database import Database, Execute, json_list

DECLARATION_LIFETIME = 300.0
"""Seconds for which a declaration counts that no orchestrator confirms any more."""


class LimitDeclarations:
    """Declared sizes by workflow. They change under the lock of limits, so that no slot is given meanwhile."""

    _database: Database

    def put_limit_declarations(
        self, declared: Mapping[str, Sequence[LimitDeclaration]], gone: Collection[str] = ()
    ) -> list[LimitDeclaration]:
        mine = [each for found in declared.values() for each in found]
        concerned = sorted(declared.keys() | gone)
        # Most programs have none, and must not queue for the lock.
        if not mine and not self._database.read("any_limit_declarations"):
            return []
        with self._database.transaction() as execute:
            execute("lock_limits")
            execute("drop_limit_declarations", workflows=json_list(concerned), age=DECLARATION_LIFETIME)
            execute("add_limit_declarations", rows=json_list([_columns(each) for each in mine]))
            return declarations_of(execute("limit_declarations", name=""))

    def limit_declarations(self) -> list[LimitDeclaration]:
        return declarations_of(self._database.read("limit_declarations", name=""))


def size_columns(size: LimitSize) -> dict[str, Any]:
    return {"at_most": size.at_most, "rate": size.rate, "per": float(size.per)}


def _columns(each: LimitDeclaration) -> dict[str, Any]:
    place = {"workflow": each.workflow, "declared": each.declared, "place": each.place, "uploaded": each.uploaded}
    return place | size_columns(each.size)


def declarations_of(rows: Iterable[tuple[Any, ...]]) -> list[LimitDeclaration]:
    return [
        LimitDeclaration(
            workflow=workflow, declared=declared, place=place, uploaded=bool(uploaded), size=LimitSize(*size)
        )
        for workflow, declared, place, uploaded, *size in rows
    ]


def known_sizes(execute: Execute, names: Collection[str]) -> dict[str, list[tuple[SizeOrigin, LimitSize]]]:
    """Returns the sizes of these limits that are configured and declared."""
    found: dict[str, list[tuple[SizeOrigin, LimitSize]]] = {}
    for name, origin, *size in execute("declared_sizes", names=json_list(sorted(names))):
        found.setdefault(name, []).append((SizeOrigin(origin), LimitSize(*size)))
    return found


def views(
    in_use: Iterable[tuple[Any, ...]],
    configured: Mapping[str, LimitSize],
    declared: Iterable[LimitDeclaration],
) -> list[LimitView]:
    """Returns the limits that are held or waited for, and under the names as they are declared those that nothing
    uses."""
    sizes: dict[str, set[tuple[SizeOrigin, LimitSize]]] = {}
    for name, size in configured.items():
        sizes.setdefault(name, set()).add((SizeOrigin.CONFIGURED, size))
    for each in declared:
        sizes.setdefault(each.declared, set()).add((each.origin, each.size))
    used: dict[str, tuple[str, int, int, set[tuple[SizeOrigin, LimitSize]]]] = {}
    for name, of, at_most, rate, per, held, waiting in in_use:
        _, before, waited, known = used.get(name, (of, 0, 0, sizes.get(of, set[tuple[SizeOrigin, LimitSize]]())))
        size = LimitSize(at_most, rate, per)
        used[name] = (of, before + held, waited + waiting, known | {(SizeOrigin.IN_USE, size)})
    for name in sizes.keys() - {of for of, *_ in used.values()}:
        used[name] = (name, 0, 0, sizes[name])
    return [_view(name, of, known, held, waiting) for name, (of, held, waiting, known) in used.items()]


def _view(
    name: str, declared: str, sizes: Collection[tuple[SizeOrigin, LimitSize]], held: int, waiting: int
) -> LimitView:
    size, decides = size_in_force(sizes), min(origin for origin, _ in sizes)
    given = {each for origin, each in sizes if each.given and (origin < SizeOrigin.IN_USE or origin == decides)}
    configured = decides is SizeOrigin.CONFIGURED
    return LimitView(
        name=name,
        declared=declared,
        at_most=size.at_most,
        rate=size.rate,
        per=None if size.rate is None else size.per,
        configured=configured,
        held=held,
        waiting=waiting,
        conflict=not configured and len(given) > 1,
    )
