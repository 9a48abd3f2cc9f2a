"""Knows the sizes that workflows declare for limits, which of them are in force, and where they differ (pure)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import IntEnum

import msgspec

from turnout.errors import InvalidLimit
from turnout.model.limits import LimitSize, LimitSpec, check_known, shown_size, smallest
from turnout.model.spec import WorkflowSpec


class SizeOrigin(IntEnum):
    """The origin of a size. Of several the lowest decides, so an uploaded definition changes no limit that the
    configuration, a workflow folder or a program has a size for."""

    CONFIGURED = 0
    DECLARED = 1
    """By a file of a workflow folder, or by the code of a program."""
    UPLOADED = 2
    """By a definition that was uploaded, and that may run on workers only."""
    IN_USE = 3
    """By a run that is open, of a workflow that no orchestrator has any more."""


class LimitDeclaration(msgspec.Struct, frozen=True, kw_only=True):
    """A size that a workflow, or one of its tasks, declares for a limit."""

    workflow: str
    """Full name."""
    declared: str
    """The name of the limit as it is declared, with ``${parameter}``."""
    place: str
    """The workflow or the task that declares it, as a message names it."""
    size: LimitSize
    uploaded: bool = False
    """True if the definition was uploaded. It counts only if no file of a workflow folder and no program declares the
    limit."""

    @property
    def origin(self) -> SizeOrigin:
        return SizeOrigin.UPLOADED if self.uploaded else SizeOrigin.DECLARED


def without_size(spec: WorkflowSpec, configured: Mapping[str, LimitSize]) -> list[InvalidLimit]:
    """Returns for each limit and queue of a workflow and its tasks that has no size, neither of its own nor in the
    configuration, the error that a run is refused with."""
    found: list[InvalidLimit] = []
    uses = [(limit, f"workflow {spec.name!r}") for limit in spec.run_limits]
    uses += [(limit, f"task {task.name!r} of workflow {spec.name!r}") for task in spec.tasks for limit in task.limits]
    for limit, what in uses:
        try:
            check_known([limit], configured, what)
        except InvalidLimit as error:
            found.append(error)
    return found


def declarations(spec: WorkflowSpec) -> tuple[LimitDeclaration, ...]:
    """Returns the limits with a size of a workflow and its tasks: each size of a limit once, by its first place."""
    found = [(f"workflow {spec.name!r}", limit) for limit in spec.limits]
    found += [(f"task {task.full_name!r}", limit) for task in spec.tasks for limit in task.limits]
    first: dict[LimitSpec, str] = {}
    for place, limit in found:
        if limit.size.given:
            first.setdefault(limit, place)
    return tuple(
        LimitDeclaration(
            workflow=spec.full_name, declared=limit.name, place=place, size=limit.size, uploaded=spec.remote_only
        )
        for limit, place in first.items()
    )


def size_in_force(known: Iterable[tuple[SizeOrigin, LimitSize]]) -> LimitSize:
    """Returns the smallest of the sizes with the origin that decides.

    >>> size_in_force([(SizeOrigin.UPLOADED, LimitSize(1)), (SizeOrigin.DECLARED, LimitSize(3))]).at_most
    3
    """
    by_origin: dict[SizeOrigin, list[LimitSize]] = {}
    for origin, size in known:
        by_origin.setdefault(origin, []).append(size)
    return smallest(by_origin[min(by_origin)]) if by_origin else LimitSize()


def conflicts(declared: Iterable[LimitDeclaration], configured: Mapping[str, LimitSize]) -> dict[str, str]:
    """Returns a sentence for each limit that is declared with different sizes, and that the configuration does not
    settle, by the name of the limit."""
    found: dict[str, list[LimitDeclaration]] = {}
    for each in declared:
        if each.declared not in configured:
            found.setdefault(each.declared, []).append(each)
    return {name: _sentence(name, each) for name, each in found.items() if len({one.size for one in each}) > 1}


def _sentence(name: str, declared: Iterable[LimitDeclaration]) -> str:
    places: dict[LimitSize, str] = {}
    for each in declared:
        places.setdefault(each.size, each.place)
    in_force = size_in_force((each.origin, each.size) for each in declared)
    return (
        f"limit {name!r} is declared with different sizes: "
        + "; ".join(f"{shown_size(size)} by {place}" for size, place in places.items())
        + f"; {shown_size(in_force)} is in force, unless [limits.{_key(name)}] of the configuration says another"
    )


def contradictions(
    new: Iterable[LimitDeclaration], others: Iterable[LimitDeclaration], configured: Collection[str]
) -> dict[str, str]:
    """Returns a sentence for each limit that an uploaded definition declares with another size than other workflows, by
    the name of the limit. What the configuration has a size for is settled."""
    known: dict[str, list[LimitDeclaration]] = {}
    for each in others:
        if each.declared not in configured:
            known.setdefault(each.declared, []).append(each)
    found: dict[str, str] = {}
    for one in new:
        declared = known.get(one.declared, [])
        in_force = size_in_force((each.origin, each.size) for each in declared)
        if declared and one.size != in_force:
            place = next((each.place for each in declared if each.size == in_force), declared[0].place)
            found[one.declared] = (
                f"{one.place} declares the limit {one.declared!r} with {shown_size(one.size)}, and {place} with "
                f"{shown_size(in_force)}: write the same size or another name, or let the configuration settle it "
                f"with [limits.{_key(one.declared)}]"
            )
    return found


def _key(name: str) -> str:
    """Returns the name as a key of the configuration file."""
    return name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else f'"{name}"'
