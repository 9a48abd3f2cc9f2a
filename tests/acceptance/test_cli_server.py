"""``turnout server``, ``dev`` and ``tokens``: real processes, their first token, where they listen, and signals."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from kit.waiting import until

from tests.acceptance.command import Project
from tests.acceptance.terminal import CTRL_C, Terminal
from tests.acceptance.test_cli_orchestrate import Processes, result_of, until_said
from turnout.model.access import TOKEN_PATTERN
from turnout.store import connect

pytestmark = pytest.mark.timeout(900)


class Servers(Processes):
    """Servers of a test, which do not outlive it."""

    def serve(self, *arguments: str, **more: str) -> tuple[subprocess.Popen[str], dict[str, Any]]:
        """A server that is ready, and what it said then."""
        process = self.start("server", "--json", "--port", "0", *arguments, **more)
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        assert line, process.stderr.read()
        return process, json.loads(line)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def servers(project: Project) -> Iterator[Servers]:
    running = Servers(project)
    yield running
    running.end()


def token_in(file: Path) -> str:
    return file.read_text().strip()


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def test_a_server_starts_serves_and_hands_over_at_sigterm(project: Project, servers: Servers) -> None:
    first, ready = servers.serve()
    file = project.folder / ".turnout" / "turnout-admin-token"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with httpx.Client(base_url=ready["url"], headers=bearer(token_in(file))) as admin:
        assert admin.get("/readyz").status_code == 200 and httpx.get(f"{ready['url']}/healthz").status_code == 200
        assert admin.get("/api/v1/session").json()["role"] == "admin"
        assert admin.get("/health/orchestration").json()["coordinator"]["running"] is True
        assert admin.get("/metrics").text.startswith("# HELP turnout_orchestrators")
    run_id = project.run("run", "flows.py:waiting", "-p", "file=go", "--no-wait", "--json").json["run_id"]
    until((project.folder / "go.waiting").exists)
    first.send_signal(signal.SIGTERM)
    until_said(first, "handing over")
    (project.folder / "go").touch()
    done = project.finish(first)
    assert done.code == 0 and "Traceback" not in done.err, done.err
    _, ready = servers.serve()
    assert result_of(project, run_id) == "came"
    # The token of the first start is the token of the second.
    assert httpx.get(f"{ready['url']}/api/v1/session", headers=bearer(token_in(file))).status_code == 200


UNUSED = {
    "attr",
    "httpx",
    "psycopg",
    "pydantic",
    "rich",
    "zmq",
    "turnout.cli.run",
    "turnout.testing",
}
"""What a server on SQLite without a hub and without requests does not use, though it is installed."""


def test_a_start_imports_nothing_that_it_does_not_use(project: Project, servers: Servers, tmp_path: Path) -> None:
    imported = tmp_path / "imported"
    with imported.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-X", "importtime", "-m", "turnout", "server", "--json", "--port", "0"],
            cwd=project.folder,
            env=project.environment(),
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
        )
        servers.started.append(process)
        assert process.stdout is not None and json.loads(process.stdout.readline())["url"]
    modules = {line.rpartition("|")[2].strip() for line in imported.read_text().splitlines()}
    assert {"litestar.app", "turnout.store.sqlite", "turnout.runner"} <= modules
    assert not modules & UNUSED


def test_the_first_token_is_shown_once_on_a_terminal(project: Project) -> None:
    arguments = ["server", "--port", "0"]
    first = Terminal(arguments, project.folder, project.environment())
    first.until("ready: ")
    shown = TOKEN_PATTERN.search(first.text)
    assert shown is not None
    url = re.search(r"API (\S+),", first.text)
    assert url is not None and httpx.get(f"{url[1]}/api/v1/session", headers=bearer(shown[0])).status_code == 200
    first.press(CTRL_C)
    assert first.end() == 0
    second = Terminal(arguments, project.folder, project.environment())
    second.until("ready: ")
    assert TOKEN_PATTERN.search(second.text) is None
    second.press(CTRL_C)
    assert second.end() == 0
    assert not list(project.folder.glob("**/turnout-admin-token*"))


def test_two_servers_that_start_at_once_make_one_token(project: Project, servers: Servers, postgres_url: str) -> None:
    started = [servers.start("server", "--json", "--port", "0", "-d", postgres_url) for _ in range(2)]
    ready: list[dict[str, Any]] = []
    for process in started:
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        assert line, process.stderr.read()
        ready.append(json.loads(line))
    store = connect(postgres_url)
    store.open()
    rows = store.tokens()
    store.close()
    assert [(row.name, str(row.role)) for row in rows] == [("first", "admin")]
    file = project.folder / "turnout-admin-token"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for each in ready:
        assert httpx.get(f"{each['url']}/api/v1/session", headers=bearer(token_in(file))).status_code == 200
    assert list(project.folder.glob("turnout-admin-token*")) == [file]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--host", "0.0.0.0"), "bind_without_tls"),
        (("--host", "0.0.0.0", "--insecure-local"), "insecure_bind"),
        (("--host", "0.0.0.0", "--insecure-local", "--behind-proxy"), "insecure_bind"),
        (("--tls-cert", "c.pem"), "incomplete_tls"),
        (("--tls-cert", "none.pem", "--tls-key", "none.pem"), "bad_certificate"),
        (("--host", "256.1.1.1", "--behind-proxy"), "address_unavailable"),
        (("--port", "70000"), "invalid_setting"),
    ],
)
def test_what_would_be_unsafe_or_cannot_work_is_refused_at_start(
    project: Project, arguments: tuple[str, ...], code: str
) -> None:
    done = project.run("server", "--json", *(() if "--port" in arguments else ("--port", "0")), *arguments)
    assert (done.code, done.error["code"]) == (2, code), done


def test_a_certificate_that_is_not_there_is_named_before_anything_is_stored(project: Project) -> None:
    (project.folder / "key.pem").write_text("no key")
    done = project.run("server", "--json", "--port", "0", "--tls-cert", "none.pem", "--tls-key", "key.pem")
    assert (done.code, done.error["code"]) == (2, "bad_certificate")
    assert "server.tls_certificate is 'none.pem', which cannot be read" in done.error["message"]
    (project.folder / "none.pem").write_text("no certificate")
    done = project.run("server", "--json", "--port", "0", "--tls-cert", "none.pem", "--tls-key", "key.pem")
    assert (done.code, done.error["code"]) == (2, "bad_certificate") and "'key.pem'" in done.error["message"]
    assert not list(project.folder.rglob("turnout-admin-token")) and not list(project.folder.rglob("*.db"))


def test_a_server_without_any_usable_token_is_refused_unless_it_is_asked_for(
    project: Project, servers: Servers
) -> None:
    made = project.run("tokens", "create", "ops", "--role", "admin", "--json").json
    assert TOKEN_PATTERN.fullmatch(made["secret"])
    assert project.run("tokens", "revoke", made["token"]["id"], "--json").json["state"] == "revoked"
    done = project.run("server", "--json", "--port", "0")
    assert (done.code, done.error["code"]) == (2, "no_tokens") and "turnout tokens create" in done.error["message"]
    _, ready = servers.serve("--insecure-local")
    assert httpx.get(f"{ready['url']}/api/v1/tokens").json()["tokens"][0]["name"] == "ops"


def test_a_port_that_is_taken_is_refused_before_any_run_is_driven(project: Project, servers: Servers) -> None:
    _, ready = servers.serve()
    done = project.run("server", "--json", "--port", ready["url"].rpartition(":")[2])
    assert (done.code, done.error["code"]) == (2, "address_unavailable")


def test_tokens_are_made_listed_and_revoked(project: Project) -> None:
    made = project.run("tokens", "create", "ci", "--role", "operator", "--expires", "90d")
    assert made.code == 0 and TOKEN_PATTERN.fullmatch(made.out.strip())
    listed = project.run("tokens", "ls", "--json")
    (row,) = listed.json
    assert (row["name"], row["role"], row["state"]) == ("ci", "operator", "usable") and row["expires_at"] is not None
    assert made.out.strip() not in listed.out and "ci" in project.run("tokens").out
    assert "is revoked" in project.run("tokens", "revoke", "ci").out
    again = project.run("tokens", "revoke", "ci", "--json")
    assert (again.code, again.error["code"]) == (2, "token_not_found")
    for wrong, code in ((("--role", "root"), "unknown_role"), (("--expires", "0s"), "invalid_input")):
        done = project.run("tokens", "create", "x", *wrong, "--json")
        assert (done.code, done.error["code"]) == (2, code)
    nameless = project.run("tokens", "create", " ", "--role", "viewer", "--json")
    assert (nameless.code, nameless.error["code"]) == (2, "invalid_input") and "name" in nameless.error["message"]


def test_dev_prints_a_link_that_signs_in_once_and_runs_a_worker(project: Project, servers: Servers) -> None:
    process = servers.start("dev", "--port", "0", "flows.py")
    said = process.stderr
    assert said is not None
    link = until(lambda: re.search(r"sign in, once: (http://127\.0\.0\.1:\d+)/sign-in#code=(\S+)", said.readline()))
    assert link is not None
    url, code = link[1], link[2]
    with httpx.Client(base_url=url) as browser:
        assert "sign-in.js" in browser.get("/sign-in").text
        assert browser.post("/api/v1/session", json={"code": code}).status_code == 201
        assert browser.get("/api/v1/session").json()["role"] == "admin"
        second = httpx.post(f"{url}/api/v1/session", json={"code": code})
        assert (second.status_code, second.json()["code"]) == (401, "unknown_code")
    until_said(process, "has joined: dev")
    (worker,) = project.run("workers", "ls", "--json").json
    process.send_signal(signal.SIGINT)
    assert project.finish(process).code == 0
    until(lambda: not os.path.exists(f"/proc/{worker['pid']}"))
    assert [row["state"] for row in project.run("tokens", "ls", "--json").json] == ["revoked"]


GREETING = """
from turnout import task, workflow


