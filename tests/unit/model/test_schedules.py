"""Due times: cron across both changes of daylight saving time, intervals, single instants, jitter, parameters."""

from __future__ import annotations

import math
from datetime import datetime
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.model.schedules import (
    ScheduleSpec,
    count_due,
    due_times,
    iso_time,
    jitter_of,
    newest_due,
    next_due,
    params_at,
)

CHANGES = [
    # A local time that does not exist is moved to the first moment that does.
    ("Europe/Rome", "30 2 * * *", "2026-03-28", "03-28T02:30+01:00 03-29T03:00+02:00 03-30T02:30+02:00"),
    ("America/New_York", "30 2 * * *", "2026-03-07", "03-07T02:30-05:00 03-08T03:00-04:00 03-09T02:30-04:00"),
    ("Australia/Lord_Howe", "15 2 * * *", "2026-10-03", "10-03T02:15+10:30 10-04T02:30+11:00 10-05T02:15+11:00"),
    ("America/Santiago", "30 0 * * *", "2026-09-05", "09-05T00:30-04:00 09-06T01:00-03:00 09-07T00:30-03:00"),
    # Several of them are one moment.
    ("Europe/Rome", "0,30 2,3 * * *", "2026-03-29", "03-29T03:00+02:00 03-29T03:30+02:00 03-30T02:00+02:00"),
    # Of a local time that exists twice the first one counts.
    ("Europe/Rome", "30 2 * * *", "2026-10-24", "10-24T02:30+02:00 10-25T02:30+02:00 10-26T02:30+01:00"),
    ("America/New_York", "30 1 * * *", "2026-10-31", "10-31T01:30-04:00 11-01T01:30-04:00 11-02T01:30-05:00"),
    ("Australia/Lord_Howe", "45 1 * * *", "2026-04-04", "04-04T01:45+11:00 04-05T01:45+11:00 04-06T01:45+10:30"),
    ("America/Santiago", "30 23 * * *", "2026-04-03", "04-03T23:30-03:00 04-04T23:30-03:00 04-05T23:30-04:00"),
    # An expression that begins with * follows elapsed time.
    ("Europe/Rome", "*/30 * * * *", "2026-03-29T01:15", "03-29T01:30+01:00 03-29T03:00+02:00 03-29T03:30+02:00"),
    (
        "Europe/Rome",
        "*/30 * * * *",
        "2026-10-25T02:15",
        "10-25T02:30+02:00 10-25T02:00+01:00 10-25T02:30+01:00 10-25T03:00+01:00",
    ),
    ("America/Santiago", "0 * * * *", "2026-09-05T22:30", "09-05T23:00-04:00 09-06T01:00-03:00"),
    ("America/New_York", "0 * * * *", "2026-11-01T00:30", "11-01T01:00-04:00 11-01T01:00-05:00 11-01T02:00-05:00"),
    # A zone without changes.
    ("Asia/Tokyo", "30 2 * * *", "2026-03-29", "03-29T02:30+09:00 03-30T02:30+09:00"),
]
ZONES = ["Europe/Rome", "America/New_York", "Australia/Lord_Howe", "America/Santiago"]
EXPRESSIONS = ["30 2 * * *", "*/20 * * * *", "0 0 * * *", "15 1,2,3 * * *", "45 23 * * 0", "0 12 1 * *", "7 */6 * * *"]
YEAR = (1_767_225_600.0, 1_798_761_600.0)
instants = st.floats(*YEAR, allow_nan=False)


def local(text: str, zone: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def cron(expression: str, zone: str = "UTC", **other: object) -> ScheduleSpec:
    return ScheduleSpec(name="nightly", cron=expression, timezone=zone, **other)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("zone", "expression", "after", "expected"), CHANGES)
def test_due_times_are_right_across_changes_of_daylight_saving_time(
    zone: str, expression: str, after: str, expected: str
) -> None:
    spec, wanted = cron(expression, zone), expected.split()
    found = list(islice(due_times(spec, local(after, zone)), len(wanted)))
    assert [iso_time(due, zone)[5:16] + iso_time(due, zone)[19:] for due in found] == wanted
    assert newest_due(spec, local(after, zone), found[-1], 100) == found


