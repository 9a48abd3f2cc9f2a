"""Workflows through the API: lists, texts, versions, changes by ETag, and what uploaded definitions may do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from kit.waiting import until
from scripted_hub import start_worker

from tests.kit.api import RunningApi, running_api
from turnout import Workflow, shell
from turnout.executors.workers.settings import HubSettings
from turnout.runner.definitions.settings import DefinitionSettings

pytestmark = pytest.mark.timeout(120)

BASE = "/api/v1/workflows"
GOOD = "description: Says hello\ntags: [nightly, team=data]\nsteps: [{name: hi, command: echo hi}]\n"
YAML = {"Content-Type": "application/yaml"}
NEW = {**YAML, "If-None-Match": "*"}

own = Workflow("in_code", tasks=[shell("true", name="a")], schedule="0 3 * * *", timezone="Europe/Rome")


@pytest.fixture(scope="module")
def api() -> Iterator[RunningApi]:
    settings = DefinitionSettings(allow_local_execution=True)
    with running_api(definitions=settings, workflows=[own]) as running:
        yield running


@pytest.fixture
def author(api: RunningApi) -> httpx.Client:
    return api.client("author")


def match(version: int) -> dict[str, str]:
    return {**YAML, "If-Match": f'"{version}"'}


def put(client: httpx.Client, name: str, text: str = GOOD, headers: dict[str, str] = NEW) -> httpx.Response:
    return client.put(f"{BASE}/{name}", content=text, headers=headers)


def code(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["code"]


# -- changes -----------------------------------------------------------------------------------------------------------
def test_a_definition_is_made_replaced_and_deleted_by_its_etag(author: httpx.Client) -> None:
    made = put(author, "etag_flow")
    assert (made.status_code, made.headers["etag"]) == (201, '"1"') and made.json()["tasks"][0]["name"] == "hi"
    read = author.get(f"{BASE}/etag_flow/source")
    assert (read.text, read.headers["etag"]) == (GOOD, '"1"') and "yaml" in read.headers["content-type"]
    assert author.get(f"{BASE}/etag_flow/source", headers={"If-None-Match": '"1"'}).status_code == 304
    again = put(author, "etag_flow", GOOD, match(1))
    assert (again.status_code, again.headers["etag"]) == (200, '"1"'), "the same text is the same version"
    changed = author.put(f"{BASE}/etag_flow", json={"text": GOOD.replace("hi}", "ho}")}, headers={"If-Match": '"1"'})
    assert (changed.status_code, changed.headers["etag"]) == (200, '"2"')
    assert author.get(f"{BASE}/etag_flow").headers["etag"] == '"2"'
    gone = author.delete(f"{BASE}/etag_flow", headers={"If-Match": '"2"'})
    assert gone.status_code == 204 and code(author.get(f"{BASE}/etag_flow")) == (404, "workflow_not_found")
    back = put(author, "etag_flow")
    assert (back.status_code, back.headers["etag"]) == (201, '"3"'), "numbers go on"


REFUSED: dict[str, tuple[str, str, dict[str, str], tuple[int, str]]] = {
    "no precondition": ("there", GOOD, YAML, (428, "precondition_required")),
    "another version": ("there", GOOD, match(7), (412, "stale_etag")),
    "made already": ("there", GOOD, NEW, (412, "stale_etag")),
    "not made yet": ("absent", GOOD, match(1), (412, "stale_etag")),
    "no ETag": ("there", GOOD, {**YAML, "If-Match": "7"}, (400, "bad_etag")),
    "two dots": ("a..b", GOOD, NEW, (400, "path_in_name")),
    "a path": ("..%2F..%2Fetc", GOOD, NEW, (400, "path_in_name")),
    "no identifier": ("9lives", GOOD, NEW, (400, "bad_definition_name")),
    "another package": ("ml::flow", GOOD, NEW, (400, "bad_definition_name")),
    "another name": ("absent", f"name: other\n{GOOD}", NEW, (422, "name_mismatch")),
    "errors": ("absent", "stepz: [x]", NEW, (422, "invalid_definition_text")),
    "no text": ("absent", "  ", NEW, (422, "invalid_request")),
    "not UTF-8": ("absent", "\udcff", NEW, (422, "invalid_request")),
    "another type": ("absent", GOOD, {**NEW, "Content-Type": "text/html"}, (415, "unsupported_media_type")),
    "code": ("in_code", GOOD, NEW, (409, "definition_from_file")),
}


@pytest.mark.parametrize(("name", "text", "headers", "expected"), REFUSED.values(), ids=REFUSED)
def test_each_refused_change_has_its_own_code_and_changes_nothing(
    api: RunningApi, author: httpx.Client, name: str, text: str, headers: dict[str, str], expected: tuple[int, str]
) -> None:
    put(author, "there")
    before = [(each.full_name, each.version, each.removed) for each in api.core.store.definitions()]
    content = text.encode("utf-8", "surrogateescape")
    answer = author.put(f"{BASE}/{name}", content=content, headers=headers)
    assert code(answer) == expected
    assert [(each.full_name, each.version, each.removed) for each in api.core.store.definitions()] == before


def test_a_delete_says_which_version_it_deletes_and_waits_for_open_runs(
    api: RunningApi, author: httpx.Client, tmp_path: Path
) -> None:
    put(author, "held", f"steps: ['while [ ! -e {tmp_path}/go ]; do sleep 0.05; done']")
    assert code(author.delete(f"{BASE}/held")) == (428, "precondition_required")
    assert code(author.delete(f"{BASE}/held", headers={"If-Match": '"9"'})) == (412, "stale_etag")
    assert code(author.delete(f"{BASE}/never", headers={"If-Match": '"1"'})) == (404, "workflow_not_found")
    run = api.client("operator").post("/api/v1/runs", json={"workflow": "held"}).json()["run"]["id"]
    refused = author.delete(f"{BASE}/held", headers={"If-Match": '"1"'})
    assert code(refused) == (409, "definition_in_use") and refused.json()["runs"] == [run]
    (tmp_path / "go").touch()
    until(lambda: api.runner.get(run).status().state.terminal)
    assert author.delete(f"{BASE}/held", headers={"If-Match": '"1"'}).status_code == 204


def test_a_workflow_that_others_call_is_not_deleted(author: httpx.Client) -> None:
    put(author, "callee")
    put(author, "caller", "steps: [{name: go, call: callee}]")
    assert code(author.delete(f"{BASE}/callee", headers={"If-Match": '"1"'})) == (409, "definition_called")
    circle = put(author, "callee", "steps: [{name: go, call: caller}]", match(1))
    assert code(circle) == (422, "invalid_definition_text")
    assert "recursive_workflow" in [each["code"] for each in circle.json()["findings"]]


def test_a_viewer_reads_and_does_not_change_and_an_operator_does_not_either(api: RunningApi) -> None:
    put(api.client("author"), "roles")
    for role in ("viewer", "operator"):
        client = api.client(role)
        assert client.get(f"{BASE}/roles").status_code == 200
        assert client.post(f"{BASE}/roles/validate", content=GOOD, headers=YAML).json()["valid"]
        assert code(put(client, "roles2")) == (403, "role_too_low")
        assert code(client.delete(f"{BASE}/roles", headers={"If-Match": '"1"'})) == (403, "role_too_low")
    assert code(api.client().get(f"{BASE}/roles")) == (401, "no_token")
    entries = api.client("admin").get("/api/v1/audit").json()["entries"]
    assert any(each["target"].endswith("/workflows/roles") and each["method"] == "PUT" for each in entries)


@pytest.mark.parametrize("name", ["../held", "a/b", ".."])
def test_a_run_is_not_started_by_a_path(api: RunningApi, name: str) -> None:
    assert code(api.client("operator").post("/api/v1/runs", json={"workflow": name})) == (400, "path_in_name")


# -- reading -----------------------------------------------------------------------------------------------------------
def test_a_list_has_filters_pages_and_the_states_of_the_newest_runs(api: RunningApi, author: httpx.Client) -> None:
    for name in ("list_a", "list_b", "list_c"):
        put(author, name)
    put(author, "list_plain", "steps: [echo plain]")
    runs = [
        api.client("operator").post("/api/v1/runs?wait=20", json={"workflow": "list_a"}).json()["run"]["id"]
        for _ in range(3)
    ]
    found = author.get(BASE, params={"q": "LIST_", "tag": ["nightly", "team=data"], "recent": 2}).json()
    assert [each["name"] for each in found["workflows"]] == ["list_a", "list_b", "list_c"]
    assert [each["run_id"] for each in found["workflows"][0]["recent"]] == runs[:0:-1]
    assert {each["state"] for each in found["workflows"][0]["recent"]} == {"completed"}
    page = author.get(BASE, params={"q": "list_", "limit": 3}).json()
    rest = author.get(BASE, params={"q": "list_", "limit": 3, "cursor": page["next"]}).json()
    assert [each["name"] for each in page["workflows"] + rest["workflows"]] == [
        "list_a",
        "list_b",
        "list_c",
        "list_plain",
    ]
    assert rest["next"] is None
    assert code(author.get(BASE, params={"q": "other", "cursor": page["next"]})) == (400, "foreign_cursor")
    in_code = author.get(BASE, params={"kind": "python"}).json()["workflows"]
    assert [(each["name"], each["origin"]) for each in in_code] == [("in_code", "code")]
    (schedule,) = in_code[0]["schedules"]
    assert (schedule["name"], schedule["expression"]) == ("start-1", "0 3 * * *")
    assert (schedule["timezone"], schedule["overlap"]) == ("Europe/Rome", "skip")


def test_a_workflow_is_read_with_its_parameters_tasks_and_graph(author: httpx.Client) -> None:
    text = """
