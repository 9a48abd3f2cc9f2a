"""What a page about one run reads: its graph with places, its timeline, values in parts, and the preview of a rerun."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.kit.api import RunningApi, running_api
from tests.kit.api_flows import FLOWS, GATE, spread, twice
from tests.kit.event_stream import events
from tests.kit.waiting import until
from turnout import TaskInfo, task, workflow
from turnout.authoring.yaml.compiler import compile_file

RUNS = "/api/v1/runs"


@task
def count(n: int, info: TaskInfo) -> int:
    info.progress(n, 10, "files")
    GATE.wait(60)
    return n


@workflow
def counting(n: int) -> int:
    return count(n)


@task(retries=2)
def third_time(n: int, info: TaskInfo) -> int:
    if info.attempt < 3:
        raise TimeoutError("not yet")
    return n


@workflow
def stubborn(n: int = 1) -> int:
    return third_time(n)


@workflow
def families(n: int) -> list[Any]:
    return twice.map(spread(n))


MASKED = """
name: masked
secrets: [{name: TOKEN, provider: env, key: API_TEST_SECRET}]
steps:
  - {name: leak, command: 'echo "t=$TOKEN"', output: SHOWN}
  - {name: use, command: 'test -n "${SHOWN}" && test -n "$TOKEN"', depends: leak}
