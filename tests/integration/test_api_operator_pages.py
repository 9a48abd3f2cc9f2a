"""What pages about dispatch, workers, orchestration, schedules and settings read."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.kit.api import RunningApi, running_api
from tests.kit.api_flows import FLOWS
from tests.kit.waiting import until
from turnout import task, workflow
from turnout.dispatcher import RoutingConfig, RoutingRule
from turnout.model.schedule_rows import ScheduleChange
from turnout.worker import Handlers, Worker, WorkerSettings

RUNS, ROUTING = "/api/v1/runs", "/api/v1/routing"


@task(worker_selector={"gpu": "true", "zone": "a"})
def fit(n: int) -> int:
    return n


@task
def guess() -> float:
    import random

    return random.random()


@workflow
def train(n: int) -> int:
    return fit(n)


@workflow
def guessed() -> float:
    return guess()


RULES = RoutingConfig("default", (RoutingRule("**::guessed::*", "process", shadow=True),))


@pytest.fixture(scope="module")
def api() -> Iterator[RunningApi]:
    with running_api(workflows=(*FLOWS, train, guessed), hub="tcp://127.0.0.1:0", routing=RULES) as running:
        yield running


def started(api: RunningApi, workflow: str, wait: float = 20, **input: Any) -> str:
    body = {"workflow": workflow, "input": input}
    return str(api.client("operator").post(RUNS, params={"wait": wait}, json=body).json()["run"]["id"])


def problem(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_every_known_task_is_listed_with_where_it_goes_and_why(api: RunningApi) -> None:
    viewer, found, cursor = api.client("viewer"), list[dict[str, Any]](), None
    while True:
        page = viewer.get(f"{ROUTING}/tasks", params={"limit": 2} | ({"cursor": cursor} if cursor else {})).json()
        found += page["tasks"]
        cursor = page["next"]
        if cursor is None:
            break
    names = [each["task"] for each in found]
    assert len(names) == len(set(names)) and "public::embedded::twice::add-2" in names
    by_name = {each["task"]: each for each in found}
    assert by_name["public::embedded::train::fit"]["executor"] == "workers"
    assert by_name["public::embedded::train::fit"]["labels"] == {"gpu": "true", "zone": "a"}
    assert by_name["public::embedded::twice::add"]["reason"] == "default executor"
    only = viewer.get(f"{ROUTING}/tasks", params={"executor": "workers"}).json()["tasks"]
    assert [each["name"] for each in only] == ["fit"]
    named = viewer.get(f"{ROUTING}/tasks", params={"q": "TRAIN::f"}).json()["tasks"]
    assert [each["task"] for each in named] == ["public::embedded::train::fit"]
    first = viewer.get(f"{ROUTING}/tasks", params={"q": "add", "limit": 1}).json()
    other = viewer.get(f"{ROUTING}/tasks", params={"q": "fit", "cursor": first["next"]})
    assert problem(other) == (400, "foreign_cursor")


def test_a_malformed_rule_is_named_by_its_number(api: RunningApi) -> None:
    rules = [{"pattern": "**", "executor": "default"}, {"pattern": "a::***", "executor": "default"}]
    answer = api.client("viewer").post(f"{ROUTING}/validate", json={"rules": rules})
    assert problem(answer) == (422, "malformed_pattern") and answer.json()["rule"] == 2


def test_shadow_attempts_that_differ_are_kept_with_both_answers(api: RunningApi) -> None:
    viewer = api.client("viewer")

    def report() -> dict[str, Any]:
        found: dict[str, Any] = viewer.get(f"{ROUTING}/shadows").json()
        return found

    def counted() -> int:
        return sum(count for count in report().values() if isinstance(count, int))

    def compared() -> list[dict[str, Any]]:
        """Differences of one more run. A copy whose first process starts too late to begin it is not answered."""
        before = counted()
        run = started(api, "guessed")
        until(lambda: counted() > before)
        return [each for each in report()["differences"] if each["run_id"] == run]

    (difference,) = until(compared)
    assert difference["real"]["status"] == "completed"
    assert difference["real"]["output"] != difference["shadow"]["output"]
    assert (difference["task"], difference["executor"]) == ("public::embedded::guessed::guess", "process")


def test_a_what_if_is_summed_up_by_task(api: RunningApi) -> None:
    operator = api.client("operator")
    for number in range(3):
        started(api, "twice", n=number)
    rules = {"rules": [{"pattern": "**::twice::add", "executor": "process"}]}
    found = operator.post(f"{ROUTING}/what-if", json={"routing": rules}).json()
    (change,) = found["changes"]
    assert (change["task"], change["count"]) == ("public::embedded::twice::add", 3)
    assert (change["was"]["executor"], change["now"]["executor"]) == ("default", "process")
    newest = max(each["run_id"] for each in found["differences"])
    assert change["run_id"] == newest and found["since"] > 0
    later = operator.post(f"{ROUTING}/what-if", json={"routing": rules, "created_from": 9e10}).json()
    assert (later["replayed"], later["changes"]) == (0, [])


def test_tasks_that_no_worker_matches_name_the_missing_labels(api: RunningApi) -> None:
    viewer, run = api.client("viewer"), started(api, "train", wait=0, n=1)
    path = "/api/v1/workers/unmatched"
    until(lambda: viewer.get(path).json()["waits"])
    (alone,) = viewer.get(path).json()["waits"]
    assert (alone["labels"], alone["tasks"], alone["run_id"]) == ({"gpu": "true", "zone": "a"}, 1, run)
    assert alone["nearest"] is None and alone["handler"].endswith(":fit")
    settings = WorkerSettings(connect=(str(api.runner.hub),), name="cpu-1", labels={"zone": "a", "gpu": "false"})
    worker = Worker(Handlers(), settings)
    thread = threading.Thread(target=worker.run, daemon=True)
    thread.start()
    until(lambda: viewer.get(path).json()["connected"] == 1)
    (wait,) = viewer.get(path).json()["waits"]
    assert wait["nearest"]["worker"] == "cpu-1" and wait["nearest"]["lacks_handler"]
    assert (wait["nearest"]["missing"], wait["nearest"]["has"]) == ({"gpu": "true"}, {"gpu": "false"})
    worker.stop()
    thread.join(30)
    api.client("operator").post(f"{RUNS}/{run}/cancel")


def test_executors_have_their_capacity_and_load_by_orchestrator(api: RunningApi) -> None:
    found = {each["key"]: each for each in api.client("viewer").get("/api/v1/executors").json()["executors"]}
    default = found["default"]
    assert default["here"] and default["local"] and "python" in default["kinds"] and default["breaker"] == "closed"
    assert default["orchestrators"][0]["orchestrator"] == api.core.engine.session.id
    assert default["capacity"] == default["orchestrators"][0]["capacity"] > 0
    assert found["workers"]["shared"]


def test_the_pools_of_the_orchestrator_are_read_now_and_over_time(api: RunningApi) -> None:
    viewer = api.client("viewer")
    now = viewer.get("/api/v1/orchestration").json()
    (one,) = now["orchestrators"]
    assert now["this"] == one["id"] and one["condition"] in ("healthy", "degraded")
    assert len(one["pools"]) == 5 and all(pool["stage_executors"] for pool in one["pools"])
    history = viewer.get("/api/v1/orchestration/history").json()
    assert history["orchestrator"] == one["id"] and history["interval"] == 5.0
    sample = history["samples"][-1]
    assert set(sample["pools"]) == {pool["name"] for pool in one["pools"]} and 0 < sample["backpressure"] <= 1
    later = viewer.get("/api/v1/orchestration/history", params={"since": sample["at"]}).json()
    assert sample["at"] not in [each["at"] for each in later["samples"]]


def test_due_times_between_two_times_and_the_decisions_of_all_schedules_are_listed(api: RunningApi) -> None:
    store, viewer = api.core.store, api.client("viewer")
    now = store.clock()
    for name in ("hourly", "daily"):
        spec = f'{{"name":"{name}","cron":"{"0 * * * *" if name == "hourly" else "0 3 * * *"}"}}'
        change = ScheduleChange(
            workflow="public::embedded::elsewhere", name=name, spec=spec, anew=True, decided_until=now, next_at=now + 60
        )
        store.put_schedules([change], "definition")
    first, last = now + 86_400, now + 2 * 86_400
    span = {"from": first, "until": last, "limit": 1_000}
    fires = viewer.get("/api/v1/schedules/next", params=span).json()["fires"]
    assert all(first < fire["due_at"] <= last for fire in fires)
    assert {name: sum(fire["name"] == name for fire in fires) for name in ("hourly", "daily")} == {
        "hourly": 24,
        "daily": 1,
    }
    one = next(each.id for each in store.schedules_page() if each.spec.name == "daily")
    assert len(viewer.get(f"/api/v1/schedules/{one}/next", params=span).json()["fires"]) == 1
    operator = api.client("operator")
    fired = [operator.post(f"/api/v1/schedules/{one}/fire").json()["run_id"] for _ in range(3)]
    page = viewer.get("/api/v1/schedules/decisions", params={"limit": 2}).json()
    rest = viewer.get("/api/v1/schedules/decisions", params={"limit": 2, "cursor": page["next"]}).json()
    assert [each["run_id"] for each in (*page["decisions"], *rest["decisions"])] == fired[::-1]


def test_the_server_says_what_it_is_made_of(api: RunningApi) -> None:
    about = api.client("viewer").get("/api/v1/about").json()
    assert about["database"]["kind"] == "sqlite" and about["database"]["schema"] >= 22
    assert about["turnout"] and about["python"].startswith("3.") and about["up_seconds"] >= 0
    extras = {"postgres", "workers", "server", "ray", "dask", "kubernetes", "otel"}
    assert {each["extra"] for each in about["extras"]} == extras
    assert all(each["version"] for each in about["extras"] if each["extra"] in ("server", "workers", "otel"))


def test_the_configuration_has_the_origin_of_each_value_and_no_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "turnout.toml").write_text('tenant = "shop"\n[server]\nmax_streams = 7\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TURNOUT_DATABASE", f"sqlite:///{tmp_path}/turnout.db")
    with running_api(f"sqlite:///{tmp_path}/turnout.db", config=True) as api:
        assert problem(api.client("author").get("/api/v1/configuration")) == (403, "role_too_low")
        found = api.client("admin").get("/api/v1/configuration").json()
        (tmp_path / "turnout.toml").write_text('tenant = "other"\n')
        assert api.client("admin").get("/api/v1/configuration").json() == found, "as it was when the server started"
    assert found["file"] == str(tmp_path / "turnout.toml")
    by_key = {each["key"]: (each["value"], each["origin"]) for each in found["settings"]}
    assert by_key["tenant"] == ("shop", "turnout.toml")
    assert by_key["server.max_streams"] == (7, "turnout.toml")
    assert by_key["database"][1].endswith("TURNOUT_DATABASE")
    assert by_key["server.threads"][1] == "default" and isinstance(by_key["server.threads"][0], int)


def test_a_run_tells_how_it_was_started(api: RunningApi) -> None:
    viewer, operator = api.client("viewer"), api.client("operator")

    def trigger(run_id: str) -> dict[str, Any]:
        listed = viewer.get(RUNS, params={"limit": 1_000}).json()["runs"]
        told: dict[str, Any] = viewer.get(f"{RUNS}/{run_id}").json()["trigger"]
        assert [each["trigger"] for each in listed if each["id"] == run_id] == [told]
        return told

    asked = started(api, "twice", n=1)
    assert trigger(asked) == {"kind": "api", "name": "operator"}
    again = operator.post(f"{RUNS}/{asked}/rerun", json={"from_task": "add"}).json()["run"]["id"]
    assert trigger(again) == {"kind": "rerun", "run_id": asked}
    body = {"workflow": "twice", "input": {"n": 1}}
    command = operator.post(RUNS, json=body, headers={"User-Agent": "turnout-cli"}).json()["run"]["id"]
    assert trigger(command) == {"kind": "cli", "name": "operator"}
    family = started(api, "family", n=1)
    (child,) = viewer.get(f"{RUNS}/{family}/children").json()["runs"]
    assert trigger(child["id"]) == {"kind": "parent", "run_id": family}
    assert trigger(api.runner.submit(train, 1).id) == {"kind": "program"}
    hook = api.client("author").post("/api/v1/hooks", json={"name": "shop", "workflow": "twice"}).json()
    delivered = api.client().post(hook["path"], json={"n": 3}).json()["run_id"]
    assert trigger(delivered) == {"kind": "webhook", "name": "shop"}
    keyed = api.client().post(hook["path"], json={"n": 3}, headers={"Idempotency-Key": "order-7"}).json()["run_id"]
    assert trigger(keyed) == {"kind": "webhook", "name": "shop", "key": "order-7"}
