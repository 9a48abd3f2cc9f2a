"""Commands, shells, scripts, requests and fan-outs, in every form."""

from __future__ import annotations

import pytest

from tests.kit.workflow_text import error_of, notes_of, step_of, workflow_of
from turnout.authoring.yaml.commands import Command
from turnout.authoring.yaml.fan_out import Parallel
from turnout.authoring.yaml.http_request import HttpRequest


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("command: echo hello", ("echo hello",)),
        ("command: make", ("make",)),
        ("command: 5", ("5",)),
        ("command: [echo, hello world, 5, true]", (("echo", "hello world", "5", "true"),)),
        ("command: [make]", (("make",),)),
        ("command: [echo hello, make]", ("echo hello", "make")),
        ("command: [[make], make test]", (("make",), "make test")),
        ("command: [[echo, a], [echo, b c]]", (("echo", "a"), ("echo", "b c"))),
        ("command: |\n  echo a\n  echo b", ("echo a\necho b",)),
    ],
)
def test_commands_have_many_forms(text: str, expected: tuple[Command, ...]) -> None:
    assert step_of(text).command == expected


def test_a_step_may_be_only_its_command() -> None:
    assert [step.command for step in workflow_of("steps: [make all, ls]").steps] == [("make all",), ("ls",)]


def test_a_list_that_may_be_misread_gets_a_note() -> None:
    assert "command_with_arguments" in notes_of("steps: [{command: [make, make test]}]")
    assert "command_with_arguments" not in notes_of("steps: [{command: [sh, -c, echo a b]}]")
    assert "command_with_arguments" not in notes_of("steps: [{command: [make, all]}]")


@pytest.mark.parametrize("text", ["command: ''", "command: []", "command: {a: b}", "command: [[]]", "command: '  '"])
def test_a_wrong_command_is_reported(text: str) -> None:
    error = error_of(f"steps:\n  - {text}\n")
    assert (error.code, error.line) == ("bad_value", 2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("shell: bash", ("bash",)),
        ("shell: /bin/bash -eo pipefail", ("/bin/bash", "-eo", "pipefail")),
        ("shell: [bash, -e]", ("bash", "-e")),
    ],
)
def test_a_shell_has_options(text: str, expected: tuple[str, ...]) -> None:
    assert step_of(text).shell == expected
    assert workflow_of(f"{text}\nsteps: [make]").shell == expected


@pytest.mark.parametrize("text", ["shell: []", 'shell: "bash \'"', "shell: {a: b}"])
def test_a_wrong_shell_is_reported(text: str) -> None:
    assert error_of(f"{text}\nsteps: [make]").code == "bad_value"


def test_a_script_may_have_an_interpreter_as_command() -> None:
    step = step_of("command: python3\nscript: |\n  print(1)\n  print(2)")
    assert (step.command, step.script) == (("python3",), "print(1)\nprint(2)")
    assert step_of("script: |\n  #!/bin/bash\n  make").script == "#!/bin/bash\nmake"


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("call: clean-up", "call", "clean-up"),
        ("run: clean-up", "call", "clean-up"),
        ("call: shop::orders", "call", "shop::orders"),
        ("handler: OrderFulfillment::Ship", "handler", "OrderFulfillment::Ship"),
        ("python: shop.tasks:charge", "python", "shop.tasks:charge"),
        ("stdout: out.log", "stdout", "out.log"),
        ("stderr: /tmp/err.log", "stderr", "/tmp/err.log"),
        ("select: .items[0].id", "select", ".items[0].id"),
        ("jq: .a", "select", ".a"),
        ("working_dir: /srv", "working_dir", "/srv"),
        ("workingDir: /srv", "working_dir", "/srv"),
        ("dir: /srv", "working_dir", "/srv"),
        ("description: Why", "description", "Why"),
        ("id: one", "id", "one"),
        ("timeout_sec: 5", "timeout_sec", 5),
        ("timeoutSec: 1.5", "timeout_sec", 1.5),
        ("timeout_sec: '30'", "timeout_sec", 30),
        ("timeout_sec: 0", "timeout_sec", None),
        ("signal_on_stop: SIGINT", "signal_on_stop", "SIGINT"),
        ("signalOnStop: TERM", "signal_on_stop", "SIGTERM"),
        ("worker_selector: {gpu: true, memory: 64G}", "worker_selector", {"gpu": "true", "memory": "64G"}),
        ("workerSelector: local", "worker_selector", "local"),
        ("workerSelector: {region: '${REGION}'}", "worker_selector", {"region": "${REGION}"}),
    ],
)
def test_a_step_has_keys(text: str, field: str, value: object) -> None:
    assert getattr(step_of(text), field) == value


