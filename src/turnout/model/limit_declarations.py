"""Knows the sizes that workflows declare for limits, and where they differ (pure)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from turnout.model.limits import LimitSize, LimitSpec, shown_size
from turnout.model.spec import WorkflowSpec


class LimitDeclaration(msgspec.Struct, frozen=True, kw_only=True):
    """A size that a workflow, or one of its tasks, declares for a limit."""

    workflow: str
    """Full name."""
    declared: str
    """The name of the limit as it is declared, with ``${parameter}``."""
    place: str
    """The workflow or the task that declares it, as a message names it."""
    at_most: int | None
    rate: int | None
    per: float

    @property
    def size(self) -> LimitSize:
        return LimitSize(self.at_most, self.rate, self.per)


def declarations(spec: WorkflowSpec) -> tuple[LimitDeclaration, ...]:
    """Returns the limits with a size of a workflow and its tasks: each size of a limit once, by its first place."""
    found = [(f"workflow {spec.name!r}", limit) for limit in spec.limits]
    found += [(f"task {task.full_name!r}", limit) for task in spec.tasks for limit in task.limits]
    first: dict[LimitSpec, str] = {}
    for place, limit in found:
        if limit.size.given:
            first.setdefault(limit, place)
    return tuple(_declaration(spec.full_name, place, limit) for limit, place in first.items())


def _declaration(workflow: str, place: str, limit: LimitSpec) -> LimitDeclaration:
    return LimitDeclaration(
        workflow=workflow,
        declared=limit.name,
        place=place,
        at_most=limit.at_most,
        rate=limit.rate,
        per=float(limit.per),
    )


def conflicts(declared: Iterable[LimitDeclaration], configured: Mapping[str, LimitSize]) -> dict[str, str]:
    """Returns a sentence for each limit that is declared with different sizes, and that the configuration does not
    settle, by the name of the limit."""
    found: dict[str, dict[LimitSize, str]] = {}
    for each in declared:
        if each.declared not in configured:
            found.setdefault(each.declared, {}).setdefault(each.size, each.place)
    return {
        name: f"limit {name!r} is declared with different sizes: "
        + "; ".join(f"{shown_size(size)} by {place}" for size, place in sizes.items())
        + f"; the smallest is in force, unless [limits.{_key(name)}] of the configuration says another"
        for name, sizes in found.items()
        if len(sizes) > 1
    }


def _key(name: str) -> str:
    """Returns the name as a key of the configuration file."""
    return name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else f'"{name}"'
