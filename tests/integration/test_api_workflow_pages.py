"""What pages about workflows read: the newest runs task by task, graphs with places, and throughput."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.kit.api import RunningApi, running_api
from tests.kit.api_flows import FLOWS
from turnout.authoring.yaml.compiler import compile_file
from turnout.runner.definitions.settings import DefinitionSettings

RUNS, WORKFLOWS = "/api/v1/runs", "/api/v1/workflows"
GREETING = "description: Greets.\ntags: [mail]\nsteps:\n  - echo hello  # as it was written\n"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApi]:
    database = f"sqlite:///{tmp_path_factory.mktemp('pages')}/turnout.db"
    files = compile_file(GREETING, name="greeting").workflows
    with running_api(database, workflows=(*FLOWS, *files), definitions=DefinitionSettings()) as running:
        yield running


def started(api: RunningApi, workflow: str, **input: Any) -> str:
    body = {"workflow": workflow, "input": input}
    return str(api.client("operator").post(RUNS, params={"wait": 20}, json=body).json()["run"]["id"])


def problem(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["code"]


def test_the_history_of_a_workflow_is_a_matrix_of_tasks_and_runs(api: RunningApi) -> None:
    viewer = api.client("viewer")
    runs = [started(api, "checked", n=number) for number in (1, -5, 2)]
    found = viewer.get(f"{WORKFLOWS}/checked/history").json()
    assert [run["run_id"] for run in found["runs"]] == runs[::-1]
    assert [row["name"] for row in found["tasks"]] == ["add", "check"]
    states = [[cell["state"] for cell in row["cells"]] for row in found["tasks"]]
    assert states == [["completed"] * 3, ["completed", "failed", "completed"]]
    assert found["tasks"][1]["duration"]["count"] == 2 and found["duration"]["count"] == 2
    assert set(found["slowest"]) <= {"add", "check"} and found["next"] is None
    page = viewer.get(f"{WORKFLOWS}/checked/history", params={"limit": 2}).json()
    rest = viewer.get(f"{WORKFLOWS}/checked/history", params={"limit": 2, "cursor": page["next"]}).json()
    assert [run["run_id"] for run in rest["runs"]] == runs[:1]
    assert problem(viewer.get(f"{WORKFLOWS}/twice/history", params={"cursor": page["next"]})) == (400, "foreign_cursor")
    assert problem(viewer.get(f"{WORKFLOWS}/nothing/history")) == (404, "workflow_not_found")


def test_cells_of_reused_and_mapped_tasks_say_so(api: RunningApi) -> None:
    operator = api.client("operator")
    failed = started(api, "checked", n=-7)
    operator.post(f"{RUNS}/{failed}/retry", params={"wait": 20})
    newest = operator.get(f"{WORKFLOWS}/checked/history", params={"limit": 1}).json()
    assert newest["runs"][0]["rerun_of"] == failed
    assert newest["tasks"][0]["cells"][0]["reused"] and newest["tasks"][0]["duration"]["count"] == 0
    started(api, "mapped", n=4)
    mapped = operator.get(f"{WORKFLOWS}/mapped/history").json()
    assert mapped["tasks"][1]["cells"][0]["items"] == {"completed": 4}


def test_the_graphs_of_a_workflow_are_listed_and_read_with_places(api: RunningApi) -> None:
    viewer = api.client("viewer")
    started(api, "twice", n=1)
    listed = viewer.get(f"{WORKFLOWS}/twice/graphs").json()
    (only,) = listed["versions"]
    assert only["current"] and only["number"] == 1
    answer = viewer.get(f"{WORKFLOWS}/twice/graphs/{only['version']}")
    assert answer.headers["etag"] == f'"{only["version"]}"'
    graph = answer.json()
    assert [(task["name"], task["column"]) for task in graph["tasks"]] == [("add", 0), ("add-2", 1)]
    assert graph["edges"] == [{"from": "add", "to": "add-2"}] and graph["columns"] == 2
    assert [each["name"] for each in graph["parameters"]] == ["n", "label"]
    assert viewer.get(f"{WORKFLOWS}/twice/graphs/current").json() == graph
    assert problem(viewer.get(f"{WORKFLOWS}/twice/graphs/other")) == (404, "no_such_version")
    assert problem(viewer.get(f"{WORKFLOWS}/checked/graphs/{only['version']}")) == (404, "no_such_version")


def test_the_source_of_a_workflow_of_the_program_is_the_text_of_its_module(api: RunningApi) -> None:
    source = api.client("viewer").get(f"{WORKFLOWS}/twice/source")
    assert source.headers["content-type"].startswith("text/x-python")
    assert "def twice(n: int" in source.text and "@workflow" in source.text


def test_the_source_of_a_file_that_the_server_was_started_with_is_its_text(api: RunningApi) -> None:
    viewer = api.client("viewer")
    source = viewer.get(f"{WORKFLOWS}/greeting/source")
    assert source.headers["content-type"].startswith("application/yaml") and source.text == GREETING
    again = viewer.get(f"{WORKFLOWS}/greeting/source", headers={"If-None-Match": source.headers["etag"]})
    assert again.status_code == 304
    found = viewer.get(f"{WORKFLOWS}/greeting").json()
    assert (found["kind"], found["origin"], found["tags"], found["description"]) == (
        "yaml",
        "code",
        ["mail"],
        "Greets.",
    )
    assert [each["name"] for each in viewer.get(WORKFLOWS, params={"kind": "yaml"}).json()["workflows"]] == ["greeting"]


def test_throughput_counts_what_ended_by_state_and_minute(api: RunningApi) -> None:
    viewer = api.client("viewer")
    before = viewer.get("/api/v1/stats").json()
    started(api, "twice", n=1)
    started(api, "checked", n=-5)
    stats = viewer.get("/api/v1/stats").json()
    assert len(stats["series"]["at"]) == 60 and stats["step"] == 60.0
    assert all(len(row) == 60 for row in (*stats["series"]["runs"].values(), *stats["series"]["tasks"].values()))

    def total(answer: dict[str, Any], kind: str, state: str) -> int:
        return sum(answer["series"][kind][state])

    assert total(stats, "runs", "completed") == total(before, "runs", "completed") + 1
    assert total(stats, "runs", "failed") == total(before, "runs", "failed") + 1
    assert total(stats, "tasks", "completed") == total(before, "tasks", "completed") + 3
    assert stats["latency"]["runs"] >= 2 and stats["latency"]["start_delay"]["p95"] >= 0
    one = viewer.get("/api/v1/stats", params={"workflow": "twice", "window": "day"}).json()
    assert total(one, "runs", "failed") == 0 and total(one, "runs", "completed") >= 1
    assert one["workflow"] == "public::embedded::twice" and len(one["series"]["at"]) == 96