@pytest.mark.parametrize(
    ("text", "code", "word"),
    [
        ("call: echo hello", "bad_value", "a command is written as `command:`"),
        ("call: ../other", "bad_value", "the name of a workflow"),
        ("python: os.system", "bad_value", "module:function"),
        ("command: make\ntimeout_sec: -1", "bad_value", "from 0"),
        ("command: make\ntimeout_sec: soon", "bad_value", "a number"),
        ("command: make\nsignal_on_stop: SIGSTOP", "bad_value", "SIGHUP"),
        ("command: make\nworkerSelector: remote", "bad_value", "`local`"),
        ("command: make\nworkerSelector: {}", "bad_value", "an empty table"),
        ("command: make\nid: a b", "bad_value", "a short name"),
        ("command: make\ncall: other", "several_actions", "`command` and `call`"),
        ("description: nothing", "no_action", "`http`"),
        ("command: make\nexecutor: docker", "unsupported_key", "`handler:`"),
        ("command: make\nmailOnError: true", "unsupported_key", "`notify:`"),
    ],
)
def test_a_wrong_key_of_a_step_is_reported(text: str, code: str, word: str) -> None:
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    error = error_of(f"steps:\n  -\n{lines}")
    assert error.code == code and word in error.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http: https://example.com/x", HttpRequest(url="https://example.com/x")),
        ("http: POST https://example.com/x", HttpRequest(url="https://example.com/x", method="POST")),
        ("http: GET ${URL}/x", HttpRequest(url="${URL}/x")),
        (
            "http: {method: PUT, url: 'https://h/x', headers: {A: 1}, body: {id: 7}, expected_status: [200, 404]}",
            HttpRequest(
                url="https://h/x", method="PUT", headers={"A": "1"}, body={"id": 7}, expected_status=(200, 404)
            ),
        ),
        (
            "http: {url: 'https://h/x', body: plain, expectedStatus: 204}",
            HttpRequest(url="https://h/x", body="plain", expected_status=(204,)),
        ),
    ],
)
def test_requests_have_two_forms(text: str, expected: HttpRequest) -> None:
    assert step_of(text).http == expected


@pytest.mark.parametrize(
    "text",
    [
        "http: ftp://h",
        "http: FETCH https://h",
        "http: {method: GET}",
        "http: {url: 'https://h', status: 99}",
        "http: [a]",
    ],
)
def test_a_wrong_request_is_reported(text: str) -> None:
    assert error_of(f"steps:\n  - {text}\n").line == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("parallel: [a, 2, {x: 1}]", Parallel(items=("a", 2, {"x": 1}))),
        ("parallel: ${ITEMS}", Parallel(variable="${ITEMS}")),
        ("parallel: {items: [a], max_concurrent: 2}", Parallel(items=("a",), max_concurrent=2)),
        ("parallel: {items: $ITEMS, maxConcurrent: 3}", Parallel(variable="$ITEMS", max_concurrent=3)),
    ],
)
def test_fan_out_has_many_forms(text: str, expected: Parallel) -> None:
    assert step_of(text).parallel == expected


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "items",
        "{max_concurrent: 2}",
        "{items: [a], max_concurrent: 0}",
        "{items: [a], max_concurrent: 1001}",
        "5",
    ],
)
def test_a_wrong_fan_out_is_reported(text: str) -> None:
    assert error_of(f"steps:\n  - command: make\n    parallel: {text}\n").line == 3
