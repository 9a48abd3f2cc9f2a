"""Schedules through the API and through commands, on a server and on its database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.kit.api import RunningApi, running_api
from tests.kit.waiting import until
from turnout import Schedule, task, workflow
from turnout.cli.app import application
from turnout.cli.failure import exit_code
from turnout.cli.on_database import DatabaseSchedules
from turnout.errors import ScheduleError, TurnoutError

SCHEDULES = "/api/v1/schedules"


@task
def count(day: str) -> str:
    return day


@workflow(
    schedule=[
        Schedule("0 3 * * *", name="nightly", timezone="Europe/Rome", params={"day": "${due_date}"}),
        Schedule("0 18 * * *", action="stop"),
    ]
)
def scheduled_report(day: str) -> str:
    return count(day)


@workflow(schedule=Schedule(every="1h", params={"day": "x"}, overlap="allow"))
def scheduled_often(day: str) -> str:
    return count(day)


@workflow(schedule=Schedule(every="1h", params={"day": "x"}), queue="nosuch")
def scheduled_refused(day: str) -> str:
    return count(day)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApi]:
    url = f"sqlite:///{tmp_path_factory.mktemp('api')}/turnout.db"
    workflows = [scheduled_report, scheduled_often]
    with running_api(url, workflows=workflows, schedules=True) as running:
        yield running


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApi]:
    url = f"sqlite:///{tmp_path_factory.mktemp('refusing')}/turnout.db"
    with running_api(url, workflows=[scheduled_refused], schedules=True) as running:
        yield running


def get(api: RunningApi, path: str = "", **params: Any) -> Any:
    answer = api.client("viewer").get(f"{SCHEDULES}{path}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def post(api: RunningApi, path: str, body: Any = None, *, status: int = 200) -> Any:
    answer = api.client("operator").post(f"{SCHEDULES}{path}", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def nightly(api: RunningApi) -> int:
    [found] = get(api, workflow="scheduled_report", name="nightly")["schedules"]
    return int(found["id"])


def test_schedules_are_listed_with_their_options_in_pages(api: RunningApi) -> None:
    found = get(api)["schedules"]
    assert [(each["workflow"].rpartition("::")[2], each["name"], each["action"]) for each in found] == [
        ("scheduled_report", "nightly", "start"),
        ("scheduled_report", "stop-1", "stop"),
        ("scheduled_often", "start-1", "start"),
    ]
    assert (found[0]["expression"], found[0]["timezone"], found[0]["changed_by"]) == (
        "0 3 * * *",
        "Europe/Rome",
        "definition",
    )
    first = get(api, limit=2)
    rest = get(api, limit=2, cursor=first["next"])
    assert first["schedules"] + rest["schedules"] == found and rest["next"] is None
    assert get(api, f"/{found[0]['id']}") == found[0]
    assert get(api, workflow="public::embedded::scheduled_often")["schedules"] == [found[2]]
    assert get(api, workflow="often")["schedules"] == []


def test_the_next_due_times_are_those_of_all_or_of_one(api: RunningApi) -> None:
    of_all = get(api, "/next", limit=30)["fires"]
    assert len(of_all) == 30
    assert [each["acts_at"] for each in of_all] == sorted(each["acts_at"] for each in of_all)
    assert {each["name"] for each in of_all} == {"nightly", "stop-1", "start-1"}
    first_of_each = get(api, "/next", limit=30, each=1)["fires"]
    assert sorted(each["name"] for each in first_of_each) == ["nightly", "start-1", "stop-1"]
    assert all(each in of_all for each in first_of_each)
    of_one = get(api, f"/{nightly(api)}/next", limit=3)["fires"]
    assert [each["local"][11:16] for each in of_one] == ["03:00"] * 3


def test_a_pause_is_skipped_when_it_ends(api: RunningApi) -> None:
    id = nightly(api)
    paused = post(api, f"/{id}/pause")
    assert (paused["paused"], paused["next_at"]) == (True, None)
    assert post(api, f"/{id}/pause")["paused"]
    assert get(api, f"/{id}/next")["fires"] == []
    resumed = post(api, f"/{id}/resume")
    assert not resumed["paused"] and resumed["next_at"] is not None
    assert resumed["changed_by"] != "definition"
    assert post(api, f"/{id}/resume") == resumed


def test_a_fire_that_the_workflow_would_refuse_is_refused_at_once(refusing: RunningApi) -> None:
    [found] = get(refusing, workflow="scheduled_refused")["schedules"]
    answer = post(refusing, f"/{found['id']}/fire", status=422)
    assert answer["code"] == "unknown_queue" and "[queues.nosuch]" in answer["detail"]
    assert get(refusing, f"/{found['id']}/decisions")["decisions"] == []


def test_a_fire_on_a_database_waits_for_the_server_that_refuses_it(refusing: RunningApi) -> None:
    with pytest.raises(ScheduleError) as raised:
        DatabaseSchedules(refusing.core.url).fire("scheduled_refused", {})
    assert raised.value.code == "unknown_queue" and "[queues.nosuch]" in raised.value.message
    [found] = get(refusing, workflow="scheduled_refused")["schedules"]
    [refused] = get(refusing, f"/{found['id']}/decisions")["decisions"]
    assert (refused["outcome"], refused["run_id"]) == ("skipped", None)
    assert refused["reason"].startswith("unknown_queue{") and refused["reason"].endswith("to the configuration}")


def test_a_schedule_that_is_fired_starts_a_run(api: RunningApi) -> None:
    id = nightly(api)
    run_id = post(api, f"/{id}/fire", status=202)["run_id"]
    until(lambda: (run := api.core.store.run(run_id)) is not None and run.row.state == "completed")
    newest = get(api, f"/{id}/decisions", outcome="fired")["decisions"][0]
    assert (newest["kind"], newest["run_id"], newest["outcome"]) == ("manual", run_id, "fired")


def test_a_run_that_is_fired_takes_the_parameters_that_are_given(api: RunningApi) -> None:
    id = nightly(api)
    run_id = post(api, f"/{id}/fire", {"params": {"day": "given"}}, status=202)["run_id"]
    until(lambda: (run := api.core.store.run(run_id)) is not None and run.row.state == "completed")
    stored = api.core.store.run(run_id)
    assert stored is not None and json.loads(stored.new.input)["day"] == "given"
    refused = post(api, f"/{id}/fire", {"params": {"nothing": 1}}, status=422)
    assert refused["code"] == "unknown_parameter"
    assert post(api, f"/{id}/fire", {"parameters": {}}, status=422)["code"] == "invalid_request"


def test_a_date_as_the_end_of_a_backfill_is_all_of_that_day(api: RunningApi) -> None:
    body = {"first": "2026-03-28", "last": "2026-03-30", "dry_run": True}
    preview = post(api, f"/{nightly(api)}/backfill", body, status=202)
    assert [each["local"][:10] for each in preview["due_times"]] == ["2026-03-28", "2026-03-29", "2026-03-30"]


def test_a_backfill_is_shown_first_and_starts_each_due_time_once(api: RunningApi) -> None:
    id = nightly(api)
    body = {"first": "2026-03-28", "last": "2026-03-30T12:00"}
    preview = post(api, f"/{id}/backfill", {**body, "dry_run": True}, status=202)
    assert [each["local"] for each in preview["due_times"]] == [
        "2026-03-28T03:00:00+01:00",
        "2026-03-29T03:00:00+02:00",
        "2026-03-30T03:00:00+02:00",
    ]
    assert (preview["runs"], preview["due_times"][0]["run_id"]) == (3, None)
    made = post(api, f"/{id}/backfill", body, status=202)
    ids = [each["run_id"] for each in made["due_times"]]
    runs = until(lambda: (found := api.core.store.runs_by_id(ids)) and len(found) == 3 and found)
    assert {json.loads(run.new.input)["day"] for run in runs} == {"2026-03-28", "2026-03-29", "2026-03-30"}
    again = post(api, f"/{id}/backfill", {**body, "last": "2026-03-31T12:00"}, status=202)
    assert again["runs"] == 1
    assert [each["fired_before"] for each in again["due_times"]] == [True, True, True, False]


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/9999/fire", None, 404, "schedule_not_found"),
        ("/9999/backfill", {"first": 0}, 404, "schedule_not_found"),
        ("/{often}/backfill", {"first": 0}, 422, "backfill_too_large"),
        ("/{often}/backfill", {"first": "2026-02-01", "last": "2026-01-01"}, 422, "bad_backfill_range"),
        ("/{often}/backfill", {"first": "2126-02-01", "last": "2126-02-02"}, 422, "bad_backfill_range"),
        ("/{often}/backfill", {"first": "yesterday"}, 422, "bad_time"),
        ("/{often}/backfill", {"first": -5}, 422, "invalid_request"),
        ("/{often}/backfill", {}, 422, "invalid_request"),
        ("/{stop}/fire", None, 409, "schedule_starts_no_runs"),
        ("/{stop}/backfill", {"first": 0}, 409, "schedule_starts_no_runs"),
    ],
)
def test_what_cannot_be_done_has_a_code(api: RunningApi, path: str, body: Any, status: int, code: str) -> None:
    ids = {each["name"]: each["id"] for each in get(api)["schedules"]}
    target = path.format(often=ids["start-1"], stop=ids["stop-1"])
    assert post(api, target, body, status=status)["code"] == code


def test_changes_need_an_operator(api: RunningApi) -> None:
    for path in ("pause", "resume", "fire", "backfill"):
        answer = api.client("viewer").post(f"{SCHEDULES}/{nightly(api)}/{path}", json={"first": 0})
        assert (answer.status_code, answer.json()["code"]) == (403, "role_too_low")


@pytest.mark.parametrize("where", ["database", "server"])
def test_commands_do_the_same_on_a_database_and_on_a_server(
    api: RunningApi, where: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TURNOUT_TOKEN", api.token("admin", f"cli-{where}"))
    place = ["--database", api.runner.url] if where == "database" else ["--server", api.url]

    def text(*words: str) -> str:
        application(["schedules"])(["schedules", *words, *place], standalone_mode=False)
        return capfd.readouterr().out

    def call(*words: str) -> Any:
        return json.loads(text(*words, "--json"))

    assert [each["name"] for each in call("ls")] == ["nightly", "stop-1", "start-1"]
    assert [each["name"] for each in call("ls", "--workflow", "scheduled_often")] == ["start-1"]
    assert "Europe/Rome" in text("ls")
    assert len(call("next", "-n", "5")) == 5
    assert text("next", "scheduled_often", "-n", "2").count("start-1") == 2
    assert call("pause", "scheduled_report/nightly")["paused"]
    assert "paused" in text("ls")
    assert not call("resume", "scheduled_report/nightly")["paused"]
    assert [each["paused"] for each in call("pause", "--workflow", "scheduled_report")] == [True, True]
    assert text("resume", "-w", "scheduled_report").count("acts next at") == 2
    fired = call("fire", "scheduled_often")["run_id"]
    until(lambda: api.core.store.run(fired))
    given = call("fire", "scheduled_report/nightly", "-p", "day=given")["run_id"]
    until(lambda: api.core.store.run(given))
    stored = api.core.store.run(given)
    assert stored is not None and json.loads(stored.new.input)["day"] == "given"
    assert call("decisions", "scheduled_often", "--outcome", "fired")[0]["run_id"] == fired
    assert "manual" in text("decisions", "scheduled_often")
    day = "2026-01-01" if where == "database" else "2026-01-02"
    span = ("scheduled_often", "--from", day, "--to", f"{day}T02:00")
    assert call("backfill", *span, "--dry-run")["runs"] == 3
    assert "3 runs would start" in text("backfill", *span, "--dry-run")
    assert call("backfill", *span)["runs"] == 3
    assert "0 runs will start" in text("backfill", *span)
    for words, code in [
        (("fire", "nothing"), "schedule_not_found"),
        (("pause", "scheduled_report"), "ambiguous_schedule"),
        (("pause",), "invalid_input"),
        (("resume", "--workflow", "nothing"), "schedule_not_found"),
        (("backfill", "scheduled_often", "--from", "1990-01-01"), "backfill_too_large"),
    ]:
        with pytest.raises(TurnoutError) as raised:
            call(*words)
        assert raised.value.code == code
        assert exit_code(raised.value) != 0
