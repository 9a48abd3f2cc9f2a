"""Reads and writes the sizes of limits that the workflows of orchestrators declare, and derives those in force."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from turnout.model.limit_declarations import LimitDeclaration
from turnout.model.limits import LimitSize, smallest
from turnout.model.slots import LimitView
from turnout.store.database import Database, json_list

DECLARATION_LIFETIME = 86_400.0
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
            execute("add_limit_declarations", rows=json_list([msgspec.to_builtins(each) for each in mine]))
            return declarations_of(execute("limit_declarations", name=""))


def declarations_of(rows: Iterable[tuple[Any, ...]]) -> list[LimitDeclaration]:
    names = LimitDeclaration.__struct_fields__
    return [LimitDeclaration(**dict(zip(names, row, strict=True))) for row in rows]


def views(
    in_use: Iterable[tuple[Any, ...]],
    configured: Mapping[str, LimitSize],
    declared: Iterable[LimitDeclaration],
) -> list[LimitView]:
    """Returns the limits that are held or waited for, and under the names as they are declared those that nothing
    uses."""
    sizes: dict[str, set[LimitSize]] = {}
    for each in declared:
        sizes.setdefault(each.declared, set()).add(each.size)
    used: dict[str, tuple[str, int, int, set[LimitSize]]] = {}
    for name, of, at_most, rate, per, held, waiting in in_use:
        _, before, waited, known = used.get(name, (of, 0, 0, set[LimitSize]()))
        used[name] = (of, before + held, waited + waiting, known | {LimitSize(at_most, rate, per)})
    idle = {*configured, *sizes}.difference(of for of, *_ in used.values())
    for name in idle:
        used[name] = (name, 0, 0, set[LimitSize]())
    return [
        _view(name, of, configured.get(of), known | sizes.get(of, set[LimitSize]()), held, waiting)
        for name, (of, held, waiting, known) in used.items()
    ]


def _view(
    name: str, declared: str, configured: LimitSize | None, sizes: Collection[LimitSize], held: int, waiting: int
) -> LimitView:
    size = configured or smallest(sizes)
    return LimitView(
        name=name,
        declared=declared,
        at_most=size.at_most,
        rate=size.rate,
        per=None if size.rate is None else size.per,
        configured=configured is not None,
        held=held,
        waiting=waiting,
        conflict=configured is None and sum(each.given for each in sizes) > 1,
    )
