"""Workers and routing rules over the API."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.kit.api import RunningApi, running_api
from tests.kit.api_flows import FLOWS
from tests.kit.waiting import until
from turnout.errors import StoreUnreachable
from turnout.worker import Handlers, Worker, WorkerSettings

RUNS = "/api/v1/runs"
ROUTING = "/api/v1/routing"
WORKERS = "/api/v1/workers"
NONE = {"default_executor": "default", "rules": []}


@pytest.fixture(scope="module")
def api() -> Iterator[RunningApi]:
    with running_api(workflows=FLOWS) as running:
        yield running


def problem(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["code"]


def rules(*pairs: tuple[str, str]) -> dict[str, Any]:
    return {"rules": [{"pattern": pattern, "executor": executor} for pattern, executor in pairs]}


def test_rules_are_checked_replaced_and_read(api: RunningApi) -> None:
    admin = api.client("admin")
    first = admin.get(ROUTING)
    assert first.json() == {"routing": NONE, "origin": "config", "version": 0}
    assert first.headers["etag"] == '"0"'
    wanted = rules(("**::twice::*", "process"), ("**::nothing::*", "default"))
    checked = admin.post(f"{ROUTING}/validate", json=wanted).json()
    assert checked["routing"] == {"default_executor": "default", **wanted}
    assert admin.get(ROUTING).json() == first.json()
    replaced = admin.put(ROUTING, json=wanted, headers={"If-Match": '"0"'})
    assert replaced.status_code == 200 and replaced.headers["etag"] == '"1"'
    found = admin.get(ROUTING).json()
    assert found["routing"]["rules"] == wanted["rules"]
    assert (found["origin"], found["version"], found["updated_by"]) == ("database", 1, "admin")
    assert found["revert"].startswith("DELETE /api/v1/routing")
    returned = admin.delete(ROUTING, headers={"If-Match": '"1"'})
    assert (returned.status_code, returned.headers["etag"]) == (200, '"2"')
    assert (returned.json()["routing"], returned.json()["origin"]) == (NONE, "config")
    assert admin.get(ROUTING).json() == returned.json()
    entries = [each for each in admin.get("/api/v1/audit").json()["entries"] if each["target"] == ROUTING]
    assert [(each["method"], each["status"]) for each in entries[:2]] == [("DELETE", 200), ("PUT", 200)]


def test_a_change_of_rules_names_the_version_that_it_replaces(api: RunningApi) -> None:
    admin = api.client("admin")
    current = admin.get(ROUTING).headers["etag"]
    assert problem(admin.put(ROUTING, json={})) == (428, "precondition_required")
    assert problem(admin.delete(ROUTING)) == (428, "precondition_required")
    for tag in ('"77"', '"x"'):
        assert problem(admin.put(ROUTING, json={}, headers={"If-Match": tag})) == (412, "stale_etag")
        assert problem(admin.delete(ROUTING, headers={"If-Match": tag})) == (412, "stale_etag")
    assert admin.get(ROUTING).headers["etag"] == current


@pytest.mark.parametrize(
    ("routing", "expected"),
    [
        (rules(("**", "gpu")), (422, "unknown_executor")),
        (rules(("a::::b", "default")), (422, "malformed_pattern")),
        (rules(("", "default")), (422, "invalid_request")),
        ({"rules": [{"pattern": "**", "executor": "default", "percent": 101}]}, (422, "invalid_request")),
        ({"default_executor": "gpu"}, (422, "unknown_executor")),
        ({"rule": []}, (422, "invalid_request")),
    ],
)
def test_rules_that_cannot_work_are_refused_as_a_whole(
    api: RunningApi, routing: dict[str, Any], expected: tuple[int, str]
) -> None:
    admin = api.client("admin")
    assert problem(admin.put(ROUTING, json=routing, headers={"If-Match": "*"})) == expected
    assert problem(admin.post(f"{ROUTING}/validate", json=routing)) == expected
    assert problem(admin.post(f"{ROUTING}/what-if", json={"routing": routing})) == expected
    assert admin.get(ROUTING).json()["routing"] == NONE


def test_rules_that_cannot_be_recorded_do_not_take_effect(api: RunningApi, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object, **__: object) -> int:
        raise StoreUnreachable("the database cannot be reached")

    admin = api.client("admin")
    with monkeypatch.context() as patched:
        patched.setattr(type(api.core.store), "put_shared_routing", away)
        answer = admin.put(ROUTING, json=rules(("**", "process")), headers={"If-Match": "*"})
        assert problem(answer) == (503, "store_unreachable")
    assert admin.get(ROUTING).json()["routing"] == NONE


def test_other_rules_are_tried_on_decisions_that_were_made(api: RunningApi) -> None:
    operator = api.client("operator")
    run_id = operator.post(RUNS, params={"wait": 20}, json={"workflow": "twice", "input": {"n": 1}}).json()["run"]["id"]
    same = operator.post(f"{ROUTING}/what-if", json={"routing": {}}).json()
    assert same["replayed"] >= 2 and same["differences"] == []
    found = operator.post(f"{ROUTING}/what-if", json={"routing": rules(("**::twice::add", "process")), "limit": 2})
    (difference,) = found.json()["differences"]
    assert (difference["run_id"], difference["task"]) == (run_id, "public::embedded::twice::add")
    assert difference["was"] == {"executor": "default", "reason": "default executor"}
    assert difference["now"]["executor"] == "process"
    assert operator.get(f"{RUNS}/{run_id}/tasks/add").json()["executor"] == "default"


def test_a_worker_is_listed_read_and_drained() -> None:
    with running_api(workflows=FLOWS, hub="tcp://127.0.0.1:0") as api:
        operator = api.client("operator")
        assert operator.get(WORKERS).json() == {"workers": []}
        assert problem(operator.get(f"{WORKERS}/w1")) == (404, "worker_not_found")
        assert problem(operator.post(f"{WORKERS}/w1/drain")) == (404, "worker_not_found")
        handlers = Handlers()
        handlers.add("echo", lambda value: value)
        settings = WorkerSettings(connect=(str(api.runner.hub),), name="w1", labels={"zone": "a"})
        worker = Worker(handlers, settings)
        thread = threading.Thread(target=worker.run, daemon=True)
        thread.start()
        (view,) = until(lambda: operator.get(WORKERS).json()["workers"])
        assert (view["name"], view["labels"]) == ("w1", {"zone": "a"}) and "echo" in view["handlers"]
        assert operator.get(f"{WORKERS}/{view['id']}").json()["attempts"] == []
        drained = operator.post(f"{WORKERS}/w1/drain", json={"reason": "maintenance"})
        assert drained.json()["name"] == "w1"
        thread.join(30)
        assert not thread.is_alive()
        until(lambda: operator.get(WORKERS).json()["workers"] == [])
