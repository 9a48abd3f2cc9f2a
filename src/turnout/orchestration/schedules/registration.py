"""Compares the schedules that workflows declare with those that are stored (pure)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from turnout.model.schedule_rows import ScheduleChange, StoredSchedule
from turnout.model.schedules import ScheduleSpec, acted_on_at, next_due


class Registration(msgspec.Struct, frozen=True):
    """The differences between what is declared and what is stored."""

    changes: Sequence[ScheduleChange] = ()
    removed: Sequence[int] = ()
    """Ids of schedules that their workflows do not declare any more."""


def register(
    declared: Mapping[str, Sequence[ScheduleSpec]], gone: Collection[str], stored: Iterable[StoredSchedule], now: float
) -> Registration:
    """Returns what differs. ``declared`` has the schedules of all workflows that are known here, those without any
    included; ``gone`` are workflows that were removed. Others are left to the orchestrators that know them."""
    now = round(now, 3)
    known: dict[tuple[str, str], StoredSchedule] = {}
    removed: list[int] = []
    for each in stored:
        specs = declared.get(each.workflow)
        known[each.workflow, each.name] = each
        unwanted = each.workflow in gone if specs is None else all(spec.name != each.name for spec in specs)
        if unwanted and not each.removed:
            removed.append(each.id)
    changes = [
        _change(workflow, spec, known.get((workflow, spec.name)), now)
        for workflow, specs in declared.items()
        for spec in specs
        if _differs(spec, known.get((workflow, spec.name)))
    ]
    return Registration(changes, removed)


def _differs(spec: ScheduleSpec, stored: StoredSchedule | None) -> bool:
    return stored is None or stored.removed or stored.spec != spec


def _change(workflow: str, spec: ScheduleSpec, stored: StoredSchedule | None, now: float) -> ScheduleChange:
    anew = stored is None or stored.removed or stored.spec.timing != spec.timing
    key = f"{workflow}/{spec.name}"
    return ScheduleChange(
        workflow=workflow,
        name=spec.name,
        spec=msgspec.json.encode(spec).decode(),
        anew=anew,
        decided_until=now,
        next_at=acted_on_at(spec, key, next_due(spec, now)) if anew else None,
    )
