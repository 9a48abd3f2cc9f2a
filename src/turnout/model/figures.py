"""Declares figures on the fields and properties of status structs, and combines statuses by these declarations.

A figure is declared once, as ``Annotated[int, Figure("errors_total", "Batches that failed.")]``. Sums over
several orchestrators, the exposition for Prometheus and the tables of ``health`` and ``top`` follow from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from turnout.model.breaker import BreakerState

BREAKER_ORDER = ("closed", "half_open", "open")
"""From the best to the worst."""

Total: TypeAlias = Callable[[Sequence[Any], str], Any]
"""Returns the value of the named field for several statuses as one."""


def summed(rows: Sequence[Any], name: str) -> Any:
    """Returns the sum; None if one of the statuses does not have the value."""
    values = [getattr(row, name) for row in rows]
    return None if None in values else sum(values)


def summed_by_key(rows: Sequence[Any], name: str) -> dict[str, int]:
    sums: dict[str, int] = {}
    for row in rows:
        for key, count in getattr(row, name).items():
            sums[key] = sums.get(key, 0) + count
    return sums


def first(rows: Sequence[Any], name: str) -> Any:
    return getattr(rows[0], name)


def largest(rows: Sequence[Any], name: str) -> Any:
    return max(getattr(row, name) for row in rows)


def smallest(rows: Sequence[Any], name: str) -> Any:
    return min(getattr(row, name) for row in rows)


def of_worst_breaker(rows: Sequence[Any], name: str) -> Any:
    return getattr(max(rows, key=lambda row: BREAKER_ORDER.index(row.breaker)), name)


def average_by_executors(rows: Sequence[Any], name: str) -> float:
    """Returns the average, weighted by the number of stage executors."""
    weighted = sum(getattr(row, name) * row.executors for row in rows)
    return weighted / max(1, sum(row.executors for row in rows))


class Unit(StrEnum):
    """The format of a figure in a table."""

    COUNT = "count"
    FAILURES = "failures"
    RATE = "rate"
    SHARE = "share"
    SIZE = "size"
    DURATION = "duration"
    AVERAGE = "average"
    AGE = "age"
    BREAKER = "breaker"


class TableColumn(msgspec.Struct, frozen=True):
    """The column of a figure in the tables of ``health`` and ``top``."""

    title: str
    unit: Unit = Unit.COUNT
    rank: int = 0
    """Columns with the highest rank are dropped first where the screen is too narrow; those with 0 never are."""
    order: int = 0
    """Columns are ordered by this number, then by the order of their fields."""
    of: str = ""
    """The field with the limit of a count, which is written behind it."""


class Figure(msgspec.Struct, frozen=True):
    """One figure of a status."""

    metric: str = ""
    """The name of the metric behind the ``METRIC_PREFIX`` of its struct; empty if it is not exposed. Counters end
    in ``_total``."""
    help: str = ""
    """The meaning of the metric. Of several figures of one metric the first one has it."""
    total: Total = summed
    label: str = ""
    """``name=value`` for a label of the sample; ``name`` for that of the states, or of the keys of a dictionary."""
    states: tuple[str, ...] = ()
    """The values of a state: each gets a sample, which is 1 for the present one."""
    requires: str = ""
    """The field without which the figure is not exposed."""


class Part(msgspec.Struct, frozen=True):
    """A status inside of a status, or a collection of such. Dictionaries are combined key by key."""

    kind: type[msgspec.Struct]
    label: str = ""
    """The label that distinguishes the parts of a collection."""
    key: str = "id"
    """The field that has its value, if the collection is no dictionary."""

    def entries(self, value: Any) -> Iterator[tuple[tuple[tuple[str, str], ...], msgspec.Struct]]:
        """Yields each part with its label."""
        match value:
            case None:
                return
            case Mapping():
                yield from (((((self.label, key),)), each) for key, each in value.items())
            case tuple():
                yield from ((((self.label, getattr(each, self.key)),), each) for each in value)
            case _:
                yield (), value


def breaker_figure(metric: str, owner: str) -> Figure:
    """Returns the declaration of the state of a circuit breaker."""
    return Figure(
        metric,
        f"1 for the state that the {owner}'s circuit breaker is in.",
        of_worst_breaker,
        label="state",
        states=tuple(BreakerState),
    )


BREAKER_COLUMN = TableColumn("breaker", Unit.BREAKER, rank=1, order=9)


@cache
def table_columns(kind: type[msgspec.Struct]) -> Mapping[str, TableColumn]:
    """Returns the columns of a table of such statuses by field or property, in their order."""
    found = {name: one for name, hint in _hints(kind).items() if (one := _extra(hint, TableColumn)) is not None}
    return dict(sorted(found.items(), key=lambda each: each[1].order))


@cache
def declarations(kind: type[msgspec.Struct]) -> Mapping[str, Figure | Part]:
    """Returns the declared figures and parts by name: those of fields, then those of properties."""
    found = {name: _extra(hint, Figure) or _extra(hint, Part) for name, hint in _hints(kind).items()}
    prefix = getattr(kind, "METRIC_PREFIX", "")
    return {name: _prefixed(one, prefix) for name, one in found.items() if one is not None}


def _prefixed(declared: Figure | Part, prefix: str) -> Figure | Part:
    if isinstance(declared, Part) or not declared.metric or declared.metric.startswith("turnout_"):
        return declared
    return msgspec.structs.replace(declared, metric=f"{prefix}{declared.metric}")


def _hints(kind: type[msgspec.Struct]) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    found = {name: hints[name] for name in kind.__struct_fields__}
    for name, value in vars(kind).items():
        if isinstance(value, property):
            found[name] = get_type_hints(value.fget, include_extras=True).get("return")
    return found


E = TypeVar("E")


def _extra(hint: Any, kind: type[E]) -> E | None:
    extras = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((extra for extra in extras if isinstance(extra, kind)), None)


S = TypeVar("S", bound=msgspec.Struct)


def combine(rows: Sequence[S]) -> S:
    """Returns several statuses of one kind as one. What is not declared has its default."""
    kind = type(rows[0])
    values: dict[str, Any] = {}
    for name, declared in declarations(kind).items():
        if name not in kind.__struct_fields__:
            continue
        if isinstance(declared, Figure):
            values[name] = declared.total(rows, name)
        elif isinstance(first(rows, name), Mapping):
            values[name] = _combined_by_key([getattr(row, name) for row in rows])
    return kind(**values)


def _combined_by_key(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    keys = dict.fromkeys(key for one in found for key in one)
    return {key: combine([one[key] for one in found if key in one]) for key in keys}
