"""Schedules in their forms, and cron expressions."""

from __future__ import annotations

import pytest

from tests.kit.workflow_text import error_of, keys_of, notes_of
from turnout.authoring.yaml.compiler import compile_file
from turnout.authoring.yaml.schedules import Schedule, ScheduleEntry
from turnout.model.cron import cron_problem


def at(*expressions: str) -> tuple[ScheduleEntry, ...]:
    return tuple(ScheduleEntry(cron=each) for each in expressions)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('schedule: "0 2 * * *"', Schedule(start=at("0 2 * * *"))),
        ('schedule: ["0 2 * * *", "30  14 * * 1-5"]', Schedule(start=at("0 2 * * *", "30 14 * * 1-5"))),
        (
            'schedule: {start: "0 8 * * *", stop: ["0 18 * * *"]}',
            Schedule(start=at("0 8 * * *"), stop=at("0 18 * * *")),
        ),
        ('schedule: {restart: "0 0 * * *"}', Schedule(restart=at("0 0 * * *"))),
        ('schedule: {expression: "0 2 * * *"}', Schedule(start=at("0 2 * * *"))),
        (
            'schedule: [{kind: cron, expression: "0 2 * * *"}]',
            Schedule(start=(ScheduleEntry(kind="cron", cron="0 2 * * *"),)),
        ),
        ("schedule: {every: 90}", Schedule(start=(ScheduleEntry(every="90"),))),
        (
            "schedule: {start: {every: 1h, catchUp: all, maxCatchUp: 5, overlap: queue, jitter: 30s, name: hourly}}",
            Schedule(
                start=(
                    ScheduleEntry(
                        every="1h", catch_up="all", max_catch_up=5, overlap="queue", jitter="30s", name="hourly"
                    ),
                )
            ),
        ),
        (
            "schedule: [{at: 2026-12-01T03:00, timezone: Europe/Rome, skip_if_successful: true}]",
            Schedule(start=(ScheduleEntry(at="2026-12-01T03:00", timezone="Europe/Rome", skip_if_successful=True),)),
        ),
    ],
)
def test_schedules_have_many_forms(text: str, expected: Schedule) -> None:
    assert keys_of(text).schedule == expected
    assert notes_of(f"type: chain\n{text}\nsteps: [make]\n") == []


def test_schedules_of_a_file_are_those_of_its_workflow() -> None:
    text = (
        "schedule: {start: [CRON_TZ=Asia/Tokyo 5 9 * * *, {every: 1h, params: {N: 3}}], stop: 0 18 * * *}\n"
        "skip_if_successful: true\nparams: {N: 1}\nsteps: [make]\n"
    )
    [made] = compile_file(text, name="report").workflows
    assert [(each.name, each.expression, each.timezone, each.action) for each in made.schedules] == [
        ("start-1", "5 9 * * *", "Asia/Tokyo", "start"),
        ("start-2", "every 3600s", "UTC", "start"),
        ("stop-1", "0 18 * * *", "UTC", "stop"),
    ]
    assert made.schedules[1].params == {"N": 3}
    assert all(each.skip_if_successful for each in made.schedules)


@pytest.mark.parametrize(
    ("text", "code", "where"),
    [
        ("schedule: {every: 90, jitter: 2h}", "bad_schedule", "schedule.jitter"),
        ("schedule: {every: 0}", "bad_schedule", "schedule.every"),
        ("schedule: {every: soon}", "bad_value", "schedule.every"),
        ("schedule: {cron: 0 2 * * *, every: 1h}", "bad_schedule", "schedule"),
        ("schedule: {timezone: UTC}", "bad_schedule", "schedule"),
        ("schedule: {kind: at, cron: 0 2 * * *}", "bad_schedule", "schedule"),
        ("schedule: {at: tomorrow}", "bad_schedule", "schedule.at"),
        ("schedule: 0 0 30 2 *", "schedule_never_fires", "schedule"),
        ("schedule: {cron: 0 2 * * *, timezone: Mars/Olympus}", "unknown_timezone", "schedule.timezone"),
        ("schedule: {cron: 0 2 * * *, overlap: never}", "bad_value", "schedule.overlap"),
        ("schedule: {cron: 0 2 * * *, catch_up: all, max_catch_up: 100000}", "bad_value", "schedule.max_catch_up"),
        ("schedule: [{every: 1h, name: a}, {every: 2h, name: a}]", "duplicate_schedule", "schedule"),
        ("schedule: {every: 1h, params: [1]}", "bad_value", "schedule.params"),
        ("schedule: {every: 1h, often: true}", "unknown_key", "schedule.often"),
    ],
)
def test_what_is_wrong_with_a_schedule_is_said_where_it_is(text: str, code: str, where: str) -> None:
    error = error_of(f"{text}\nsteps: [make]\n")
    assert (error.code, error.where) == (code, where)


def test_parameters_of_a_schedule_fit_its_workflow() -> None:
    found = compile_file("schedule: {every: 1h, params: {M: 1}}\nparams: {N: 1}\nsteps: [make]\n", name="report")
    assert [each.code for each in found.findings if each.severity == "error"] == ["bad_schedule_params"]


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
        ("@reboot", "the words are @hourly"),
        ("CRON_TZ=Europe/Atlantis 0 2 * * *", "no time zone"),
        ("TZ=../x 0 2 * * *", "no time zone"),
    ],
)
def test_wrong_expressions(expression: str, word: str) -> None:
    problem = cron_problem(expression)
    assert problem is not None and word in problem.message


def test_a_wrong_schedule_is_reported_where_it_is() -> None:
    error = error_of('schedule:\n  start: "0 2 * * *"\n  stop: [ "0 2 * *" ]\nsteps: [make]\n')
    assert (error.code, error.line, error.column, error.where) == ("cron_fields", 3, 11, "schedule.stop[0]")
    assert error_of("schedule: 5\nsteps: [make]").code == "bad_value"


def test_the_time_zone_of_the_workflow_is_that_of_schedules_without_one() -> None:
    text = """
timezone: Europe/Rome
schedule: ["0 3 * * *", {cron: "0 3 * * *", timezone: Asia/Tokyo}]
steps: [echo hello]
"""
    [made] = compile_file(text, name="nightly").workflows
    assert [each.timezone for each in made.schedules] == ["Europe/Rome", "Asia/Tokyo"]
    wrong = error_of("timezone: Europe/Rom\nsteps: [echo hello]\n")
    assert (wrong.code, wrong.line) == ("unknown_timezone", 1)
