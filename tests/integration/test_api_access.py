"""Tokens, sessions of browsers, the audit, and what is refused before a route is reached, on a real server."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from kit.waiting import until

from tests.kit.api import RunningApi, running_api
from turnout import task, workflow
from turnout.model.access import TOKEN_PATTERN, digest_of, new_secret
from turnout.runner.server_settings import ServerSettings
from turnout.server import access as access_module
from turnout.server import run_metrics
from turnout.server.caller import COOKIE, CSRF_HEADER
from turnout.server.exchange import Caller


@pytest.fixture(scope="module")
def api() -> Iterator[RunningApi]:
    with running_api() as running:
        yield running


def code_of(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["code"]


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


# -- tokens -----------------------------------------------------------------------------------------------------
def test_a_token_lives_from_its_creation_to_its_revocation(api: RunningApi) -> None:
    admin = api.client("admin")
    made = admin.post("/api/v1/tokens", json={"name": "ci", "role": "operator"})
    assert made.status_code == 201
    secret, token = made.json()["secret"], made.json()["token"]
    assert TOKEN_PATTERN.fullmatch(secret) and secret not in str(token)
    client = api.client()
    session = client.get("/api/v1/session", headers=bearer(secret)).json()
    assert (session["name"], session["role"], session["csrf_token"]) == ("ci", "operator", None)
    revoked = admin.delete(f"/api/v1/tokens/{token['id']}")
    assert revoked.status_code == 200 and revoked.json()["state"] == "revoked" and revoked.json()["revoked_at"]
    assert code_of(client.get("/api/v1/session", headers=bearer(secret))) == (401, "revoked_token")
    assert code_of(admin.delete(f"/api/v1/tokens/{token['id']}")) == (404, "token_not_found")
    listed = {each["id"]: each for each in admin.get("/api/v1/tokens").json()["tokens"]}
    assert listed[token["id"]]["state"] == "revoked"


def test_a_revocation_by_another_process_takes_effect_within_two_seconds(api: RunningApi) -> None:
    secret = api.token("viewer", "elsewhere")
    client = api.client()
    assert client.get("/api/v1/session", headers=bearer(secret)).status_code == 200
    row = api.core.store.token(digest_of(secret))
    assert row is not None
    began = time.monotonic()
    api.core.store.revoke_token(row.id)
    until(lambda: client.get("/api/v1/session", headers=bearer(secret)).status_code == 401)
    assert time.monotonic() - began < 2.0


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, "no_token"),
        (bearer("to_x"), "unknown_token"),
        (bearer(new_secret()), "unknown_token"),
        (bearer(new_secret("ts_")), "unknown_token"),
        ({"Authorization": "Basic eDp5"}, "malformed_authorization"),
        ({"Cookie": f"{COOKIE}=ts_x"}, "unknown_token"),
    ],
)
def test_each_refusal_has_its_code(api: RunningApi, headers: dict[str, str], code: str) -> None:
    answer = api.client().get("/api/v1/session", headers=headers)
    assert code_of(answer) == (401, code)
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_an_expired_token_is_refused(api: RunningApi) -> None:
    secret = api.token("viewer", "short", lifetime=-1.0)
    assert code_of(api.client().get("/api/v1/session", headers=bearer(secret))) == (401, "expired_token")


def test_a_token_in_the_query_is_refused_and_not_repeated(api: RunningApi) -> None:
    secret = api.token("viewer", "leaked")
    answer = api.client().get("/api/v1/session", params={"token": secret})
    assert code_of(answer) == (400, "token_in_query")
    assert secret not in answer.text


@pytest.mark.parametrize(
    "body",
    [
        {"name": "x"},
        {"name": "", "role": "viewer"},
        {"name": "x", "role": "root"},
        {"name": "x", "role": "admin", "lifetime": -1},
    ],
)
def test_a_token_that_cannot_be_made_is_refused(api: RunningApi, body: dict[str, object]) -> None:
    assert code_of(api.client("admin").post("/api/v1/tokens", json=body)) == (422, "invalid_request")


def test_tokens_with_one_name_are_revoked_by_id(api: RunningApi) -> None:
    api.token("viewer", "twin")
    api.token("viewer", "twin")
    assert code_of(api.client("admin").delete("/api/v1/tokens/twin")) == (409, "ambiguous_token")


def test_the_last_use_of_a_token_is_stored_now_and_then(api: RunningApi, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = api.token("viewer", "used")
    monkeypatch.setattr(access_module, "USE_INTERVAL", 0.0)
    api.client().get("/api/v1/session", headers=bearer(secret))
    until(lambda: api.core.store.token(digest_of(secret)).last_used_at is not None)  # type: ignore[union-attr]


# -- browsers ---------------------------------------------------------------------------------------------------
def test_a_browser_signs_in_changes_something_and_signs_out(api: RunningApi) -> None:
    secret = api.token("admin", "person")
    with httpx.Client(base_url=api.url) as browser:
        answer = browser.post("/api/v1/session", json={"token": secret})
        assert answer.status_code == 201
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie.replace("Strict", "strict") and secret not in cookie
        session = browser.get("/api/v1/session").json()
        assert session["name"] == "person" and session["csrf_token"] == answer.json()["csrf_token"]
        body = {"name": "by browser", "role": "viewer"}
        assert code_of(browser.post("/api/v1/tokens", json=body)) == (403, "csrf_missing")
        wrong = browser.post("/api/v1/tokens", json=body, headers={CSRF_HEADER: "0" * 64})
        assert code_of(wrong) == (403, "csrf_missing")
        right = browser.post("/api/v1/tokens", json=body, headers={CSRF_HEADER: session["csrf_token"]})
        assert right.status_code == 201
        jar = browser.cookies[COOKIE]
        assert browser.delete("/api/v1/session", headers={CSRF_HEADER: session["csrf_token"]}).status_code == 204
        assert COOKIE not in browser.cookies
        again = browser.get("/api/v1/session", headers={"Cookie": f"{COOKIE}={jar}"})
        assert code_of(again)[0] == 401


def test_a_session_ends_with_its_token(api: RunningApi) -> None:
    secret = api.token("viewer", "leaver")
    with httpx.Client(base_url=api.url) as browser:
        assert browser.post("/api/v1/session", json={"token": secret}).status_code == 201
        api.client("admin").delete("/api/v1/tokens/leaver")
        assert code_of(browser.get("/api/v1/session")) == (401, "revoked_token")
        # The cookie that is left does not keep the browser from signing in again.
        assert browser.post("/api/v1/session", json={"token": api.token("viewer")}).status_code == 201


def test_the_code_of_a_link_signs_in_once(api: RunningApi) -> None:
    row = api.core.store.token(digest_of(api.token("operator", "linked")))
    assert row is not None
    code = api.context.access.new_code(row)
    with httpx.Client(base_url=api.url) as browser:
        first = browser.post("/api/v1/session", json={"code": code})
        assert first.status_code == 201 and first.json()["role"] == "operator"
    assert code_of(api.client().post("/api/v1/session", json={"code": code})) == (401, "unknown_code")
    assert code_of(api.client().post("/api/v1/session", json={"code": "x"})) == (401, "unknown_code")


@pytest.mark.parametrize("body", [{}, {"token": "a", "code": "b"}, {"password": "x"}])
def test_a_sign_in_with_something_else_is_refused(api: RunningApi, body: dict[str, str]) -> None:
    assert code_of(api.client().post("/api/v1/session", json=body)) == (422, "invalid_request")


def test_a_session_is_no_token(api: RunningApi) -> None:
    with httpx.Client(base_url=api.url) as browser:
        browser.post("/api/v1/session", json={"token": api.token("viewer", "twice")})
        session = browser.cookies[COOKIE]
    assert code_of(api.client().post("/api/v1/session", json={"token": session})) == (401, "unknown_token")
    assert code_of(api.client().get("/api/v1/session", headers={"Cookie": f"{COOKIE}={api.token('viewer')}"}))[0] == 401


# -- the audit --------------------------------------------------------------------------------------------------
def test_every_change_is_in_the_audit_with_its_actor_and_outcome(api: RunningApi) -> None:
    admin = api.client("admin")
    made = admin.post("/api/v1/tokens", json={"name": "watched", "role": "viewer"}, headers={"X-Request-Id": "req-1"})
    refused = api.client().post("/api/v1/tokens", json={}, headers=bearer(made.json()["secret"]))
    assert code_of(refused) == (403, "role_too_low")
    api.client().post("/api/v1/session", json={"token": "to_guess"})
    failed, denied, done = admin.get("/api/v1/audit", params={"limit": 3}).json()["entries"]
    assert (done["method"], done["target"], done["status"], done["code"]) == ("POST", "/api/v1/tokens", 201, "")
    assert done["actor_name"] == "admin" and done["request_id"] == "req-1" and done["address"] == "127.0.0.1"
    assert (denied["actor"], denied["status"], denied["code"]) == (made.json()["token"]["id"], 403, "role_too_low")
    assert (failed["actor"], failed["status"], failed["code"]) == ("-", 401, "unknown_token")


def test_a_target_that_no_database_stores_is_in_the_audit_all_the_same(api: RunningApi) -> None:
    admin = api.client("admin")
    assert admin.delete("/api/v1/tokens/a%00b%1b%ff").status_code == 404
    assert (
        admin.get("/api/v1/audit", params={"limit": 1})
        .json()["entries"][0]["target"]
        .startswith("/api/v1/tokens/a\\x00b\\x1b")
    )


def test_reads_are_not_in_the_audit(api: RunningApi) -> None:
    admin = api.client("admin")
    before = admin.get("/api/v1/audit", params={"limit": 1}).json()["entries"]
    admin.get("/api/v1/tokens")
    assert admin.get("/api/v1/audit", params={"limit": 1}).json()["entries"] == before


def test_the_audit_is_paged(api: RunningApi) -> None:
    admin = api.client("admin")
    for number in range(3):
        admin.post("/api/v1/tokens", json={"name": f"page {number}", "role": "viewer"})
    first = admin.get("/api/v1/audit", params={"limit": 2}).json()
    second = admin.get("/api/v1/audit", params={"limit": 2, "before": first["next"]}).json()
    ids = [entry["id"] for entry in first["entries"] + second["entries"]]
    assert ids == sorted(set(ids), reverse=True) and len(ids) == 4


# -- before a route is reached ----------------------------------------------------------------------------------
def test_every_answer_has_security_headers_and_a_request_id(api: RunningApi) -> None:
    for path in ("/healthz", "/sign-in", "/nope", "/api/v1/session"):
        headers = api.client().get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer" and len(headers["x-request-id"]) == 16
        assert "server" not in headers and "access-control-allow-origin" not in headers


def test_a_request_id_is_kept_if_it_can_be_logged(api: RunningApi) -> None:
    client = api.client()
    assert client.get("/healthz", headers={"X-Request-Id": "abc-1"}).headers["x-request-id"] == "abc-1"
    assert client.get("/healthz", headers={"X-Request-Id": "a b"}).headers["x-request-id"] != "a b"
    answer = client.get("/nope", headers={"X-Request-Id": "abc-2"})
    assert answer.json()["request_id"] == "abc-2"


@pytest.mark.parametrize(
    ("method", "path", "options", "expected"),
    [
        ("GET", "/nope", {}, (404, "unknown_route")),
        ("GET", "/api/nope", {}, (404, "unknown_route")),
        ("POST", "/healthz", {}, (405, "method_not_allowed")),
        ("OPTIONS", "/api/v1/tokens", {}, (405, "method_not_allowed")),
        ("GET", "/api/v1/session", {"headers": {"Host": "evil.example"}}, (421, "host_not_allowed")),
        (
            "POST",
            "/api/v1/session",
            {"json": {}, "headers": {"Origin": "http://evil.example"}},
            (403, "origin_not_allowed"),
        ),
        (
            "POST",
            "/api/v1/session",
            {"content": b"{", "headers": {"Content-Type": "application/json"}},
            (400, "malformed_request"),
        ),
        (
            "POST",
            "/api/v1/session",
            {"content": b"x", "headers": {"Content-Type": "text/plain"}},
            (415, "unsupported_media_type"),
        ),
        ("POST", "/api/v1/session", {"json": [1]}, (422, "invalid_request")),
        ("GET", "/api/v1/../../etc/passwd", {}, (404, "unknown_route")),
    ],
)
def test_what_cannot_be_served_is_a_problem_document(
    api: RunningApi, method: str, path: str, options: dict[str, object], expected: tuple[int, str]
) -> None:
    assert code_of(api.client().request(method, path, **options)) == expected  # type: ignore[arg-type]


def test_the_openapi_document_and_its_viewer_need_a_token(api: RunningApi) -> None:
    for path in ("/api/openapi.json", "/api/docs", "/api/viewer.js", "/metrics"):
        assert code_of(api.client().get(path)) == (401, "no_token")
        assert api.client("viewer").get(path).status_code == 200
    document = api.client("viewer").get("/api/openapi.json").json()
    assert document["openapi"].startswith("3.1") and "/api/v1/tokens" in document["paths"]
    page = api.client("viewer").get("/api/docs").text
    assert "http://" not in page and "https://" not in page


def test_unknown_paths_below_the_api_are_problem_documents(api: RunningApi) -> None:
    assert code_of(api.client("viewer").get("/api/nope")) == (404, "unknown_route")
    nowhere = api.client("viewer").get("/api/v1/nope/nope")
    assert code_of(nowhere) == (404, "unknown_route") and "'/api/v1/nope/nope'" in nowhere.json()["detail"]


def test_a_method_that_a_path_does_not_have_is_answered_with_those_that_it_has(api: RunningApi) -> None:
    answer = api.client("admin").delete("/api/v1/workflows")
    assert code_of(answer) == (405, "method_not_allowed") and "DELETE" in answer.json()["detail"]
    assert "GET" in answer.headers["allow"]


# -- settings ---------------------------------------------------------------------------------------------------
def test_a_body_above_the_limit_is_refused_declared_or_not() -> None:
    with running_api(settings=ServerSettings(port=0, max_body_bytes=1_000)) as api:
        body = b'{"name": "' + 2_000 * b"x" + b'"}'
        headers = {"Content-Type": "application/json"}
        admin = api.client("admin")
        refused = admin.post("/api/v1/tokens", content=body, headers=headers)
        assert code_of(refused) == (413, "body_too_large")
        assert "1,000 bytes" in refused.json()["detail"] and refused.json()["limit"] == 1_000
        chunks = (body[at : at + 500] for at in range(0, len(body), 500))
        assert code_of(admin.post("/api/v1/tokens", content=chunks, headers=headers)) == (413, "body_too_large")


def test_callers_on_this_machine_may_read_metrics_if_that_is_set() -> None:
    with running_api(settings=ServerSettings(port=0, open_to_loopback=True)) as api:
        client = api.client()
        assert client.get("/metrics").status_code == 200 and client.get("/api/openapi.json").status_code == 200
        assert code_of(client.get("/metrics", headers={"X-Forwarded-For": "192.0.2.1"})) == (401, "no_token")
        assert code_of(client.get("/api/v1/tokens")) == (401, "no_token")


def test_with_insecure_local_every_caller_on_this_machine_is_an_admin() -> None:
    with running_api(settings=ServerSettings(port=0, insecure_local=True)) as api:
        client = api.client()
        assert client.post("/api/v1/tokens", json={"name": "x", "role": "viewer"}).status_code == 201
        assert client.get("/api/v1/audit").json()["entries"][0]["actor_name"] == "local"
        assert code_of(client.get("/api/v1/tokens", headers={"Host": "evil.example"})) == (421, "host_not_allowed")
        foreign = client.post("/api/v1/tokens", json={}, headers={"Origin": "http://evil.example"})
        assert code_of(foreign) == (403, "origin_not_allowed")
        assert code_of(client.get("/api/v1/tokens", headers=bearer("to_x"))) == (401, "unknown_token")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_a_server_with_a_certificate_speaks_tls(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", *subject]
    subprocess.run([*made, "-keyout", key, "-out", certificate, "-days", "1"], check=True, capture_output=True)
    settings = ServerSettings(port=0, tls_certificate=str(certificate), tls_key=str(key))
    with running_api(settings=settings) as api:
        assert api.url.startswith("https://")
        trusted = ssl.create_default_context(cafile=str(certificate))
        with httpx.Client(base_url=api.url, verify=trusted) as client:
            answer = client.post("/api/v1/session", json={"token": api.token("viewer")})
            assert answer.status_code == 201 and "Secure" in answer.headers["set-cookie"]
            assert answer.headers["strict-transport-security"].startswith("max-age=")
        with pytest.raises(httpx.TransportError):
            httpx.get(api.url.replace("https:", "http:") + "/healthz")


# -- streams ----------------------------------------------------------------------------------------------------
def test_a_stream_ends_within_two_seconds_after_its_token_was_revoked(api: RunningApi) -> None:
    row = api.core.store.token(digest_of(api.token("viewer", "streaming")))
    assert row is not None
    caller = Caller(token_id=row.id, name=row.name, role=row.role, via="token")

    async def follow() -> tuple[str, float]:
        async with api.context.streams.stream(caller) as stream:
            assert stream.reason is None
            await api.context.access.revoke(row.id)
            began = time.monotonic()
            return await stream.end(), time.monotonic() - began

    reason, took = asyncio.run(follow())
    assert reason == "revoked" and took < 2.0 and api.context.streams.open == 0


# -- metrics ----------------------------------------------------------------------------------------------------
@task
def measured(number: int) -> int:
    return number


@workflow
def measuring(number: int) -> int:
    return measured(number)


def test_metrics_count_what_has_ended_since_the_server_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_metrics, "LAG", 0.0)
    with running_api(workflows=[measuring]) as api:
        for number in range(3):
            api.runner.run(measuring, number)
        viewer = api.client("viewer")
        wanted = 'turnout_runs_ended_total{workflow="public::embedded::measuring",state="completed"} 3'
        until(lambda: wanted in viewer.get("/metrics").text)
        text = viewer.get("/metrics").text
        assert "# TYPE turnout_run_duration_seconds histogram" in text
        labels = 'workflow="public::embedded::measuring",executor="default"'
        assert f'turnout_attempts_ended_total{{{labels},state="completed"}} 3' in text
        assert f"turnout_attempt_duration_seconds_count{{{labels}}} 3" in text
        assert text.count("# TYPE turnout_orchestrators ") == 1


def test_metrics_in_open_metrics_end_with_a_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_metrics, "LAG", 0.0)
    with running_api(workflows=[measuring]) as api:
        api.runner.run(measuring, 1)
        viewer = api.client("viewer")
        accept = {"Accept": "application/openmetrics-text; version=1.0.0, text/plain;q=0.5"}
        until(lambda: "turnout_runs_ended_total{" in viewer.get("/metrics", headers=accept).text)
        answer = viewer.get("/metrics", headers=accept)
        assert answer.headers["content-type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
        assert answer.text.endswith("\n# EOF\n") and "# TYPE turnout_runs_ended counter" in answer.text
        assert "\n\n" not in answer.text, "no line is empty"
        assert viewer.get("/metrics").headers["content-type"].startswith("text/plain")
