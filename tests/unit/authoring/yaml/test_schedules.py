"""Schedules in their forms, and cron expressions."""

from __future__ import annotations

import pytest

from tests.kit.workflow_text import error_of, keys_of, notes_of
from turnout.authoring.yaml.schedules import Schedule
from turnout.model.cron import cron_problem


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('schedule: "0 2 * * *"', Schedule(start=("0 2 * * *",))),
        ('schedule: ["0 2 * * *", "30  14 * * 1-5"]', Schedule(start=("0 2 * * *", "30 14 * * 1-5"))),
        ('schedule: {start: "0 8 * * *", stop: ["0 18 * * *"]}', Schedule(start=("0 8 * * *",), stop=("0 18 * * *",))),
        ('schedule: {restart: "0 0 * * *"}', Schedule(restart=("0 0 * * *",))),
        ('schedule: {expression: "0 2 * * *"}', Schedule(start=("0 2 * * *",))),
        ('schedule: [{kind: cron, expression: "0 2 * * *"}]', Schedule(start=("0 2 * * *",))),
    ],
)
def test_schedules_have_many_forms(text: str, expected: Schedule) -> None:
    assert keys_of(text).schedule == expected
    assert "no_effect_yet" in notes_of(f"{text}\nsteps: [make]\n")


@pytest.mark.parametrize(
    "expression",
    [
        "* * * * *",
        "*/15 0-6,18-23 1,15 jan-jun mon-fri",
        "59 23 31 12 7",
        "0 0 * * SUN",
        "5/10 * * * *",
        "@daily",
        "CRON_TZ=Europe/Berlin 0 2 * * *",
        "TZ=UTC @hourly",
    ],
)
def test_right_expressions(expression: str) -> None:
    assert cron_problem(expression) is None


@pytest.mark.parametrize(
    ("expression", "word"),
    [
        ("", "0 fields"),
        ("0 2 * *", "4 fields"),
        ("0 0 2 * * *", "6 fields"),
        ("60 * * * *", "its minute is '60'; write numbers from 0 to 59"),
        ("0 24 * * *", "its hour"),
        ("0 0 0 * *", "its day of the month"),
        ("0 0 * 13 *", "its month"),
        ("0 0 * * 8", "its day of the week"),
        ("0 0 * * fry", "its day of the week"),
        ("0 0 * * 5-1", "upwards"),
        ("0 9-25 * * *", "upwards"),
        ("*/0 * * * *", "a step"),
        ("*/x * * * *", "a step"),
        ("*-5 * * * *", "its minute"),
        ("1, * * * *", "its minute"),
        ("² * * * *", "its minute"),
        ("every day at two", "4 fields"),
        ("@reboot", "1 fields"),
        ("CRON_TZ=Europe/Atlantis 0 2 * * *", "no time zone"),
        ("TZ=../x 0 2 * * *", "no time zone"),
    ],
)
def test_wrong_expressions(expression: str, word: str) -> None:
    assert word in (cron_problem(expression) or "")


def test_a_wrong_schedule_is_reported_where_it_is() -> None:
    error = error_of('schedule:\n  start: "0 2 * * *"\n  stop: [ "0 2 * *" ]\nsteps: [make]\n')
    assert (error.code, error.line, error.column, error.where) == ("bad_schedule", 3, 11, "schedule.stop[0]")
    assert error_of("schedule: 5\nsteps: [make]").code == "bad_value"
    assert error_of("schedule: {at: '2026-01-01'}\nsteps: [make]").code == "unknown_key"
