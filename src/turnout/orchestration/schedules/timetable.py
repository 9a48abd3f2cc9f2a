"""Knows all schedules, and which of those of this orchestrator's workflows is acted on next."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from turnout.model.schedule_rows import StoredSchedule


class Timetable:
    """Schedules by id, ordered by the time at which each is acted on. Other orchestrators may be further."""

    def __init__(self) -> None:
        self._known: dict[int, StoredSchedule] = {}
        self._workflows: Collection[str] = ()
        self._heap: list[tuple[float, int]] = []
        """An entry counts while its schedule has that time."""

    @property
    def schedules(self) -> Mapping[int, StoredSchedule]:
        return MappingProxyType(self._known)

    def put(self, schedules: Iterable[StoredSchedule]) -> None:
        """Takes schedules as they are stored now."""
        for each in schedules:
            known = self._known.get(each.id)
            self._known[each.id] = each
            if known is None or known.next_at != each.next_at:
                self._push(each)

    def restrict(self, workflows: Collection[str]) -> None:
        """Orders the schedules of these workflows; others are left to the orchestrators that have them."""
        self._workflows = workflows
        self._heap = []
        for each in self._known.values():
            self._push(each)

    def _push(self, schedule: StoredSchedule) -> None:
        if schedule.next_at is not None and schedule.workflow in self._workflows:
            heapq.heappush(self._heap, (schedule.next_at, schedule.id))

    @property
    def next_at(self) -> float | None:
        """The time at which the next schedule is acted on; None if there is none."""
        self._drop_outdated()
        return self._heap[0][0] if self._heap else None

    def due(self, now: float, limit: int) -> list[int]:
        """Returns schedules whose time has come, the earliest first. They stay until they are put with another time."""
        found: list[tuple[float, int]] = []
        while len(found) < limit:
            self._drop_outdated()
            if not self._heap or self._heap[0][0] > now:
                break
            found.append(heapq.heappop(self._heap))
        for entry in found:
            heapq.heappush(self._heap, entry)
        return list(dict.fromkeys(id for _, id in found))

    def _drop_outdated(self) -> None:
        while self._heap:
            next_at, id = self._heap[0]
            known = self._known.get(id)
            if known is not None and known.next_at == next_at:
                return
            heapq.heappop(self._heap)