params:
  - name: COUNT
    type: integer
    default: 3
    minimum: 1
schedule: "0 2 * * *"
type: graph
steps:
  - {name: a, command: echo a}
  - {name: b, command: "echo ${COUNT}", depends: a, timeout_sec: 9}
"""
    assert put(author, "detailed", text).status_code == 201
    found = author.get(f"{BASE}/detailed").json()
    (parameter,) = found["parameters"]
    assert parameter["schema"]["type"] == "integer" and parameter["schema"]["minimum"] == 1
    assert (parameter["required"], parameter["default"]) == (False, 3)
    assert found["edges"] == [{"from": "a", "to": "b"}] and found["tasks"][1]["timeout"] == 9
    assert [each["expression"] for each in found["schedules"]] == ["0 2 * * *"]
    assert found["available"] and found["spec_version"]


def test_versions_are_listed_and_read_with_their_texts(author: httpx.Client) -> None:
    put(author, "many")
    for number in range(2, 5):
        put(author, "many", f"steps: [echo {number}]", match(number - 1))
    page = author.get(f"{BASE}/many/versions", params={"limit": 3}).json()
    assert [(each["version"], each["current"]) for each in page["versions"]] == [(4, True), (3, False), (2, False)]
    rest = author.get(f"{BASE}/many/versions", params={"limit": 3, "cursor": page["next"]}).json()
    assert [each["version"] for each in rest["versions"]] == [1] and rest["next"] is None
    assert author.get(f"{BASE}/many/versions/1").json()["text"] == GOOD
    assert page["versions"][0]["actor"] == "author"
    assert code(author.get(f"{BASE}/many/versions/9")) == (404, "no_such_version")


def test_a_text_is_validated_with_all_findings_and_nothing_is_stored(api: RunningApi, author: httpx.Client) -> None:
    before = api.core.store.definitions()
    found = author.post(f"{BASE}/fresh/validate", content="nam: x\nsteps: [{comand: y}]", headers=YAML).json()
    assert not found["valid"] and {each["line"] for each in found["findings"]} == {1, 2}
    good = author.post(f"{BASE}/fresh/validate", json={"text": GOOD}).json()
    assert good["valid"] and good["workflows"] == ["fresh"]
    assert api.core.store.definitions() == before


def test_the_dispatch_of_each_task_is_explained(author: httpx.Client) -> None:
    put(author, "placed", "steps: [{name: a, command: ls, workerSelector: {gpu: 'true'}}]")
    found = author.get(f"{BASE}/placed/dispatch").json()
    (trace,) = found["tasks"]
    assert trace["decision"]["executor_key"] == "shell" and "no hub is configured" in trace["decision"]["reason"]
    assert len(found["warnings"]) == 1 and [each["outcome"] for each in trace["steps"]].count("chosen") == 1


# -- folders and the policy --------------------------------------------------------------------------------------------
def test_files_are_listed_with_their_findings_and_belong_to_their_folder(tmp_path: Path) -> None:
    folder = tmp_path / "flows"
    folder.mkdir()
    (folder / "good.yaml").write_text(GOOD)
    (folder / "bad.yaml").write_text("stepz: [x]")
    (folder / "twin.yaml").write_text(f"name: good\n{GOOD}")
    with running_api(definitions=DefinitionSettings(folders=(folder,), reload=True)) as running:
        client = running.client("author")
        found = {each["name"]: each for each in client.get(BASE).json()["workflows"]}
        assert found["good"]["available"] and found["good"]["file"] == "flows/good.yaml"
        assert not found["bad"]["available"] and "unknown_key" in [each["code"] for each in found["bad"]["findings"]]
        assert [each["name"] for each in client.get(BASE, params={"broken": True}).json()["workflows"]] == ["bad"]
        assert [each["file"] for each in client.get(BASE).json()["files"]] == ["flows/twin.yaml"]
        assert code(put(client, "good", GOOD, match(1))) == (409, "definition_from_file")
        (folder / "good.yaml").write_text("steps: [echo changed]")
        until(lambda: client.get(f"{BASE}/good").headers["etag"] == '"2"')
        (folder / "good.yaml").write_text("steps: [")
        until(lambda: client.get(f"{BASE}/good").json()["findings"][0]["code"] == "malformed_yaml")
        kept = client.get(f"{BASE}/good").json()
        assert kept["available"] and kept["version"] == 2
        done = running.client("operator").post("/api/v1/runs?wait=20", json={"workflow": "good"}).json()
        assert done["run"]["state"] == "completed"


def test_an_uploaded_definition_that_would_run_on_the_server_is_refused_with_all_reasons() -> None:
    with running_api(definitions=DefinitionSettings()) as running:
        client = running.client("author")
        refused = put(client, "local", "dotenv: .env\nsteps: [{name: a, command: ls, stdout: /tmp/x}]")
        assert code(refused) == (403, "local_execution_refused")
        errors = [each["code"] for each in refused.json()["findings"] if each["severity"] == "error"]
        assert errors == ["local_shell", "local_file", "local_dotenv"]
        assert put(client, "remote", "steps: [{name: a, handler: ship}]").status_code == 201


HUB = HubSettings(address="tcp://127.0.0.1:0", heartbeat=0.2, lease=2.0, resend=0.2)


def test_an_uploaded_definition_runs_on_a_worker_and_never_on_the_server(tmp_path: Path, sqlite_url: str) -> None:
    with running_api(sqlite_url, definitions=DefinitionSettings(), hub=HUB) as running:
        client, operator = running.client("author"), running.client("operator")
        private = f"http://127.0.0.1:{client.base_url.port}/healthz"
        steps = (
            f"steps: [{{name: a, command: 'echo $PPID > {tmp_path}/ran; printf there', output: SAID}},"
            f" {{name: b, http: '{private}', id: b}}, {{name: c, command: 'echo ${{b.status}}', output: STATUS}}]"
        )
        made = put(client, "uploaded", steps)
        assert made.status_code == 201 and made.json()["remote_only"]
        trace = client.get(f"{BASE}/uploaded/dispatch").json()["tasks"][0]
        assert trace["decision"]["executor_key"] == "workers" and trace["steps"][0]["considered"] == "remote only"
        pinned = put(client, "pinned", f"workerSelector: local\n{steps}")
        assert code(pinned) == (403, "local_execution_refused")
        started = operator.post("/api/v1/runs", json={"workflow": "uploaded"}).json()["run"]["id"]
        until(lambda: "no_worker" in (running.runner.get(started).tasks()[0].reason or ""))
        assert not (tmp_path / "ran").exists(), "it waits for a worker"
        assert running.runner.hub is not None
        worker = start_worker("--connect", running.runner.hub, "--no-discover")
        try:
            until(lambda: running.runner.get(started).status().state.terminal)
            done = operator.get(f"/api/v1/runs/{started}/result").json()
        finally:
            worker.kill()
            worker.communicate()
        assert done["result"] == {"SAID": "there", "STATUS": "200"}, "a worker reaches private addresses"
        attempt = running.runner.get(started).attempts()[0]
        assert attempt.executor == "workers"


def test_a_bound_definition_is_refused_where_no_hub_is_configured(sqlite_url: str) -> None:
    with running_api(sqlite_url, definitions=DefinitionSettings(), hub=HUB) as running:
        assert put(running.client("author"), "bound", GOOD).status_code == 201
    with running_api(sqlite_url, definitions=DefinitionSettings()) as running:
        answer: Any = running.client("operator").post("/api/v1/runs", json={"workflow": "bound"})
        assert code(answer) == (503, "remote_only_without_hub")
        assert running.core.store.runs() == []


def test_an_uploaded_definition_makes_requests_from_the_server_to_public_addresses_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SERVER_ONLY", "hidden")
    text = (
        "params: [{name: HOST}]\n"
        "steps:\n"
        "  - name: call\n"
        "    http: {url: 'http://${HOST}/', headers: {X-Seen: 'at ${SERVER_ONLY}'}}\n"
        "    preconditions: {condition: 'at ${SERVER_ONLY}', expected: at}\n"
    )
    with running_api(definitions=DefinitionSettings()) as running:
        client, operator = running.client("author"), running.client("operator")
        refused = put(client, "constant", "steps:\n  - name: a\n    http: http://127.0.0.1:9/\n")
        assert code(refused) == (403, "local_execution_refused")
        [finding] = [each for each in refused.json()["findings"] if each["severity"] == "error"]
        assert (finding["code"], finding["line"], finding["column"]) == ("local_http", 3, 11)
        assert put(client, "asks", text).status_code == 201
        port = running.client("viewer").base_url.port
        for host in (f"localhost:{port}", f"127.0.0.1:{port}"):
            run = operator.post("/api/v1/runs?wait=20", json={"workflow": "asks", "input": {"HOST": host}}).json()[
                "run"
            ]
            [task] = operator.get(f"/api/v1/runs/{run['id']}/tasks").json()["tasks"]
            assert (run["state"], task["state"]) == ("failed", "failed")
            attempt = running.runner.get(run["id"]).tasks()[0]
            assert attempt.error is not None and attempt.error.code == "private_address"
            assert "127.0.0.1" in attempt.error.message