@given(st.sampled_from(ZONES), st.sampled_from(EXPRESSIONS), instants, st.floats(0, 4 * 86_400), st.integers(1, 40))
def test_steps_from_any_instant_find_the_same_due_times(
    zone: str, expression: str, after: float, length: float, limit: int
) -> None:
    spec = cron(expression, zone)
    whole = list(due_times(spec, after, after + length))
    assert whole == sorted(set(whole))
    assert newest_due(spec, after, after + length, limit) == whole[-limit:]
    assert count_due(spec, after, after + length) == len(whole)
    half = after + length / 2
    assert [*due_times(spec, after, half), *due_times(spec, half, after + length)] == whole
    one_by_one, cursor = list[float](), after
    while (due := next_due(spec, cursor)) is not None and due <= after + length:
        one_by_one.append(due)
        cursor = due
    assert one_by_one == whole


def test_the_smallest_step_before_a_due_time_does_not_pass_over_it() -> None:
    midnight = local("2026-11-01T00:00", "UTC")
    assert next_due(cron("0 0 * * *"), math.nextafter(midnight, -math.inf)) == midnight
    assert newest_due(cron("0 0 * * *"), midnight - 1, math.nextafter(midnight, math.inf), 1) == [midnight]


@given(st.integers(1, 10_000), instants, st.floats(0, 50_000), st.integers(1, 20))
def test_an_interval_counts_from_the_epoch(every: int, after: float, length: float, limit: int) -> None:
    spec = ScheduleSpec(name="often", every=every)
    whole = list(due_times(spec, after, after + length))
    assert all(due % every == 0 and after < due <= after + length for due in whole)
    assert len(whole) == math.floor((after + length) / every) - math.floor(after / every)
    assert newest_due(spec, after, after + length, limit) == whole[-limit:]
    assert count_due(spec, after, after + length) == min(len(whole), 10_000)


def test_a_single_instant_is_due_once() -> None:
    spec = ScheduleSpec(name="once", at=1_000.0)
    assert next_due(spec, 999.0) == 1_000.0
    assert next_due(spec, 1_000.0) is None
    assert newest_due(spec, 0.0, 2_000.0, 5) == [1_000.0]


def test_the_29th_of_february_is_found_in_years_to_come() -> None:
    due = next_due(cron("0 0 29 2 *"), local("2026-03-01", "UTC"))
    assert due is not None
    assert iso_time(due, "UTC") == "2028-02-29T00:00:00+00:00"


@given(instants, st.text(max_size=20))
def test_jitter_is_within_its_bound_and_the_same_everywhere(due: float, key: str) -> None:
    spec = cron("0 3 * * *", jitter=30.0)
    assert 0.0 <= jitter_of(spec, key, due) <= 30.0
    assert jitter_of(spec, key, due) == jitter_of(spec, key, due)
    assert jitter_of(cron("0 3 * * *"), key, due) == 0.0


def test_jitter_spreads_schedules_that_are_due_together() -> None:
    spec = cron("0 3 * * *", jitter=30.0)
    assert len({jitter_of(spec, f"workflow-{number}", 1_000.0) for number in range(100)}) > 90


def test_parameters_take_the_local_time_and_date_of_the_due_time() -> None:
    params = {"day": "${due_date}", "deep": [{"at": "from ${due_at}"}], "count": 3}
    spec = cron("30 0 * * *", "Asia/Tokyo", params=params)
    assert params_at(spec, local("2026-05-02T00:30", "Asia/Tokyo")) == {
        "day": "2026-05-02",
        "deep": [{"at": "from 2026-05-02T00:30:00+09:00"}],
        "count": 3,
    }


def test_times_are_shown_as_they_were_written() -> None:
    assert cron("0 3 * * *").expression == "0 3 * * *"
    assert ScheduleSpec(name="often", every=90).expression == "every 90s"
    assert ScheduleSpec(name="once", at=0.0).expression == "at 1970-01-01T00:00:00+00:00"
