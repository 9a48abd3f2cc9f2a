"""What an uploaded definition would do on the server itself: every reason is named, at its line."""

from __future__ import annotations

import pytest

from turnout.authoring.yaml.findings import Finding
from turnout.authoring.yaml.local_execution import local_executions
from turnout.authoring.yaml.reader import read_file


def found(text: str, *, hub: bool) -> list[Finding]:
    reading = read_file(text, name="uploaded")
    assert reading.documents, reading.findings
    return [
        each
        for document, marks in zip(reading.documents, reading.marks, strict=True)
        for each in local_executions(document, marks, hub=hub)
    ]


def codes(text: str, *, hub: bool) -> list[str]:
    return [each.code for each in found(text, hub=hub)]


CASES = {
    "a command": ("steps: [echo hi]", ["local_shell"]),
    "a script": ("steps: [{name: a, script: 'echo hi'}]", ["local_shell"]),
    "a declared task": ("steps: [{name: a, python: 'jobs:load'}]", ["local_python"]),
    "a request to a private address": ("steps: [{name: a, http: {url: 'http://10.0.0.1/'}}]", ["local_http"]),
    "a request to a public address": ("steps: [{name: a, http: {url: 'https://example.com/'}}]", []),
    "a request to an address of the run": ("params: HOST=a\nsteps: [{name: a, http: {url: 'http://${HOST}/'}}]", []),
    "a request with variables": ("env: {A: b}\nsteps: [{name: a, http: 'https://example.com/${A}'}]", []),
    "a request with the output of a command": (
        "env: {A: '`id`'}\nsteps: [{name: a, env: {B: $(id)}, http: 'https://example.com/${A}${B}'}]",
        ["local_shell", "local_shell"],
    ),
    "a request with a secret and a file": (
        "secrets: [{name: A, provider: env, key: B}]\nsteps: [{name: a, stdout: x, http: 'https://example.com/'}]",
        ["local_file", "local_secret"],
    ),
    "a handler": ("steps: [{name: a, handler: ship}]", []),
    "a child run": ("steps: [{name: a, call: other}]", []),
    "a handler with a condition": (
        "steps: [{name: a, handler: ship, preconditions: [{condition: test -f x}]}]",
        ["local_condition"],
    ),
    "a handler with a comparison": (
        "steps: [{name: a, handler: ship, preconditions: [{condition: '${ENV}', expected: prod}]}]",
        [],
    ),
    "a condition": (
        "preconditions: [{condition: test -f x}]\nsteps: [{name: a, handler: ship}]",
        ["local_condition"],
    ),
    "a substitution": (
        "preconditions: [{condition: '`date +%u`', expected: '1'}]\nsteps: [{name: a, handler: ship}]",
        ["local_condition"],
    ),
    "a repetition": (
        "steps: [{name: a, command: ls, repeat_policy: {repeat: until, condition: test -f x, limit: 3}}]",
        ["local_shell", "local_condition"],
    ),
    "file outputs": (
        "steps: [{name: a, command: ls, stdout: /tmp/a, stderr: /tmp/b}]",
        ["local_shell", "local_file", "local_file"],
    ),
    "dotenv": ("dotenv: .env\nsteps: [ls]", ["local_shell", "local_dotenv"]),
    "secrets": (
        "secrets: [{name: A, provider: command, key: pass x}, {name: B, provider: file, key: /etc/x}]\nsteps: [ls]",
        ["local_shell", "local_secret", "local_secret"],
    ),
    "a hook": ("steps: [{name: a, handler: ship}]\nhandler_on: {exit: {command: echo bye}}", ["local_shell"]),
    "a sub-workflow in the same file": (
        "steps: [{name: a, call: sub}]\n---\nname: sub\nsteps: [echo hi]",
        ["local_shell"],
    ),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_without_a_hub_everything_would_run_on_the_server(text: str, expected: list[str]) -> None:
    assert codes(text, hub=False) == expected
    assert all(each.severity == "error" for each in found(text, hub=False))


@pytest.mark.parametrize("text", [text for text, _ in CASES.values()], ids=CASES)
def test_with_a_hub_all_of_it_runs_on_workers(text: str) -> None:
    assert codes(text, hub=True) == []


@pytest.mark.parametrize("text", [text for text, expected in CASES.values() if "local_shell" in expected])
def test_what_is_pinned_to_the_server_is_refused_with_a_hub_too(text: str) -> None:
    first, *rest = text.split("\n---\n")
    pinned = "\n---\n".join(
        (first, *(f"workerSelector: local\n{each}" for each in rest)) if rest else (f"workerSelector: local\n{first}",)
    )
    assert codes(pinned, hub=True)[0] == "local_placement"
    assert set(codes(text, hub=False)) <= set(codes(pinned, hub=True))


def test_one_pinned_step_among_others_is_named_with_its_line() -> None:
    text = """
steps:
  - name: there
    command: echo there
  - name: here
    workerSelector: local
    command: echo here
"""
    placement, shell = found(text, hub=True)
    assert (placement.code, placement.line) == ("local_placement", 6) and "'here'" in placement.message
    assert (shell.code, shell.line) == ("local_shell", 7)


def test_a_step_with_labels_in_a_pinned_workflow_runs_on_workers() -> None:
    text = "workerSelector: local\nsteps: [{name: a, command: ls, workerSelector: {gpu: 'true'}}]"
    assert codes(text, hub=True) == ["local_placement"]
