"""Workflow files of every kind, run on one Runner: each says in its own text how it must end.

A case is ``=== name``, the file, and lines that begin with ``-->``. ``@TMP`` is a folder, ``@HTTP`` a server.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.integration import yaml_tasks
from turnout import Runner
from turnout.authoring.yaml.compiler import compile_file
from turnout.errors import InputError

FOLDER = Path(__file__).parent / "yaml_runs"
SECRET = "secret-from-env"


class Case(NamedTuple):
    name: str
    text: str
    expected: list[tuple[str, str]]

    def given(self, word: str) -> list[str]:
        return [rest for each, rest in self.expected if each == word]


def cases() -> list[Case]:
    found: list[Case] = []
    for file in sorted(FOLDER.glob("*.txt")):
        for part in file.read_text().split("=== ")[1:]:
            name, _, rest = part.partition("\n")
            lines = rest.splitlines()
            marks = [line.removeprefix("--> ").partition(" ") for line in lines if line.startswith("-->")]
            text = "\n".join(line for line in lines if not line.startswith("-->"))
            found.append(Case(name, text, [(word, rest) for word, _, rest in marks]))
    return found


CASES = cases()


class Handler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None: ...

    def _answer(self, status: int, document: Any, **headers: str) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/items":
            self._answer(200, {"items": [1, 2]})
        elif path == "/moved":
            self._answer(302, {}, Location="/items")
        elif path == "/slow":
            time.sleep(3)
        elif path == "/echo":
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length) or "null")
            self._answer(200, {"body": body, "headers": {name.lower(): value for name, value in self.headers.items()}})
        else:
            self._answer(404, {"error": "nothing here"})

    do_POST = do_GET


class Ended(NamedTuple):
    """What a case came to."""

    state: str
    run: Any = None
    code: str = ""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("yaml")


@pytest.fixture(scope="module")
def ended(root: Path) -> Iterator[dict[str, Ended]]:
    """Every case, submitted at once and run to its end."""
    patch = pytest.MonkeyPatch()
    patch.setenv("YAML_TEST_SECRET", SECRET)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    declared = (yaml_tasks.add, yaml_tasks.join, yaml_tasks.described, yaml_tasks.broken)
    tasks = {f"yaml_tasks:{each.name}": each for each in declared}
    found: dict[str, Ended] = {}
    workflows: list[Any] = []
    with Runner(f"sqlite:///{root}/runs.db", workflows=[]) as runner:
        handles = {}
        for number, case in enumerate(CASES):
            folder = root / str(number)
            folder.mkdir()
            for each in case.given("file"):
                name, _, text = each.partition(" ")
                (folder / name).write_text(text.encode().decode("unicode_escape"))

            def filled(text: str, folder: Path = folder) -> str:
                return text.replace("@TMP", str(folder)).replace("@HTTP", f"http://127.0.0.1:{server.server_port}")

            # Every case has names of its own: the sub-workflows of many are called alike.
            text = filled(case.text)
            for name in ("child", "middle", "inner"):
                text = text.replace(f"name: {name}\n", f"name: {name}{number}\n")
                text = text.replace(f"call: {name}", f"call: {name}{number}").replace(
                    f"run: {name}", f"run: {name}{number}"
                )
            compiled = compile_file(text, name=f"case{number}", tasks=tasks)
            errors = [each for each in compiled.findings if each.severity == "error"]
            assert not errors, (case.name, errors)
            workflows += compiled.workflows
            input = json.loads(filled(*(case.given("input") or ["{}"])))
            try:
                handles[case.name] = runner.submit_with(compiled.workflows[0], input=input)
            except InputError as error:
                found[case.name] = Ended("refused", code=error.code)
        for name, handle in handles.items():
            found[name] = Ended(str(handle.wait(timeout=60)), handle)
        yield found
    server.shutdown()
    server.server_close()
    patch.undo()


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_workflow_file_ends_as_it_must(case: Case, ended: dict[str, Ended]) -> None:
    end = ended[case.name]
    if case.given("refused"):
        assert (end.state, end.code) == ("refused", case.given("refused")[0])
        return
    run = end.run
    tasks = {each.name: each for each in run.tasks()}
    shown = {name: (str(each.state), each.reason, each.error and each.error.message) for name, each in tasks.items()}
    [state] = [word for word, _ in case.expected if word in ("completed", "failed")]
    assert end.state == state, shown
    checked = 1
    for word, rest in case.expected:
        name, _, text = rest.partition(" ")
        match word:
            case "completed" if rest:
                assert run.result() == json.loads(rest), shown
            case "result":
                found = run.result()[name]
                assert (found if isinstance(found, str) else json.loads(json.dumps(found))) in (text, _json(text))
            case "tasks":
                wanted = dict(pair.split("=") for pair in rest.split())
                assert {each: str(tasks[each].state) for each in wanted} == wanted, shown
            case "reason":
                assert tasks[name].reason == text, shown
            case "run-reason":
                assert run.status().reason == rest
            case "error":
                assert text in ((tasks[name].error and tasks[name].error.message) or ""), shown
            case "error-code":
                assert tasks[name].error.code == text
            case "log":
                assert rest in [line.text for line in run.logs()]
            case "no-log":
                assert not [line for line in run.logs() if rest in line.text]
                assert rest not in json.dumps(shown)
            case _:
                continue
        checked += 1
    assert checked >= 1


def test_no_secret_is_stored(ended: dict[str, Ended], root: Path) -> None:
    stored = b"".join(path.read_bytes() for path in root.glob("runs.db*"))
    assert b"half-a-secret; exit 2" in stored, "the command itself is part of the file"
    written = b'"expected":"' + SECRET.encode(), b'"$TOKEN\\" = ' + SECRET.encode()
    for each in written:
        stored = stored.replace(each, b"")
    assert b"file-p4ssword" not in stored
    assert SECRET.encode() not in stored


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return None
