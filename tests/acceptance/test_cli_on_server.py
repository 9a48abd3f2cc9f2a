"""The same commands on a server: what they print, their errors, and their exit codes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from kit.waiting import until

from tests.acceptance.command import Done, Project
from tests.acceptance.terminal import Terminal
from tests.acceptance.test_cli_orchestrate import Processes

pytestmark = pytest.mark.timeout(900)

TRIGGER = "public::embedded::fulfil::new_orders"
POLLED = """
from turnout import Event, task, trigger, workflow

@task
def ship(order: int) -> int:
    return order

@workflow
def fulfil(order: int) -> int:
    return ship(order)

@trigger(every="1h", workflow=fulfil)
def new_orders() -> list[Event]:
    return [Event("order-7", order=7)]
"""


class Client(Processes):
    """A server with the workflows of a project, and commands that use it from another folder."""

    def __init__(self, folder: Path, elsewhere: Path, *arguments: str, **more: str) -> None:
        super().__init__(Project(folder))
        elsewhere.mkdir()
        self.server = self.start("server", "--json", "--port", "0", *arguments, **more)
        assert self.server.stdout is not None and self.server.stderr is not None
        line = self.server.stdout.readline()
        assert line, self.server.stderr.read()
        self.url = json.loads(line)["url"]
        self.token = folder / ".turnout" / "turnout-admin-token"
        self.elsewhere = Project(elsewhere)
        for name in ("flows.py", "deaf.py", "turnout.toml"):
            (elsewhere / name).unlink()

    def follow(self, *arguments: str) -> subprocess.Popen[str]:
        """A command that uses the server, while it runs."""
        command = [sys.executable, "-m", "turnout", *arguments, "--server", self.url, "--token-file", str(self.token)]
        environment = self.elsewhere.environment(PYTHONUNBUFFERED="1")
        process = subprocess.Popen(
            command,
            cwd=self.elsewhere.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.started.append(process)
        return process

    def run(self, *arguments: str, **more: str) -> Done:
        variables = {"TURNOUT_SERVER": self.url, "TURNOUT_TOKEN_FILE": str(self.token), **more}
        return self.elsewhere.run(*arguments, **{name: value for name, value in variables.items() if value})


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("served")
    made = Client(folder, folder / "elsewhere")
    assert made.run("run", "doubling").code == 0
    yield made
    made.end()


def test_a_run_is_displayed_until_it_ends_and_its_result_is_printed(client: Client) -> None:
    done = client.run("run", "doubling", "-p", "number=5")
    assert done.code == 0 and done.out.endswith("it is 10\n"), done
    assert "double │ doubling 5" in done.out and "✓ tell" in done.out
    as_json = client.run("run", "doubling", "--json", "--input", '{"number": 6}').json
    assert (as_json["state"], as_json["result"], as_json["warnings"]) == ("completed", "it is 12", [])
    assert not list((client.elsewhere.folder).glob("**/*.db")), "nothing is stored here"


def test_a_terminal_shows_the_tree_of_a_run_of_a_server(client: Client) -> None:
    variables = {"TURNOUT_SERVER": client.url, "TURNOUT_TOKEN_FILE": str(client.token)}
    shown = Terminal(["run", "doubling"], client.elsewhere.folder, client.elsewhere.environment(**variables))
    shown.until("it is 42")
    assert shown.end() == 0
    assert "doubling  run " in shown.text and "✓ check" in shown.text and "small" in shown.text, shown.text


def test_a_run_that_fails_has_the_output_and_the_exit_code_of_a_local_one(client: Client) -> None:
    done = client.run("run", "doubling", "-p", "number=60")
    assert done.code == 1 and "✗ check after 2 attempts: ValueError: 120 is more than 100" in done.err, done
    assert "error[run_failed]" in done.err and "hint: turnout logs" in done.err
    as_json = client.run("run", "doubling", "-p", "number=60", "--json")
    assert as_json.code == 1 and as_json.error["code"] == "run_failed"
    assert as_json.json["failures"][0]["type"] == "ValueError"
    shown = client.run("runs", "show", as_json.json["run_id"], "--attempts")
    assert "✗ check attempt 2: ValueError" in shown.out and "check#2 │ checking 120" in shown.out
    output = client.run("runs", "output", "last", "--json")
    assert (output.code, output.error["code"]) == (1, "run_failed")
    again = client.run("runs", "rerun", "last", "-p", "limit=500")
    assert again.code == 0 and again.out.endswith("it is 120\n"), again


def test_runs_are_listed_shown_and_read(client: Client) -> None:
    run_id = client.run("run", "doubling", "--json").json["run_id"]
    listed, shown, output, of_task, history, lines = (
        client.run(*command, "--json")
        for command in (
            ["runs", "ls", "--limit", "1"],
            ["runs", "show", run_id[:18]],
            ["runs", "output", "last"],
            ["runs", "output", "last", "double"],
            ["runs", "history", "last"],
            ["logs", "last", "double"],
        )
    )
    assert [run["id"] for run in listed.json] == [run_id]
    local = client.project.run("runs", "show", run_id, "--json").json
    assert shown.json == {**local, "tasks": shown.json["tasks"]}
    assert [task["name"] for task in shown.json["tasks"]] == [task["name"] for task in local["tasks"]]
    assert [task["attempts"] for task in shown.json["tasks"]] == [task["attempts"] for task in local["tasks"]]
    assert (output.json["output"], of_task.json["output"]) == ("it is 42", 42)
    moves = client.project.run("runs", "history", run_id, "--json").json["moves"]
    assert history.json == {"run_id": run_id, "moves": moves[1:]}, "all but the submission itself"
    assert json.loads(lines.out)["text"] == "doubling 21"
    assert client.run("runs", "show", "last").out == client.project.run("runs", "show", "last").out


def test_open_runs_are_controlled_and_followed(client: Client) -> None:
    file = client.project.folder / "go"
    stored = client.run("enqueue", "waiting", "-p", f"file={file}", "--key", "the-one", "--json").json
    until(Path(f"{file}.waiting").exists)
    run_id = stored["run_id"]
    assert client.run("enqueue", "waiting", "-p", f"file={file}", "--key", "the-one", "-q").out.strip() == run_id
    other = client.run("enqueue", "waiting", "-p", "file=other", "--key", "the-one", "--json")
    assert (other.code, other.error["code"]) == (2, "idempotency_conflict")
    assert client.run("runs", "pause", run_id, "--json").json["state"] == "paused"
    file.touch()
    assert client.run("runs", "resume", run_id, "--json").json["state"] == "running"
    followed = client.run("logs", run_id, "--follow")
    assert followed.code == 0 and "after │ came" in followed.out
    never = client.run("enqueue", "waiting", "-p", "file=never", "--json").json["run_id"]
    open_run = client.run("runs", "delete", never, "-y", "--json")
    assert (open_run.code, open_run.error["code"]) == (2, "run_not_finished")
    assert client.run("runs", "cancel", never, "--reason", "enough").code == 0
    until(lambda: client.run("runs", "show", never, "--json").json["state"] == "cancelled")
    assert client.run("runs", "output", never).code == 3
    assert client.run("runs", "delete", never, "--yes").out.strip() == f"deleted run {never}"


def test_webhooks_are_made_rotated_and_deleted(client: Client) -> None:
    address = client.run("hooks", "create", "shop", "doubling", "--map", "number=$.order.count").out.strip()
    assert address.startswith(f"{client.url}/api/v1/hooks/th_"), address
    assert address.removeprefix(client.url) not in client.run("hooks", "ls", "--json").out
    assert httpx.post(address, json={"order": {"count": 4}}).status_code == 202
    assert "doubling" in client.run("hooks", "ls").out
    rotated = client.run("hooks", "rotate", "shop", "--json").json
    assert rotated["url"] != address and httpx.post(address, json={}).status_code == 404
    done = client.run("hooks", "create", "bad", "doubling", "--map", "numer=$.x", "--json")
    assert (done.code, done.error["code"]) == (2, "unknown_parameter")
    assert client.run("hooks", "delete", "shop").code == 0 and "no webhooks" in client.run("hooks").out
    assert client.run("hooks", "delete", "shop", "--json").error["code"] == "webhook_not_found"
    # On the database itself, as beside the server.
    here = client.project.run("hooks", "create", "local", "doubling", "--secret", "env:KEY", "--json").json
    assert here["webhook"]["signature"] == {"secret": "env:KEY", "scheme": "github"}
    assert client.run("hooks", "delete", here["webhook"]["id"]).code == 0
    for arguments, code, error in (
        (["unsigned", "doubling", "--scheme", "standard"], 2, "bad_webhook"),
        (["nowhere", "doublin"], 2, "workflow_not_found"),
        (["nothing", "doubling", "-d", "sqlite:///nothing.db"], 5, "database_not_found"),
    ):
        refused = client.project.run("hooks", "create", *arguments, "--json")
        assert (refused.code, refused.error["code"]) == (code, error), refused
    assert not (client.project.folder / "nothing.db").exists()


def test_triggers_are_listed_paused_resumed_and_polled(tmp_path: Path) -> None:
    (tmp_path / "polled.py").write_text(POLLED)
    client = Client(tmp_path, tmp_path / "elsewhere", "polled.py")
    try:
        run = client.run
        until(lambda: run("triggers", "ls", "--json").json[0]["polls"])
        assert run("triggers", "pause", "new_orders").out == f"trigger {TRIGGER} is paused\n"
        listed = run("triggers").out
        assert "new_orders" in listed and "3600 s" in listed and "paused by" in listed
        refused = run("triggers", "poll", "new_orders", "--json")
        assert (refused.code, refused.error["code"]) == (2, "trigger_paused")
        # On the database itself, as beside the server.
        assert client.project.run("triggers", "resume", TRIGGER, "--json").json["paused_by"] is None
        assert client.project.run("triggers", "poll", "new_orders").out == f"trigger {TRIGGER} is due now\n"
        missing = client.project.run("triggers", "pause", "new_order", "--json")
        assert (missing.code, missing.error["code"]) == (2, "trigger_not_found")
        assert len(client.run("runs", "ls", "--workflow", "fulfil", "--json").json) == 1, "one key, one run"
    finally:
        client.end()


def test_workflows_workers_and_tokens(client: Client) -> None:
    explained = client.run("explain", "doubling", "--json").json
    assert {each["task"]: each["executor"] for each in explained}["check"] == "small"
    assert "rule 1" in client.run("explain", "doubling", "check").out
    assert client.run("workers", "ls").out == "no workers\n"
    drained = client.run("workers", "drain", "nobody", "--json")
    assert (drained.code, drained.error["code"]) == (2, "worker_not_found")
    secret = client.run("tokens", "create", "ci", "--role", "viewer").out.strip()
    assert "ci" in client.run("tokens", "ls").out and secret not in client.run("tokens", "ls", "--json").out
    refused = client.run("run", "doubling", "--json", TURNOUT_TOKEN=secret, TURNOUT_TOKEN_FILE="")
    assert (refused.code, refused.error["code"]) == (2, "role_too_low")
    assert client.run("runs", "ls", TURNOUT_TOKEN=secret, TURNOUT_TOKEN_FILE="").code == 0
    assert client.run("tokens", "revoke", "ci").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (["run", "nowhere"], 2, "workflow_not_found"),
        (["run", "flows.py:doubling"], 2, "not_on_a_server"),
        (["run", "doubling", "-p", "number=many"], 2, "invalid_parameter"),
        (["run", "doubling", "-p", "colour=red"], 2, "unknown_parameter"),
        (["run", "doubling", "-p", "number=1", "--priority", "2000"], 2, "bad_priority"),
        (["runs", "show", "ffffffff"], 2, "run_not_found"),
        (["runs", "output", "last", "nothing"], 2, "unknown_task"),
        (["explain", "doubling", "--hub", "tcp://127.0.0.1:1"], 2, "invalid_input"),
        (["runs", "ls", "--server", "127.0.0.1:8470"], 2, "bad_server_url"),
        (["runs", "ls", "--server", "http://turnout.example.org"], 2, "insecure_server_url"),
        (["runs", "ls", "--server", "http://127.0.0.1:1"], 5, "server_unreachable"),
        (["runs", "ls", "--token-file", "nothing"], 2, "bad_token_file"),
        (["runs", "ls", "--server", "http://127.0.0.1:1", "-d", "sqlite:///x.db"], 2, "two_places"),
        (["runs", "resume", "last", "--here"], 2, "invalid_input"),
        (["runs", "rerun", "last", "--target", "flows.py"], 2, "invalid_input"),
        (["logs", "last", "--attempt", "99"], 2, "no_such_attempt"),
    ],
)
def test_what_cannot_work_has_a_code_and_an_exit_code(
    client: Client, arguments: list[str], code: int, error: str
) -> None:
    done = client.run(*arguments, "--json")
    assert (done.code, done.error["code"]) == (code, error), done


def test_a_database_that_is_given_prevails_over_the_server_of_the_environment(client: Client) -> None:
    done = client.run("runs", "ls", "--json", "--database", client.project.database)
    assert done.code == 0 and done.json
    without = client.run("runs", "ls", "--json", TURNOUT_TOKEN_FILE="")
    assert (without.code, without.error["code"]) == (2, "no_token") and "--token-file" in without.error["hint"]


def test_strict_selectors_are_answered_with_503_and_exit_code_5(tmp_path: Path) -> None:
    (tmp_path / "film.py").write_text(
        "from turnout import task, workflow\n\n\n"
        "@task\ndef render() -> str:\n    return 'done'\n\n\n"
        "@workflow(worker_selector={'gpu': 'true'})\ndef film() -> str:\n    return render()\n"
    )
    strict = Client(
        tmp_path, tmp_path / "elsewhere", TURNOUT_STRICT_SELECTORS="true", TURNOUT_WORKFLOWS='["film.py", "flows.py"]'
    )
    try:
        for command in ("run", "enqueue"):
            done = strict.run(command, "film", "--json")
            assert (done.code, done.error["code"]) == (5, "selector_without_hub"), done
        assert strict.run("runs", "ls", "--json").json == []
        assert "are refused: worker_selector {gpu=true} on the workflow" in strict.run("explain", "film").out
        assert strict.run("run", "doubling").code == 0, "the others run"
    finally:
        strict.end()


PLACES = """
from turnout import task, workflow


