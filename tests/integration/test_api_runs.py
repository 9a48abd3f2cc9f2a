"""Runs over the API: started, found, read, changed and deleted, on both databases."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.kit.api import RunningApi, running_api
from tests.kit.api_flows import FLOWS, GATE
from tests.kit.waiting import until
from turnout.runner.definitions.settings import DefinitionSettings

RUNS = "/api/v1/runs"


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def api(request: pytest.FixtureRequest) -> Iterator[RunningApi]:
    database = "sqlite:///:memory:"
    if request.param == "postgres":
        server = request.getfixturevalue("postgres_server")
        with server.database() as url, running_api(url, workflows=FLOWS) as running:
            yield running
        return
    with running_api(database, workflows=FLOWS) as running:
        yield running


@pytest.fixture
def client(api: RunningApi) -> Iterator[httpx.Client]:
    GATE.clear()
    yield api.client("operator")
    GATE.set()


def start(client: httpx.Client, workflow: str, /, wait: float | None = 20, **input: Any) -> dict[str, Any]:
    answer = client.post(
        RUNS, params={} if wait is None else {"wait": wait}, json={"workflow": workflow, "input": input}
    )
    assert answer.status_code == 201, answer.text
    return answer.json()


def problem(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["code"]


# -- start ------------------------------------------------------------------------------------------------------------
def test_a_run_is_started_and_waited_for(client: httpx.Client) -> None:
    started = start(client, "twice", n=1)
    assert started["ended"] and started["result"] == 3 and started["warnings"] == []
    assert started["run"]["state"] == "completed" and started["run"]["workflow"] == "public::embedded::twice"


def test_a_run_that_takes_longer_than_the_wait_goes_on(client: httpx.Client) -> None:
    started = start(client, "hold", wait=0.05)
    assert not started["ended"] and started["run"]["state"] == "running" and started["result"] is None
    GATE.set()
    run_id = started["run"]["id"]
    until(lambda: client.get(f"{RUNS}/{run_id}").json()["state"] == "completed")


def test_without_a_wait_the_answer_comes_once_the_run_is_durable(client: httpx.Client) -> None:
    answer = client.post(RUNS, json={"workflow": "public::embedded::hold"})
    run_id = answer.json()["run"]["id"]
    assert answer.status_code == 201 and answer.headers["location"] == f"{RUNS}/{run_id}"
    assert client.get(answer.headers["location"]).json()["id"] == run_id


def test_an_enqueued_run_is_stored_without_an_owner_and_claimed(client: httpx.Client) -> None:
    enqueued = client.post(f"{RUNS}/enqueue", json={"workflow": "twice", "input": {"n": 5}}).json()["run"]
    until(lambda: client.get(f"{RUNS}/{enqueued['id']}").json()["state"] == "completed")
    claim = client.get(f"{RUNS}/{enqueued['id']}/history").json()["moves"][0]
    assert ("task" not in claim, claim["old"], claim["new"]) == (True, "pending", "running")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"workflow": "twise", "input": {"n": 1}}, (404, "workflow_not_found")),
        ({"workflow": "twice"}, (422, "missing_parameter")),
        ({"workflow": "twice", "input": {"n": 1, "m": 2}}, (422, "unknown_parameter")),
        ({"workflow": "twice", "input": {"self": 1}}, (422, "invalid_input")),
        ({"workflow": "twice", "input": {"n": "one"}}, (422, "invalid_parameter")),
        ({"workflow": "twice", "input": [1]}, (422, "invalid_request")),
        ({"workflow": "twice", "input": {"n": 1}, "extra": 1}, (422, "invalid_request")),
        ({"workflow": "twice", "input": {"n": 1}, "timeout": 0}, (422, "invalid_request")),
    ],
)
def test_bad_input_is_refused_with_its_code_and_starts_nothing(
    client: httpx.Client, body: dict[str, Any], expected: tuple[int, str]
) -> None:
    before = client.get(RUNS, params={"limit": 1}).json()
    assert problem(client.post(RUNS, json=body)) == expected
    assert client.get(RUNS, params={"limit": 1}).json()["runs"][:1] == before["runs"][:1]


@pytest.mark.parametrize(
    ("path", "detail"),
    [
        (f"{RUNS}?state=done", "state: Invalid enum value 'done': write pending, running, "),
        ("/api/v1/schedules/next?from=monday", "from: Expected `float | null`, got `str`"),
        ("/api/v1/stats?window=week", "window: Invalid enum value 'week': write "),
    ],
)
def test_a_wrong_parameter_is_named_as_it_was_written_with_what_would_be_right(
    client: httpx.Client, path: str, detail: str
) -> None:
    answer = client.get(path)
    assert problem(answer) == (422, "invalid_request")
    assert answer.json()["detail"].startswith(detail), answer.text
    assert answer.json()["errors"][0]["key"] == detail.partition(":")[0]


def test_a_key_gives_the_same_run_for_the_same_body_and_refuses_another(client: httpx.Client) -> None:
    headers = {"Idempotency-Key": "order-7"}
    body = {"workflow": "twice", "input": {"n": 7}}
    first = client.post(RUNS, params={"wait": 10}, json=body, headers=headers)
    again = client.post(RUNS, params={"wait": 10}, json=body, headers=headers)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["run"]["id"] == again.json()["run"]["id"] and again.json()["result"] == 9
    assert (first.json()["created"], again.json()["created"]) == (True, False)
    others = [{"input": {"n": 8}}, {"priority": 3}, {"timeout": 60}]
    assert {problem(client.post(RUNS, json=body | other, headers=headers)) for other in others} == {
        (409, "idempotency_conflict")
    }
    found = client.get(RUNS, params={"key": "order-7"}).json()["runs"]
    assert [run["id"] for run in found] == [first.json()["run"]["id"]]


def test_a_malformed_key_is_refused(client: httpx.Client) -> None:
    body = {"workflow": "twice", "input": {"n": 7}}
    assert problem(client.post(RUNS, json=body, headers={"Idempotency-Key": ""})) == (400, "bad_idempotency_key")


# -- reading ----------------------------------------------------------------------------------------------------------
def test_a_run_is_read_with_its_input_result_tasks_and_graph(client: httpx.Client) -> None:
    run_id = start(client, "twice", n=1)["run"]["id"]
    path = f"{RUNS}/{run_id}"
    assert client.get(path).json()["tasks"] == {"completed": 2}
    assert client.get(f"{path}/input").json() == {"input": {"n": 1, "label": "none"}}
    assert client.get(f"{path}/result").json() == {"run_id": run_id, "result": 3}
    tasks = client.get(f"{path}/tasks").json()["tasks"]
    assert [(task["name"], task["state"], task["decision"]) for task in tasks] == [
        ("add", "completed", "default executor"),
        ("add-2", "completed", "default executor"),
    ]
    graph = client.get(f"{path}/graph").json()
    assert [node["name"] for node in graph["nodes"]] == ["add", "add-2"]
    assert graph["edges"] == [{"from": "add", "to": "add-2"}]


def test_a_failed_task_has_its_attempts_with_tracebacks_and_the_result_says_what_failed(client: httpx.Client) -> None:
    started = start(client, "checked", n=-5)
    path = f"{RUNS}/{started['run']['id']}"
    assert started["ended"] and started["run"]["state"] == "failed"
    detail = client.get(f"{path}/tasks/check").json()
    (attempt,) = detail["attempts"]
    assert (attempt["error_type"], attempt["message"]) == ("ValueError", "-4 is negative")
    assert "raise ValueError" in attempt["traceback"]
    refused = client.get(f"{path}/result")
    assert problem(refused) == (409, "run_failed")
    assert [failure["task"] for failure in refused.json()["failures"]] == ["check"]


def test_items_are_counted_in_the_graph_and_listed_by_their_group(client: httpx.Client) -> None:
    path = f"{RUNS}/{start(client, 'mapped', n=5)['run']['id']}"
    nodes = {node["name"]: node for node in client.get(f"{path}/graph").json()["nodes"]}
    assert nodes["add"]["items"] == {"completed": 5} and "items" not in nodes["spread"]
    items = client.get(f"{path}/tasks", params={"group": "add", "limit": 3}).json()
    rest = client.get(f"{path}/tasks", params={"group": "add", "limit": 3, "cursor": items["next"]}).json()
    assert [task["name"] for task in items["tasks"] + rest["tasks"]] == [f"add[{number}]" for number in range(5)]
    assert rest["next"] is None
    assert client.get(f"{path}/tasks/add[3]").json()["output"] == 4
    assert client.get(f"{path}/tasks/add").json()["output"] == [1, 2, 3, 4, 5]


def test_history_is_read_page_by_page(client: httpx.Client) -> None:
    path = f"{RUNS}/{start(client, 'twice', n=1)['run']['id']}/history"
    every = client.get(path).json()
    assert every["next"] is None and every["moves"][-1]["new"] == "completed" and "task" not in every["moves"][-1]
    read: list[Any] = []
    page: dict[str, Any] = {"next": None}
    while page["next"] is not None or not read:
        cursor = {} if page["next"] is None else {"cursor": page["next"]}
        page = client.get(path, params={"limit": 2, **cursor}).json()
        read += page["moves"]
    assert read == every["moves"]


def test_children_are_found_by_their_parent(client: httpx.Client) -> None:
    parent = start(client, "family", n=1)["run"]["id"]
    (child,) = client.get(f"{RUNS}/{parent}/children").json()["runs"]
    assert child["parent_run"] == parent and child["name"] == "twice"
    assert client.get(RUNS, params={"parent": parent}).json()["runs"] == [child]
    listed = client.get(RUNS, params={"top_level": True, "limit": 1000}).json()["runs"]
    assert parent in {run["id"] for run in listed} and child["id"] not in {run["id"] for run in listed}


def test_runs_are_found_by_filters_and_paged_by_cursors(client: httpx.Client) -> None:
    began = time.time()
    ids = [start(client, "twice", n=number)["run"]["id"] for number in range(3)]
    start(client, "checked", n=-2)
    wanted = {"workflow": "twice", "state": ["completed", "failed"], "created_from": began, "limit": 2}
    first = client.get(RUNS, params=wanted).json()
    rest = client.get(RUNS, params=wanted | {"cursor": first["next"]}).json()
    assert [run["id"] for run in first["runs"] + rest["runs"]] == ids[::-1] and rest["next"] is None
    assert client.get(RUNS, params={"created_before": began, "created_from": began}).json()["runs"] == []
    for other in ({"cursor": first["next"]}, wanted | {"workflow": "checked", "cursor": first["next"]}):
        assert problem(client.get(RUNS, params=other)) == (400, "foreign_cursor")
    assert problem(client.get(f"{RUNS}/{ids[0]}/tasks", params={"cursor": first["next"]})) == (400, "foreign_cursor")
    assert problem(client.get(RUNS, params={"cursor": "x"})) == (400, "invalid_cursor")


def test_logs_are_read_by_run_task_and_attempt(client: httpx.Client) -> None:
    path = f"{RUNS}/{start(client, 'twice', n=1)['run']['id']}"

    def texts(where: str, **params: Any) -> list[str]:
        return [line["text"] for line in client.get(f"{path}{where}", params=params).json()["lines"]]

    assert texts("/logs") == ["adding to 1", "adding to 2"]
    assert texts("/tasks/add/logs") == texts("/tasks/add/attempts/1/logs") == ["adding to 1"]
    assert texts("/tasks/add/attempts/2/logs") == []
    page = client.get(f"{path}/logs", params={"limit": 1}).json()
    assert texts("/logs", cursor=page["next"]) == ["adding to 2"]
    assert problem(client.get(f"{path}/tasks/ad/logs")) == (404, "unknown_task")


@pytest.mark.parametrize("run_id", ["nonsense", "0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57", "%00", "a" * 64])
def test_a_run_that_does_not_exist_is_not_found(client: httpx.Client, run_id: str) -> None:
    paths = ("", "/input", "/result", "/tasks", "/tasks/add", "/graph", "/history", "/children", "/logs", "/events")
    for path in paths:
        assert problem(client.get(f"{RUNS}/{run_id}{path}")) == (404, "run_not_found"), path
    for path in ("cancel", "pause", "resume", "retry", "rerun"):
        assert problem(client.post(f"{RUNS}/{run_id}/{path}")) == (404, "run_not_found"), path
    assert problem(client.delete(f"{RUNS}/{run_id}")) == (404, "run_not_found")


# -- control ----------------------------------------------------------------------------------------------------------
def test_a_run_is_paused_resumed_and_cancelled(client: httpx.Client) -> None:
    path = f"{RUNS}/{start(client, 'hold', wait=None)['run']['id']}"
    assert client.post(f"{path}/pause").json()["state"] == "paused"
    assert client.post(f"{path}/resume").json()["state"] == "running"
    cancelled = client.post(f"{path}/cancel", json={"reason": "no longer needed"}).json()
    assert cancelled["state"] in ("cancelling", "cancelled")
    GATE.set()
    until(lambda: client.get(path).json()["state"] == "cancelled")
    assert client.get(path).json()["reason"] == "no longer needed"
    assert problem(client.post(f"{path}/cancel")) == (409, "run_ended")
    assert problem(client.get(f"{path}/result")) == (409, "run_cancelled")


def test_a_failed_run_is_retried_with_other_input_and_from_a_task(client: httpx.Client) -> None:
    failed = start(client, "checked", n=-5)["run"]["id"]
    again = client.post(f"{RUNS}/{failed}/retry", params={"wait": 10}).json()
    assert again["run"]["rerun_of"] == failed and again["run"]["state"] == "failed"
    better = client.post(f"{RUNS}/{failed}/rerun", params={"wait": 10}, json={"input": {"n": 5}}).json()
    assert better["result"] == 6
    path = f"{RUNS}/{better['run']['id']}"
    assert problem(client.post(f"{path}/retry")) == (409, "nothing_to_rerun")
    assert problem(client.post(f"{path}/rerun", json={"from_task": "chek"})) == (404, "unknown_task")
    from_task = client.post(f"{path}/rerun", params={"wait": 10}, json={"from_task": "check"}).json()
    reused = client.get(f"{RUNS}/{from_task['run']['id']}/tasks/add").json()
    assert from_task["result"] == 6 and reused["reason"].startswith("reused:")


def test_a_key_makes_a_rerun_safe_to_repeat(client: httpx.Client) -> None:
    failed, other = (start(client, "checked", n=number)["run"]["id"] for number in (-5, -6))
    headers = {"Idempotency-Key": f"again-{failed}"}
    first, second = (client.post(f"{RUNS}/{failed}/retry", headers=headers) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["run"]["id"] == second.json()["run"]["id"]
    assert problem(client.post(f"{RUNS}/{other}/retry", headers=headers)) == (409, "idempotency_conflict")


def test_a_run_is_deleted_once_it_has_ended_or_by_force(client: httpx.Client) -> None:
    done = start(client, "twice", n=1)["run"]["id"]
    assert client.delete(f"{RUNS}/{done}").json()["runs"] == 1
    assert problem(client.get(f"{RUNS}/{done}")) == (404, "run_not_found")
    open_ = start(client, "hold", wait=None)["run"]["id"]
    assert problem(client.delete(f"{RUNS}/{open_}")) == (409, "run_not_finished")
    GATE.set()
    assert client.delete(f"{RUNS}/{open_}", params={"force": True}).json()["runs"] == 1


def test_runs_are_cancelled_by_a_filter_after_a_dry_run(client: httpx.Client) -> None:
    ids = {start(client, "hold", wait=None)["run"]["id"] for _ in range(3)}
    body: dict[str, Any] = {"filter": {"workflow": "hold"}, "reason": "closing time"}
    planned = client.post(f"{RUNS}/bulk/cancel", json=body | {"dry_run": True}).json()
    assert planned["dry_run"] and {each["run_id"] for each in planned["runs"]} == ids and planned["next"] is None
    assert {client.get(f"{RUNS}/{run_id}").json()["state"] for run_id in ids} == {"running"}
    part = client.post(f"{RUNS}/bulk/cancel", json=body | {"dry_run": True, "limit": 2}).json()
    rest = client.post(f"{RUNS}/bulk/cancel", json=body | {"dry_run": True, "limit": 2, "cursor": part["next"]}).json()
    assert {each["run_id"] for each in part["runs"] + rest["runs"]} == ids and rest["next"] is None
    foreign = {"filter": {"workflow": "twice"}, "cursor": part["next"]}
    assert problem(client.post(f"{RUNS}/bulk/cancel", json=foreign)) == (400, "foreign_cursor")
    done = client.post(f"{RUNS}/bulk/cancel", json=body).json()
    assert not done["dry_run"] and all("code" not in each for each in done["runs"])
    GATE.set()
    until(lambda: {client.get(f"{RUNS}/{run_id}").json()["state"] for run_id in ids} == {"cancelled"})


def test_failed_runs_are_repeated_by_a_filter(client: httpx.Client) -> None:
    failed = start(client, "checked", n=-9)["run"]["id"]
    began = client.get(f"{RUNS}/{failed}").json()["created_at"]
    body = {"filter": {"workflow": "checked", "states": ["failed"], "created_from": began}}
    (outcome,) = client.post(f"{RUNS}/bulk/rerun", json=body).json()["runs"]
    assert outcome["run_id"] == failed
    assert client.get(f"{RUNS}/{outcome['new_run']}").json()["rerun_of"] == failed


def test_only_the_runs_that_are_named_are_changed(client: httpx.Client) -> None:
    body: dict[str, Any] = {"filter": {"workflow": "checked", "states": ["failed"]}}
    named = start(client, "checked", n=-21)["run"]["id"]
    planned = client.post(f"{RUNS}/bulk/rerun", json=body | {"dry_run": True, "limit": 1}).json()
    assert [each["run_id"] for each in planned["runs"]] == [named]
    unseen = start(client, "checked", n=-22)["run"]["id"]
    other = start(client, "twice", n=1)["run"]["id"]
    gone = "00000000-0000-7000-8000-000000000000"
    ids = [each["run_id"] for each in planned["runs"]] + [named, other, gone]
    found = client.post(f"{RUNS}/bulk/rerun", json={"ids": ids}).json()
    assert [(each["run_id"], each["state"], each.get("code")) for each in found["runs"]] == [
        (named, "failed", None),
        (other, "completed", "nothing_to_rerun"),
        (gone, None, "run_not_found"),
    ]
    assert client.get(f"{RUNS}/{found['runs'][0]['new_run']}").json()["rerun_of"] == named
    runs = client.get(RUNS, params={"workflow": "checked", "limit": 50}).json()["runs"]
    assert not any(each.get("rerun_of") == unseen for each in runs)
    (ended,) = client.post(f"{RUNS}/bulk/cancel", json={"ids": [named], "dry_run": True}).json()["runs"]
    assert ended["code"] == "run_ended"


def test_a_bulk_request_names_a_bounded_number_of_runs_and_no_filter_beside_them(client: httpx.Client) -> None:
    many = client.post(f"{RUNS}/bulk/rerun", json={"ids": [str(number) for number in range(1_001)]})
    assert problem(many) == (422, "invalid_request") and "1000" in many.json()["detail"]
    both = client.post(f"{RUNS}/bulk/cancel", json={"ids": ["x"], "filter": {"workflow": "hold"}})
    assert problem(both) == (422, "invalid_request") and "not both" in both.json()["detail"]


@pytest.mark.parametrize("filter", [{}, {"states": ["completed"]}, {"top_level": False}])
def test_a_bulk_request_without_a_condition_or_about_other_states_is_refused(
    client: httpx.Client, filter: dict[str, Any]
) -> None:
    for path in ("cancel", "rerun"):
        assert problem(client.post(f"{RUNS}/bulk/{path}", json={"filter": filter})) == (400, "empty_filter")


def test_a_stored_definition_is_started_and_a_removed_one_takes_no_new_runs() -> None:
    text = "tags: [mail, daily]\nsteps:\n  - name: greet\n    command: echo hello\n"
    settings = DefinitionSettings(allow_local_execution=True)
    with running_api(workflows=FLOWS, definitions=settings) as api:
        client = api.client("admin")
        path = "/api/v1/workflows/greeting"
        made = client.put(path, json={"text": text}, headers={"If-None-Match": "*"})
        assert made.status_code == 201, made.text
        assert start(client, "greeting")["run"]["state"] == "completed"
        assert start(client, "twice", n=1)["result"] == 3
        found = client.get(RUNS, params={"tag": ["daily", "mail"]}).json()["runs"]
        assert [run["name"] for run in found] == ["greeting"]
        assert client.get(RUNS, params={"tag": "weekly"}).json()["runs"] == []
        bulk = {"filter": {"tags": ["mail"]}, "dry_run": True}
        assert client.post(f"{RUNS}/bulk/cancel", json=bulk).json()["runs"] == []
        assert client.delete(path, headers={"If-Match": made.headers["etag"]}).status_code == 204
        assert problem(client.post(RUNS, json={"workflow": "greeting"})) == (404, "workflow_not_found")