@task
def say(name: str) -> str:
    return f"hello {name}"


@workflow
def greeting(name: str = "Ada") -> str:
    return say(name)
"""


def test_dev_loads_a_changed_file_again_and_keeps_the_last_good_one(project: Project, servers: Servers) -> None:
    file = project.folder / "greeting.py"
    file.write_text(GREETING)
    process = servers.start("dev", "--port", "0", "--no-worker", "greeting.py")
    said = process.stderr
    assert said is not None
    link = until(lambda: re.search(r"(http://127\.0\.0\.1:\d+)/sign-in#code=(\S+)", said.readline()))
    assert link is not None
    with httpx.Client(base_url=link[1], timeout=60) as browser:
        session = browser.post("/api/v1/session", json={"code": link[2]}).json()

        def result() -> object:
            headers = {"X-CSRF-Token": session["csrf_token"]}
            answer = browser.post("/api/v1/runs?wait=30", json={"workflow": "greeting"}, headers=headers)
            assert answer.status_code == 201, answer.text
            return answer.json()["result"]

        assert result() == "hello Ada"
        file.write_text(GREETING.replace("hello", "good morning"))
        until_said(process, "was loaded again")
        assert result() == "good morning Ada"
        file.write_text("def broken(")
        until_said(process, "stays in force")
        assert result() == "good morning Ada"
    process.send_signal(signal.SIGTERM)
    assert project.finish(process).code == 0


def with_drain(project: Project, drain: str) -> None:
    with (project.folder / "turnout.toml").open("a") as config:
        config.write(f'\n[server]\ndrain = "{drain}"\n')


def test_a_server_that_stops_answers_waits_and_refuses_new_runs_before_its_port_closes(
    project: Project, servers: Servers
) -> None:
    with_drain(project, "5s")
    first, ready = servers.serve()
    headers = bearer(token_in(project.folder / ".turnout" / "turnout-admin-token"))
    start = {"workflow": "waiting", "input": {"file": str(project.folder / "go")}}
    with (
        ThreadPoolExecutor(1) as threads,
        httpx.Client(base_url=ready["url"], headers=headers, timeout=60) as admin,
        httpx.Client(base_url=ready["url"], headers=headers, timeout=60) as other,
    ):
        waiting = threads.submit(admin.post, "/api/v1/runs?wait=120", json=start)
        until((project.folder / "go.waiting").exists)
        assert other.get("/readyz").status_code == 200
        first.send_signal(signal.SIGTERM)
        answer = waiting.result(30)
        assert answer.status_code == 201 and answer.json()["ended"] is False, answer.text
        not_ready = other.get("/readyz")
        assert (not_ready.status_code, not_ready.json()["serving"]) == (503, False)
        assert not_ready.headers["connection"] == "close"
        refused = other.post("/api/v1/runs", json=start)
        assert (refused.status_code, refused.json()["code"]) == (503, "server_stopping")
        assert refused.headers["content-type"] == "application/problem+json" and refused.headers["retry-after"]
        run_id = answer.json()["run"]["id"]
        with other.stream("GET", f"/api/v1/runs/{run_id}/events") as events:
            assert "event: closed" in "".join(events.iter_text())
    (project.folder / "go").touch()
    done = project.finish(first)
    assert done.code == 0 and "Traceback" not in done.err and "Cancel" not in done.err, done.err


def test_a_server_that_nothing_asks_ends_without_a_drain(project: Project, servers: Servers) -> None:
    with_drain(project, "300s")
    first, _ = servers.serve()
    first.send_signal(signal.SIGTERM)
    assert project.finish(first).code == 0


def test_the_next_dev_revokes_the_token_of_one_that_was_killed(project: Project, servers: Servers) -> None:
    def start() -> subprocess.Popen[str]:
        process = servers.start("dev", "--port", "0", "--no-worker", "flows.py")
        until_said(process, "sign in, once")
        return process

    def states() -> list[str]:
        return sorted(row["state"] for row in project.run("tokens", "ls", "--json").json)

    killed = start()
    killed.kill()
    killed.wait()
    assert states() == ["usable"]
    second = start()
    assert states() == ["revoked", "usable"]
    start()
    assert states() == ["revoked", "usable", "usable"], "the second one still runs"
    second.send_signal(signal.SIGTERM)
    assert project.finish(second).code == 0


def test_a_server_shows_lines_with_their_run_and_task(project: Project, servers: Servers) -> None:
    process, _ = servers.serve()
    run_id = project.run("enqueue", "flows.py:doubling", "--json").json["run_id"]
    until_said(process, f"{run_id[:23]} double │ doubling 21")


def test_the_worker_of_dev_keeps_the_last_good_file_and_loads_it_when_it_is_mended(
    project: Project, servers: Servers
) -> None:
    file = project.folder / "greeting.py"
    file.write_text(GREETING)
    process = servers.start("dev", "--port", "0", "greeting.py", TURNOUT_DEFAULT_EXECUTION_MODE="distributed")
    said = process.stderr
    assert said is not None
    link = until(lambda: re.search(r"(http://127\.0\.0\.1:\d+)/sign-in#code=(\S+)", said.readline()))
    assert link is not None
    until_said(process, "has joined: dev")
    with httpx.Client(base_url=link[1], timeout=60) as browser:
        session = browser.post("/api/v1/session", json={"code": link[2]}).json()

        def result() -> object:
            headers = {"X-CSRF-Token": session["csrf_token"]}
            answer = browser.post("/api/v1/runs?wait=30", json={"workflow": "greeting"}, headers=headers)
            assert answer.status_code == 201, answer.text
            return answer.json()["result"]

        assert result() == "hello Ada"
        file.write_text("def broken(")
        until_said(process, "the local worker keeps what it loaded before")
        assert result() == "hello Ada"
        file.write_text(GREETING.replace("hello", "good morning"))
        until_said(process, "has joined: dev")
        assert result() == "good morning Ada"
    process.send_signal(signal.SIGTERM)
    assert project.finish(process).code == 0
