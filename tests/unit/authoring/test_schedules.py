"""Schedules as authors of Python workflows write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from turnout import Schedule, task, workflow
from turnout.authoring.schedules import MAX_SCHEDULES, schedule_specs
from turnout.errors import InvalidWorkflow


@task
def load(day: str) -> None: ...


def test_a_workflow_has_one_schedule_or_several_in_its_time_zone() -> None:
    @workflow(schedule="0 3 * * *", timezone="Europe/Rome")
    def one(day: str = "today") -> None:
        load(day)

    @workflow(
        schedule=[
            "@hourly",
            Schedule(every=timedelta(minutes=5), name="often", params={"day": "${due_date}"}),
            Schedule("0 18 * * *", action="stop", timezone="Asia/Tokyo"),
            Schedule(at=datetime(2026, 12, 1, 3, tzinfo=UTC)),
        ]
    )
    def several(day: str = "today") -> None:
        load(day)

    assert [(each.name, each.cron, each.timezone) for each in one.define().schedules] == [
        ("start-1", "0 3 * * *", "Europe/Rome")
    ]
    assert [(each.name, each.expression, each.timezone) for each in several.define().schedules] == [
        ("start-1", "0 * * * *", "UTC"),
        ("often", "every 300s", "UTC"),
        ("stop-1", "0 18 * * *", "Asia/Tokyo"),
        ("start-3", "at 2026-12-01T03:00:00+00:00", "UTC"),
    ]


@pytest.mark.parametrize(
    ("given", "code", "field"),
    [
        ("0 3 * *", "cron_fields", "cron"),
        ("0 0 3 * * *", "cron_fields", "cron"),
        ("0 0 31 2 *", "schedule_never_fires", "cron"),
        ("TZ=Mars/Olympus 0 3 * * *", "unknown_timezone", "cron"),
        (Schedule("0 3 * * *", timezone="Mars/Olympus"), "unknown_timezone", "timezone"),
        (Schedule(), "bad_schedule", "schedule"),
        (Schedule("0 3 * * *", every="1h"), "bad_schedule", "schedule"),
        (Schedule(every="1500ms"), "bad_schedule", "every"),
        (Schedule(every="400d"), "bad_schedule", "every"),
        (Schedule(every="often"), "bad_duration", None),
        (Schedule(at="tomorrow"), "bad_schedule", "at"),
        (Schedule(every="1m", jitter="2m"), "bad_schedule", "jitter"),
        (Schedule("0 3 * * *", overlap="never"), "bad_schedule", "overlap"),  # type: ignore[arg-type]
        (Schedule("0 3 * * *", catch_up="some"), "bad_schedule", "catch_up"),  # type: ignore[arg-type]
        (Schedule("0 3 * * *", action="pause"), "bad_schedule", "action"),  # type: ignore[arg-type]
        (Schedule("0 3 * * *", max_catch_up=0), "bad_schedule", "max_catch_up"),
        (Schedule("0 3 * * *", name="a/b"), "bad_schedule", "name"),
        (Schedule("0 3 * * *", params={"x": object()}), "bad_schedule", "params"),
        ("@dayly", "cron_fields", "cron"),
        (Schedule("0 3 * * *", timezone=5), "unknown_timezone", "timezone"),  # type: ignore[arg-type]
        (Schedule("0 3 * * *", params={"day": "of ${due_dat}"}), "bad_schedule_params", "params"),
        (Schedule("0 3 * * *", params={"days": [{"last": "${day}"}]}), "bad_schedule_params", "params"),
        ([Schedule(every="1h", name="a"), Schedule(every="2h", name="a")], "duplicate_schedule", "name"),
        (["0 3 * * *"] * (MAX_SCHEDULES + 1), "bad_schedule", "schedule"),
        ([3], "bad_schedule", "schedule"),
        (3, "bad_schedule", "schedule"),
    ],
)
def test_what_is_wrong_with_a_schedule_is_said(given: Any, code: str, field: str | None) -> None:
    with pytest.raises(InvalidWorkflow) as raised:
        schedule_specs(given, "UTC", "etl")
    assert (raised.value.code, raised.value.fields.get("field")) == (code, field)


def test_parameters_of_a_schedule_fit_its_workflow() -> None:
    @workflow(schedule=Schedule(every="1h", name="hourly"))
    def etl(day: str) -> None:
        load(day)

    with pytest.raises(InvalidWorkflow, match="params of schedule 'hourly'") as raised:
        etl.define()
    assert raised.value.code == "bad_schedule_params"

    @workflow(name="etl", schedule=Schedule(every="1h", action="stop"))
    def stopped(day: str) -> None:
        load(day)

    assert len(stopped.define().schedules) == 1


def test_a_local_time_that_exists_twice_is_the_first() -> None:
    spec = Schedule(at="2026-10-25T02:30", timezone="Europe/Rome").spec("once")
    assert spec.expression == "at 2026-10-25T02:30:00+02:00"


def test_a_time_zone_or_queue_that_cannot_be_is_refused_without_a_schedule_too() -> None:
    for options, code in (({"timezone": "Europe/Rom"}, "unknown_timezone"), ({"queue": ""}, "bad_limit")):
        with pytest.raises(InvalidWorkflow) as raised:
            workflow(**options)(lambda: None)  # type: ignore[arg-type]
        assert raised.value.code == code


def test_the_words_for_times_are_named_where_another_is_written() -> None:
    with pytest.raises(InvalidWorkflow, match=r"@hourly, @daily, .* or use `every`"):
        Schedule("@every 5m").spec("start-1")


def test_a_single_time_in_a_gap_is_moved_as_that_of_an_expression_is() -> None:
    once = Schedule(at="2027-03-28T02:30", timezone="Europe/Rome").spec("start-1")
    assert once.expression == "at 2027-03-28T03:00:00+02:00"
    twice = Schedule(at="2026-10-25T02:30", timezone="Europe/Rome").spec("start-1")
    assert twice.expression == "at 2026-10-25T02:30:00+02:00"