"""


@pytest.fixture(scope="module")
def api() -> Iterator[RunningApi]:
    GATE.clear()
    patch = pytest.MonkeyPatch()
    patch.setenv("API_TEST_SECRET", "p4ssword-of-the-test")
    masked = compile_file(MASKED, name="masked").workflows
    with running_api(workflows=(*FLOWS, counting, families, stubborn, *masked)) as running:
        yield running
        GATE.set()
    patch.undo()


def started(api: RunningApi, workflow: str, wait: float = 20, **input: Any) -> str:
    body = {"workflow": workflow, "input": input}
    answer = api.client("operator").post(RUNS, params={"wait": wait}, json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["run"]["id"])


def problem(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["code"]


def test_the_graph_has_places_times_and_counts_of_items(api: RunningApi) -> None:
    viewer, run = api.client("viewer"), started(api, "mapped", n=7)
    graph = viewer.get(f"{RUNS}/{run}/graph").json()
    spread, add = graph["nodes"]
    assert (spread["column"], add["column"], graph["columns"], graph["rows"]) == (0, 1, 2, 1)
    assert add["items"] == {"completed": 7}
    assert spread["started_at"] <= spread["finished_at"] <= add["finished_at"] and add["started_at"]
    assert graph["edges"] == [{"from": "spread", "to": "add"}]
    assert graph["position"] == viewer.get(f"{RUNS}/{run}").json()["position"]


def test_a_task_that_starts_a_child_run_names_it(api: RunningApi) -> None:
    viewer, run = api.client("viewer"), started(api, "family", n=1)
    (child,) = viewer.get(f"{RUNS}/{run}/children").json()["runs"]
    (node,) = viewer.get(f"{RUNS}/{run}/graph").json()["nodes"]
    assert node["child_run"] == child["id"]
    assert viewer.get(f"{RUNS}/{run}/tasks/{node['name']}").json()["child_run"] == child["id"]


def test_each_item_of_a_mapped_task_names_its_own_child_run(api: RunningApi, monkeypatch: pytest.MonkeyPatch) -> None:
    viewer, run = api.client("viewer"), started(api, "families", n=3)
    children = {child["id"] for child in viewer.get(f"{RUNS}/{run}/children").json()["runs"]}

    def refused(run_id: str) -> None:
        raise AssertionError("all children of the run are read for one of them")

    monkeypatch.setattr(api.core.store, "children", refused)
    found = [viewer.get(f"{RUNS}/{run}/tasks/twice[{index}]").json()["child_run"] for index in range(3)]
    assert len(children) == 3 and set(found) == children
    assert viewer.get(f"{RUNS}/{found[2]}/input").json()["input"]["n"] == 2
    node = viewer.get(f"{RUNS}/{run}/graph").json()["nodes"][1]
    assert (node["kind"], node["items"]) == ("workflow", {"completed": 3}) and "child_run" not in node
    assert "child_run" not in viewer.get(f"{RUNS}/{run}/tasks/twice").json()


def test_the_timeline_has_every_attempt_and_the_critical_path(api: RunningApi) -> None:
    viewer, run = api.client("viewer"), started(api, "twice", n=1)
    timeline = viewer.get(f"{RUNS}/{run}/timeline").json()
    assert timeline["critical_path"] == ["add", "add-2"]
    first, second = timeline["tasks"]
    assert first["critical"] and second["critical"] and "next" not in timeline
    (attempt,) = first["attempts"]
    assert (attempt["attempt"], attempt["executor"], attempt["decision"]) == (1, "default", "default executor")
    assert attempt["outcome"] == "completed"
    assert first["ready_at"] <= attempt["began_at"] <= attempt["ended_at"] <= timeline["at"]
    assert attempt["started_at"] == first["started_at"]


def test_every_attempt_has_its_queue_time_apart_from_its_run_time(api: RunningApi) -> None:
    viewer, run = api.client("viewer"), started(api, "stubborn")
    (task,) = viewer.get(f"{RUNS}/{run}/timeline").json()["tasks"]
    assert [attempt["outcome"] for attempt in task["attempts"]] == ["retry", "retry", "completed"]
    for attempt in task["attempts"]:
        assert attempt["began_at"] <= attempt["started_at"] <= attempt["ended_at"]
    begins = [attempt["started_at"] for attempt in task["attempts"]]
    assert begins == sorted(set(begins)) and begins[2] == task["started_at"]
    detail = viewer.get(f"{RUNS}/{run}/tasks/third_time").json()
    assert [attempt["started_at"] for attempt in detail["attempts"]] == begins


def test_the_items_of_a_mapped_task_have_a_timeline_of_their_own(api: RunningApi) -> None:
    viewer, run = api.client("viewer"), started(api, "mapped", n=5)
    path = f"{RUNS}/{run}/timeline"
    whole = viewer.get(path).json()
    assert [task["name"] for task in whole["tasks"]] == ["spread", "add"]
    assert whole["tasks"][1]["items"] == {"completed": 5}
    page = viewer.get(path, params={"group": "add", "limit": 3}).json()
    assert [task["name"] for task in page["tasks"]] == ["add[0]", "add[1]", "add[2]"]
    assert all(len(task["attempts"]) == 1 and task["group"] == "add" for task in page["tasks"])
    rest = viewer.get(path, params={"group": "add", "limit": 3, "cursor": page["next"]}).json()
    assert [task["index"] for task in rest["tasks"]] == [3, 4]
    assert problem(viewer.get(path, params={"group": "spread"})) == (404, "unknown_task")
    assert problem(viewer.get(path, params={"cursor": page["next"]})) == (400, "foreign_cursor")


def test_tasks_are_listed_by_state_in_pages_with_counts(api: RunningApi) -> None:
    viewer, run = api.client("viewer"), started(api, "mapped", n=10)
    path, found, cursor = f"{RUNS}/{run}/tasks", list[str](), None
    while True:
        params = {"group": "add", "limit": 4, "state": "completed"} | ({"cursor": cursor} if cursor else {})
        page = viewer.get(path, params=params).json()
        found += [task["name"] for task in page["tasks"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert found == [f"add[{index}]" for index in range(10)]
    counted = viewer.get(path, params={"group": "add", "state": "failed", "counts": True}).json()
    assert (counted["tasks"], counted["counts"]) == ([], {"completed": 10})
    top = viewer.get(path, params={"top_level": True, "counts": True}).json()
    assert [task["name"] for task in top["tasks"]] == ["spread", "add"] and top["counts"] == {"completed": 2}
    assert viewer.get(path, params={"group": "nothing"}).json()["tasks"] == []


def test_a_large_output_is_left_out_and_read_in_parts(api: RunningApi) -> None:
    viewer, run = api.client("viewer"), started(api, "mapped", n=40)
    task = viewer.get(f"{RUNS}/{run}/tasks/spread", params={"max_output_bytes": 20}).json()
    text = "[" + ",".join(map(str, range(40))) + "]"
    assert task["output_omitted"] and "output" not in task and task["output_bytes"] == len(text)
    small = viewer.get(f"{RUNS}/{run}/tasks/spread").json()
    assert small["output"] == list(range(40)) and "output_omitted" not in small
    path = f"{RUNS}/{run}/tasks/spread/output"
    whole = viewer.get(path)
    assert whole.text == text and "content-disposition" not in whole.headers
    part = viewer.get(path, headers={"Range": "bytes=1-3"})
    assert (part.status_code, part.text, part.headers["content-range"]) == (206, text[1:4], f"bytes 1-3/{len(text)}")
    rest = viewer.get(path, headers={"Range": "bytes=100-"})
    assert rest.text == text[100:]
    assert problem(viewer.get(path, headers={"Range": "bytes=5000-"})) == (416, "range_not_satisfiable")
    assert viewer.get(path, headers={"Range": "bytes=1-2", "If-Range": '"other"'}).text == text
    assert viewer.get(path, headers={"If-None-Match": whole.headers["etag"]}).status_code == 304
    kept = viewer.get(path, params={"download": True})
    assert kept.headers["content-disposition"] == f'attachment; filename="{run}-spread.json"'
    items = viewer.get(f"{RUNS}/{run}/tasks/add").json()
    assert items["output"] == list(range(1, 41)) and items["output_bytes"] > 40
    assert viewer.get(f"{RUNS}/{run}/tasks/add/output").json() == list(range(1, 41))
    assert viewer.get(f"{RUNS}/{run}/output").json() == list(range(1, 41))


def test_an_item_of_a_mapped_task_has_its_own_input(api: RunningApi) -> None:
    viewer, run = api.client("viewer"), started(api, "mapped", n=40)
    path = f"{RUNS}/{run}/tasks"
    item = viewer.get(f"{path}/add[7]/input")
    assert item.json() == {"args": [7]} and item.headers["accept-ranges"] == "bytes"
    whole = viewer.get(f"{path}/add/input")
    assert whole.json() == {"args": [list(range(40))]}
    assert viewer.get(f"{path}/spread/input").json() == {"args": [40]}
    part = viewer.get(f"{path}/add/input", headers={"Range": "bytes=0-9"})
    assert (part.status_code, part.text) == (206, whole.text[:10])
    kept = viewer.get(f"{path}/add[7]/input", params={"download": True})
    assert kept.headers["content-disposition"] == f'attachment; filename="{run}-add_7_-input.json"'
    assert problem(viewer.get(f"{path}/add[40]/input")) == (404, "unknown_task")
    assert problem(api.client().get(f"{path}/add/input")) == (401, "no_token")


def test_a_task_has_its_input_once_it_is_ready(api: RunningApi) -> None:
    GATE.clear()
    viewer, run = api.client("viewer"), started(api, "hold", wait=0, n=4)
    path = f"{RUNS}/{run}/tasks"
    until(lambda: viewer.get(f"{path}/wait_for_gate").json()["state"] == "running")
    assert viewer.get(f"{path}/wait_for_gate/input").json() == {"args": [4]}
    assert problem(viewer.get(f"{path}/add/input")) == (409, "no_input")
    GATE.set()
    until(lambda: viewer.get(f"{RUNS}/{run}").json()["state"] == "completed")
    assert viewer.get(f"{path}/add/input").json() == {"args": [4]}
    failed = started(api, "checked", n=-5)
    assert viewer.get(f"{RUNS}/{failed}/tasks/check/input").json() == {"args": [-4]}
    GATE.clear()


def test_the_input_of_a_step_has_no_secrets(api: RunningApi) -> None:
    viewer, run = api.client("viewer"), started(api, "masked")
    assert viewer.get(f"{RUNS}/{run}").json()["state"] == "completed"
    found = viewer.get(f"{RUNS}/{run}/tasks/use/input")
    assert "t=*******" in found.text and "p4ssword" not in found.text


def test_a_run_has_the_size_of_its_result_and_serves_it_as_it_is_stored(
    api: RunningApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewer, run = api.client("viewer"), started(api, "twice", n=41)
    assert viewer.get(f"{RUNS}/{run}").json()["output_bytes"] == len("43")
    listed = started(api, "mapped", n=3)
    assert "output_bytes" not in viewer.get(f"{RUNS}/{listed}").json(), "the list has to be put together"
    failed = started(api, "checked", n=-5)
    assert "output_bytes" not in viewer.get(f"{RUNS}/{failed}").json()

    def refused(*given: object) -> None:
        raise AssertionError("the result is decoded")

    monkeypatch.setattr("turnout.runner.stored_values.stored_result", refused)
    assert viewer.get(f"{RUNS}/{run}/output").text == "43"


def test_a_task_that_runs_tells_its_progress(api: RunningApi) -> None:
    viewer = api.client("viewer")
    body = {"workflow": "counting", "input": {"n": 3}}
    run = api.client("operator").post(RUNS, json=body).json()["run"]["id"]
    until(lambda: viewer.get(f"{RUNS}/{run}/tasks/count").json().get("progress"))
    found = json.loads(viewer.get(f"{RUNS}/{run}/tasks/count").json()["progress"])
    assert (found["done"], found["total"], found["message"]) == (3, 10, "files")
    GATE.set()
    until(lambda: viewer.get(f"{RUNS}/{run}/tasks/count").json()["state"] == "completed")
    assert "progress" not in viewer.get(f"{RUNS}/{run}/tasks/count").json()
    GATE.clear()


def test_a_task_without_output_says_so(api: RunningApi) -> None:
    viewer, run = api.client("viewer"), started(api, "checked", n=-5)
    assert problem(viewer.get(f"{RUNS}/{run}/tasks/check/output")) == (409, "no_output")
    assert problem(viewer.get(f"{RUNS}/{run}/tasks/nothing/output")) == (404, "unknown_task")
    assert problem(viewer.get(f"{RUNS}/{run}/output")) == (409, "run_failed")


def test_a_rerun_is_previewed_with_the_reason_of_each_task(api: RunningApi) -> None:
    viewer, run = api.client("viewer"), started(api, "checked", n=-5)
    path = f"{RUNS}/{run}/rerun/preview"
    found = viewer.post(path).json()
    assert found["again"] == [{"task": "check", "why": "not_finished"}] and found["reused"] == ["add"]
    assert found["input"] == {"n": -5} and not found["version_changed"]
    changed = viewer.post(path, json={"input": {"n": 5}}).json()
    assert changed["again"] == [
        {"task": "add", "why": "input_changed"},
        {"task": "check", "why": "not_finished"},
    ]
    asked = viewer.post(path, json={"from_task": "add"}).json()
    assert asked["again"][0] == {"task": "add", "why": "asked_for"}
    assert problem(viewer.post(path, json={"from_task": "nothing"})) == (404, "unknown_task")
    done = started(api, "twice", n=1)
    assert problem(viewer.post(f"{RUNS}/{done}/rerun/preview")) == (409, "nothing_to_rerun")
    follows = viewer.post(f"{RUNS}/{done}/rerun/preview", json={"from_task": "add"}).json()
    assert follows["again"][1] == {"task": "add-2", "why": "follows", "after": "add"}
    runs = viewer.get(RUNS, params={"workflow": "checked"}).json()["runs"]
    assert [each["id"] for each in runs].count(run) == 1 and not any(each.get("rerun_of") == run for each in runs)


def test_the_preview_of_a_rerun_counts_the_items_of_mapped_tasks(api: RunningApi) -> None:
    viewer, run = api.client("viewer"), started(api, "mapped", n=12)
    path = f"{RUNS}/{run}/rerun/preview"
    assert viewer.post(path, json={"from_task": "add"}).json()["again"] == [
        {"task": "add", "why": "asked_for", "items": 12}
    ]
    assert viewer.post(path, json={"from_task": "spread"}).json()["again"] == [
        {"task": "spread", "why": "asked_for"},
        {"task": "add", "why": "follows", "after": "spread", "items": 12, "items_of_before": True},
    ]


def test_a_preview_says_what_the_rerun_then_does(api: RunningApi) -> None:
    operator, run = api.client("operator"), started(api, "checked", n=-5)
    preview = operator.post(f"{RUNS}/{run}/rerun/preview", json={"from_task": "check"}).json()
    again = operator.post(f"{RUNS}/{run}/rerun", json={"from_task": "check"}, params={"wait": 20}).json()["run"]["id"]
    tasks = operator.get(f"{RUNS}/{again}/tasks").json()["tasks"]
    assert preview["reused"] == [task["name"] for task in tasks if (task.get("reason") or "").startswith("reused:")]


def test_moves_come_in_one_event_and_lines_can_be_left_out(api: RunningApi) -> None:
    viewer, run = api.client("viewer"), started(api, "mapped", n=30)
    with events(viewer, f"{RUNS}/{run}/events", batch=True, logs=False) as stream:
        found = list(stream)
    kinds = [event.name for event in found]
    assert kinds == ["moves"] * (len(kinds) - 1) + ["end"] and len(kinds) < 6
    moves = [move for event in found[:-1] for move in event.data["moves"]]
    single = viewer.get(f"{RUNS}/{run}/history", params={"limit": 1_000}).json()["moves"]
    assert moves == single


def test_a_stream_continues_behind_the_position_of_an_answer(api: RunningApi) -> None:
    GATE.clear()
    operator = api.client("operator")
    run = started(api, "hold", wait=0)
    until(lambda: operator.get(f"{RUNS}/{run}/tasks/wait_for_gate").json()["state"] == "running")
    graph = operator.get(f"{RUNS}/{run}/graph").json()
    GATE.set()
    with events(operator, f"{RUNS}/{run}/events", batch=True, logs=False, after=graph["position"]) as stream:
        moves = [move for event in stream if event.name == "moves" for move in event.data["moves"]]
    assert ("wait_for_gate", "completed") in [(move.get("task"), move["new"]) for move in moves]
    assert ("wait_for_gate", "running") not in [(move.get("task"), move["new"]) for move in moves]
    states = {node["name"]: node["state"] for node in graph["nodes"]}
    for move in moves:
        if move.get("task") in states:
            assert states[move["task"]] == move.get("old"), "the moves patch what the answer showed"
            states[move["task"]] = move["new"]
    now = operator.get(f"{RUNS}/{run}/graph").json()["nodes"]
    assert states == {node["name"]: node["state"] for node in now}
