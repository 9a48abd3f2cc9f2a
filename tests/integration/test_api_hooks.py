"""Webhooks over the API: a delivery starts one run, whichever server takes it and however often it is sent."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from tests.kit.api import RunningApi, running_api
from tests.kit.api_flows import FLOWS
from turnout import Context, Workflow, task
from turnout.model.access import digest_of
from turnout.model.webhook_signature import github_signature, standard_signature
from turnout.runner.server_settings import ServerSettings
from turnout.server.failure_limit import MAX_FAILURES

HOOKS = "/api/v1/hooks"


@task
def keep(context: Context) -> Context:
    return context


KEPT = Workflow("kept", tasks=[keep])


@pytest.fixture(scope="module")
def api() -> Iterator[RunningApi]:
    settings = ServerSettings(port=0, max_hook_bytes=10_000)
    with running_api(settings=settings, workflows=(*FLOWS, KEPT)) as running:
        yield running


def made(api: RunningApi, workflow: str = "twice", **options: Any) -> dict[str, Any]:
    options.setdefault("name", f"{workflow} {len(api.client('author').get(HOOKS).json()['webhooks'])}")
    answer = api.client("author").post(HOOKS, json={"workflow": workflow, **options})
    assert answer.status_code == 201, answer.text
    return answer.json()


def deliver(api: RunningApi, hook: dict[str, Any], body: Any, **headers: str) -> httpx.Response:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.post(f"{api.url}{hook['path']}", json=body, headers=given, timeout=20)


def input_of(api: RunningApi, run_id: str) -> dict[str, Any]:
    return api.client("viewer").get(f"/api/v1/runs/{run_id}/input").json()["input"]


def test_a_delivery_starts_a_run_without_a_token(api: RunningApi) -> None:
    answer = deliver(api, made(api), {"n": 4, "label": "shop", "sender": "not a parameter"})
    assert answer.status_code == 202 and answer.json()["created"], answer.text
    assert input_of(api, answer.json()["run_id"]) == {"n": 4, "label": "shop"}


def test_a_mapping_takes_parameters_from_places_in_the_body(api: RunningApi) -> None:
    hook = made(api, mapping={"n": "$.order.lines[0].count", "label": "$.missing"})
    answer = deliver(api, hook, {"order": {"lines": [{"count": 3}]}})
    assert input_of(api, answer.json()["run_id"]) == {"n": 3, "label": "none"}


def test_a_workflow_in_context_style_takes_the_whole_body(api: RunningApi) -> None:
    answer = deliver(api, made(api, "kept"), {"a": 1, "b": [2]})
    assert input_of(api, answer.json()["run_id"]) == {"a": 1, "b": [2]}


@pytest.mark.parametrize("header", ["Idempotency-Key", "X-GitHub-Delivery", "Webhook-Id"])
def test_a_delivery_that_is_sent_twice_starts_one_run(api: RunningApi, header: str) -> None:
    hook = made(api)
    first, second = (deliver(api, hook, {"n": 1}, **{header: "d-1"}) for _ in range(2))
    assert (first.status_code, second.status_code) == (202, 200)
    assert first.json() == {**second.json(), "created": True} and second.json()["created"] is False
    other = deliver(api, hook, {"n": 1}, **{header: "d-2"})
    assert other.status_code == 202 and other.json()["run_id"] != first.json()["run_id"]


def test_the_same_id_with_another_body_is_refused_also_if_the_parameters_are_equal(api: RunningApi) -> None:
    hook = made(api)
    run_id = deliver(api, hook, {"n": 1, "at": "noon"}, Webhook_Id="d").json()["run_id"]
    answer = deliver(api, hook, {"n": 1, "at": "midnight"}, Webhook_Id="d")
    assert (answer.status_code, answer.json()["code"]) == (409, "delivery_conflict")
    assert answer.json()["run_id"] == run_id and "another body" in answer.json()["detail"]


def test_the_id_of_a_delivery_belongs_to_its_webhook(api: RunningApi) -> None:
    one, other = (deliver(api, made(api), {"n": 1}, Webhook_Id="same") for _ in range(2))
    assert (one.status_code, other.status_code) == (202, 202) and one.json() != other.json()


def test_deliveries_without_an_id_are_separate(api: RunningApi) -> None:
    hook = made(api)
    assert len({deliver(api, hook, {"n": 1}).json()["run_id"] for _ in range(2)}) == 2


def test_two_servers_that_get_one_delivery_at_once_start_one_run(postgres_url: str) -> None:
    with running_api(postgres_url, workflows=FLOWS) as one, running_api(postgres_url, workflows=FLOWS) as two:
        hook = made(one)
        begin = threading.Barrier(8)

        def send(number: int) -> dict[str, Any]:
            begin.wait(20)
            return deliver((one, two)[number % 2], hook, {"n": 1}, Webhook_Id="d").json()

        with ThreadPoolExecutor(8) as senders:
            found = list(senders.map(send, range(8)))
        assert len({each["run_id"] for each in found}) == 1 and sum(each["created"] for each in found) == 1
        assert len(one.core.store.runs(workflow="twice")) == 1


# -- signatures -----------------------------------------------------------------------------------------------------
def test_a_signed_webhook_takes_signed_bodies_only(
    api: RunningApi, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hook = made(api, signature={"secret": "env:HOOK_KEY"})
    body = b'{"n": 1}'

    def send(signature: str) -> httpx.Response:
        headers = {"Content-Type": "application/json", "X-Hub-Signature-256": signature}
        return httpx.post(f"{api.url}{hook['path']}", content=body, headers=headers)

    unset = send(github_signature("s3cret", body))
    assert "the variable 'HOOK_KEY' is not set here" in caplog.text
    monkeypatch.setenv("HOOK_KEY", "s3cret")
    assert send(github_signature("s3cret", body)).status_code == 202
    wrong = send(github_signature("guess", body))
    assert (wrong.status_code, wrong.json()["code"]) == (403, "bad_signature")
    assert unset.json() == {**wrong.json(), "request_id": unset.json()["request_id"]}, "the answer tells nothing"
    assert deliver(api, hook, {"n": 1}).json()["code"] == "bad_signature"
    assert "s3cret" not in caplog.text


def test_a_standard_signature_with_a_secret_from_a_file(api: RunningApi, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
    hook = made(api, signature={"secret": f"file:{tmp_path}/key", "scheme": "standard"})
    body, stamp = b'{"n": 1}', "1614265330"
    signature = standard_signature("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "m1", stamp, body)
    headers = {"Webhook-Id": "m1", "Webhook-Timestamp": stamp, "Webhook-Signature": signature}
    answer = httpx.post(
        f"{api.url}{hook['path']}", content=body, headers={"Content-Type": "application/json", **headers}
    )
    assert (answer.status_code, answer.json()["code"]) == (403, "stale_signature")


def test_an_answer_does_not_tell_which_files_the_server_has(api: RunningApi, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("s3cret")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    os.mkfifo(tmp_path / "pipe")
    answers = set[tuple[int, str, str]]()
    for name in ("key", "missing", "binary", "pipe", "."):
        hook = made(api, name=f"reads {name}", signature={"secret": f"file:{tmp_path}/{name}"})
        answer = deliver(api, hook, {"n": 1}, X_Hub_Signature_256=github_signature("guess", b"{}"))
        answers.add((answer.status_code, answer.json()["code"], answer.json()["detail"]))
    assert len(answers) == 1 and answers.pop()[:2] == (403, "bad_signature")


# -- what does not fit ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        ({}, "webhook_mismatch", "needs the parameter 'n'"),
        ({"n": "many"}, "webhook_mismatch", "'n'"),
        ([1], "webhook_mismatch", "object"),
        (None, "webhook_mismatch", "needs the parameter 'n'"),
    ],
)
def test_a_body_that_does_not_fit_the_parameters_starts_nothing(
    api: RunningApi, body: Any, code: str, words: str
) -> None:
    before = len(api.core.store.runs(limit=1_000))
    answer = deliver(api, made(api), body)
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert words in answer.json()["detail"] and len(api.core.store.runs(limit=1_000)) == before


def test_a_body_that_is_nested_too_deeply_is_refused_on_every_path(api: RunningApi) -> None:
    hook = made(api, "kept")
    for depth in (101, 800, 4_500):
        body = b'{"label":' + b"[" * depth + b"]" * depth + b"}"
        run = b'{"workflow": "kept", "input": ' + body + b"}"
        definition = b'{"text": ' + body + b"}"
        headers = {"Content-Type": "application/json"}
        author = api.client("author")
        answers = [
            httpx.post(f"{api.url}{hook['path']}", content=body, headers=headers, timeout=20),
            author.post("/api/v1/runs", content=run, headers=headers),
        ]
        if depth > 1_000:
            answers.append(author.post("/api/v1/hooks", content=definition, headers=headers))
        for answer in answers:
            assert (answer.status_code, answer.json()["code"]) == (422, "json_depth"), answer.text


def test_a_sender_is_not_told_the_names_of_other_workflows(api: RunningApi, caplog: pytest.LogCaptureFixture) -> None:
    hook = made(api)
    store = api.core.store
    stored = store.webhooks()[0]
    token = "th_of_a_workflow_that_is_gone"
    store.add_webhook(msgspec.structs.replace(stored, id="gone", name="gone", workflow="nosuch"), digest_of(token))
    answer = deliver(api, {**hook, "path": f"{HOOKS}/{token}"}, {"n": 1})
    assert (answer.status_code, answer.json()["code"]) == (404, "workflow_not_found")
    assert "twice" not in answer.text and "nosuch" not in answer.text
    assert "there is no workflow 'nosuch'" in caplog.text


def test_a_body_that_is_no_json_or_too_large_is_refused(api: RunningApi) -> None:
    url = f"{api.url}{made(api)['path']}"
    headers = {"Content-Type": "application/json"}
    for content, status, code in (
        (b"{", 400, "bad_webhook_body"),
        (b'"\xff"', 400, "bad_webhook_body"),
        (b'{"n": "' + b"x" * 10_000 + b'"}', 413, "body_too_large"),
    ):
        answer = httpx.post(url, content=content, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert httpx.post(url, content=b"n=1").json()["code"] == "unsupported_media_type"
    bad = httpx.post(url, json={"n": 1}, headers={"Webhook-Id": "x" * 300})
    assert (bad.status_code, bad.json()["code"]) == (400, "bad_delivery_id")


@pytest.mark.parametrize(
    ("options", "status", "code"),
    [
        ({"workflow": "missing"}, 404, "workflow_not_found"),
        ({"mapping": {"m": "$.n"}}, 422, "unknown_parameter"),
        ({"mapping": {"n": "n"}}, 422, "bad_webhook_mapping"),
        ({"signature": {"secret": "hunter2"}}, 422, "bad_secret_reference"),
        ({"unknown": 1}, 422, "invalid_request"),
    ],
)
def test_a_webhook_that_cannot_work_is_not_made(
    api: RunningApi, options: dict[str, Any], status: int, code: str
) -> None:
    answer = api.client("author").post(HOOKS, json={"name": "bad", "workflow": "twice", **options})
    assert (answer.status_code, answer.json()["code"]) == (status, code) and "hunter2" not in answer.text
    assert "bad" not in [each["name"] for each in api.client("viewer").get(HOOKS).json()["webhooks"]]


# -- its life -----------------------------------------------------------------------------------------------------
def test_a_webhook_is_rotated_and_deleted_by_name_or_id(api: RunningApi) -> None:
    author, hook = api.client("author"), made(api, name="brief")
    taken = author.post(HOOKS, json={"name": "brief", "workflow": "twice"})
    assert (taken.status_code, taken.json()["code"]) == (409, "webhook_exists")
    rotated = author.post(f"{HOOKS}/brief/rotate").json()
    assert deliver(api, hook, {"n": 1}).json()["code"] == "unknown_webhook"
    assert deliver(api, rotated, {"n": 1}).status_code == 202
    assert author.delete(f"{HOOKS}/{rotated['webhook']['id']}").json()["name"] == "brief"
    assert deliver(api, rotated, {"n": 1}).status_code == 404
    gone = author.post(f"{HOOKS}/brief/rotate")
    assert (gone.status_code, gone.json()["code"]) == (404, "webhook_not_found")


def test_the_token_is_in_no_answer_log_or_audit_entry_but_the_first(
    api: RunningApi, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        hook = made(api, name="quiet")
        run_id = deliver(api, hook, {"n": 1}).json()["run_id"]
        refused = deliver(api, hook, {"n": "x"}).text
        listed = api.client("viewer").get(HOOKS).text
    entries = api.client("admin").get("/api/v1/audit", params={"actor": f"webhook:{hook['webhook']['id']}"}).json()
    found = [(each["status"], each["code"], each["actor_name"], each["target"]) for each in entries["entries"]]
    assert found == [
        (422, "webhook_mismatch", "quiet", f"{HOOKS}/th_***"),
        (202, "", "quiet", f"{HOOKS}/th_***"),
    ]
    stored = str(api.core.store.run(run_id)) + str(api.core.store.webhooks())
    # The client logs its own requests; the access log of uvicorn is off, and on here for being captured.
    logged = "\n".join(each.getMessage() for each in caplog.records if each.name.startswith("turnout"))
    assert f"POST {HOOKS}/th_*** 202" in logged and not logging.getLogger("uvicorn.access").propagate
    for text in (refused, listed, stored, logged, api.client("admin").get("/api/v1/audit").text):
        assert hook["token"] not in text and hook["token"][3:] not in text


def test_an_address_that_guesses_is_refused_and_known_webhooks_are_not() -> None:
    with running_api(workflows=FLOWS) as api:
        hook = made(api)
        assert deliver(api, hook, {"n": 1}).status_code == 202
        with httpx.Client(base_url=api.url) as client:
            codes = [client.post(f"{HOOKS}/th_{number:043d}").json()["code"] for number in range(MAX_FAILURES + 1)]
            assert codes == ["unknown_webhook"] * MAX_FAILURES + ["too_many_unknown_webhooks"]
            refused = client.post(f"{HOOKS}/guess")
        assert refused.status_code == 429 and 0 < int(refused.headers["Retry-After"]) <= 60
        assert deliver(api, hook, {"n": 1}).status_code == 202