@task
def tell() -> None: ...


@task(worker_selector={"zone": "south"})
def elsewhere() -> None: ...


@workflow(on_failure=tell)
def quick(number: int = 1) -> None:
    tell()


@workflow
def southern() -> None:
    elsewhere()
"""


@pytest.fixture
def hub_client(tmp_path: Path) -> Iterator[Client]:
    (tmp_path / "places.py").write_text(PLACES)
    made = Client(
        tmp_path, tmp_path / "elsewhere", "--hub", "tcp://127.0.0.1:0", TURNOUT_WORKFLOWS='["places.py", "flows.py"]'
    )
    yield made
    made.end()


def comparable(text: str) -> list[str]:
    """What a command said, without the ids and times that differ from run to run."""
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]+", "ID", text)
    return [re.sub(r" +", " ", re.sub(r"[0-9.]+ ?m?s\b", "TIME", line)) for line in text.splitlines()]


def test_a_server_shows_executors_skips_and_waits_as_a_database_does(hub_client: Client) -> None:
    remote, local = hub_client.run("run", "quick"), hub_client.project.run("run", "places.py:quick")
    assert "on_failure.tell" in remote.out, remote
    assert comparable(remote.out) == comparable(local.out)
    said = hub_client.follow("run", "southern").stdout
    assert said is not None
    lines: list[str] = []
    until(lambda: lines.append(said.readline()) or "no_worker_matches: " in lines[-1])
    assert any("elsewhere" in line and "waits for a worker with zone=south" in line for line in lines), lines
    assert "Start a worker with this handler and these labels" in lines[-1]
    shown = (commands.run("runs", "show", "last").out for commands in (hub_client, hub_client.project))
    assert comparable(next(shown)) == comparable(next(shown))
    followed = hub_client.follow("logs", "last", "--follow").stdout
    assert followed is not None
    until(lambda: "waits for a worker with zone=south" in followed.readline())
    assert hub_client.run("runs", "cancel", "last").code == 0
    assert "cancelled" in said.read()
