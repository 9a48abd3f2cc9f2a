"""The timetable of an orchestrator, and the comparison of declared schedules with stored ones."""

from __future__ import annotations

from typing import Any

import msgspec

from turnout.model.schedule_rows import StoredSchedule
from turnout.model.schedules import ScheduleSpec
from turnout.orchestration.schedules.registration import register
from turnout.orchestration.schedules.timetable import Timetable

HOURLY = ScheduleSpec(name="hourly", every=3_600)


def stored(id: int, next_at: float | None, workflow: str = "here", **given: Any) -> StoredSchedule:
    columns: dict[str, Any] = {
        "spec": HOURLY,
        "paused": False,
        "removed": False,
        "decided_until": 0.0,
        "changed_at": 0.0,
        "changed_by": "definition",
        "revision": 1,
    }
    return StoredSchedule(id=id, workflow=workflow, next_at=next_at, **(columns | given))


def test_the_earliest_schedule_of_a_workflow_that_is_here_is_next() -> None:
    table = Timetable()
    table.put([stored(1, 30.0), stored(2, 10.0), stored(3, 5.0, "elsewhere"), stored(4, None)])
    assert table.next_at is None and table.due(100.0, 10) == []
    table.restrict({"here"})
    assert table.next_at == 10.0
    assert table.due(9.0, 10) == []
    assert table.due(30.0, 10) == [2, 1] and table.due(30.0, 1) == [2]
    table.restrict({"here", "elsewhere"})
    assert table.due(30.0, 10) == [3, 2, 1]


def test_a_schedule_that_was_put_again_counts_with_its_new_time() -> None:
    table = Timetable()
    table.restrict({"here"})
    table.put([stored(1, 10.0), stored(2, 20.0)])
    table.put([stored(1, 40.0)])
    assert (table.next_at, table.due(50.0, 10)) == (20.0, [2, 1])
    table.put([stored(2, None, paused=True)])
    assert (table.next_at, table.due(50.0, 10)) == (40.0, [1])
    table.put([stored(1, 10.0)])
    assert (table.next_at, table.due(10.0, 10)) == (10.0, [1])


def test_only_what_differs_is_stored() -> None:
    known = [stored(1, 10.0), stored(2, None, "elsewhere"), stored(3, None, "gone"), stored(4, None, "emptied")]
    found = register({"here": [HOURLY], "emptied": []}, {"gone"}, known, 100.0)
    assert (list(found.changes), list(found.removed)) == ([], [3, 4])
    again = [stored(3, None, "gone", removed=True)]
    assert register({"here": []}, {"gone"}, again, 100.0).removed == []


def test_other_options_keep_the_place_and_other_times_begin_now() -> None:
    options = msgspec.structs.replace(HOURLY, overlap="allow")
    [change] = register({"here": [options]}, (), [stored(1, 10.0)], 100.1234).changes
    assert (change.anew, change.next_at) == (False, None)
    times = msgspec.structs.replace(HOURLY, every=60)
    [change] = register({"here": [times]}, (), [stored(1, 10.0)], 100.1234).changes
    assert (change.anew, change.decided_until, change.next_at) == (True, 100.123, 120.0)
    [change] = register({"here": [HOURLY]}, (), [stored(1, None, removed=True)], 100.0).changes
    assert (change.anew, change.next_at) == (True, 3_600.0)
    [change] = register({"here": [HOURLY]}, (), [], 100.0).changes
    assert (change.workflow, change.name, change.anew) == ("here", "hourly", True)
