"""The JSON Schema of workflow files: valid ones fit, wrong ones do not, and the published file is current."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.kit.yaml_corpus import CorpusFile, corpus
from turnout.authoring.yaml.key_reference import KEY_TABLES, key_rows
from turnout.authoring.yaml.nodes import documents_of, plain
from turnout.authoring.yaml.reader import read_file
from turnout.authoring.yaml.schema import workflow_schema
from turnout.authoring.yaml.steps import ACTIONS

SCHEMA = workflow_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
CORPUS = corpus()
PUBLISHED = Path(__file__).parents[4] / "docs" / "reference" / "workflow.schema.json"


def values(text: str) -> list[Any]:
    return [plain(node) for node in documents_of(text)]


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_published_schema_is_current() -> None:
    assert json.loads(PUBLISHED.read_text(encoding="utf-8")) == SCHEMA, "to mend: make reference"


@pytest.mark.parametrize("file", CORPUS, ids=lambda file: file.name)
def test_a_file_of_the_corpus_fits(file: CorpusFile) -> None:
    for document in values(file.text):
        assert [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(document)] == []


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "name: x",
        "steps: []",
        "steps: make",
        "steps: [5]",
        "steps: [{}]",
        "steps: [{description: nothing}]",
        "steps: [{comand: x}]",
        "steps: [{command: []}]",
        "steps: [{command: x, retry_policy: {limit: -1}}]",
        "steps: [{command: x, retry_policy: {interval_sec: 1}}]",
        "steps: [{command: x, retry_policy: {limit: 1, backoff: 0.5}}]",
        "steps: [{command: x, continue_on: sometimes}]",
        "steps: [{command: x, signal_on_stop: SIGSTOP}]",
        "steps: [{command: x, workerSelector: remote}]",
        "steps: [{command: x, resources: [gpu]}]",
        "steps: [{command: x, resources: {gpu: -1}}]",
        "steps: [{command: x, parallel: []}]",
        "steps: [{command: x, output: a-b}]",
        "steps: [{http: 'ftp://x'}]",
        "steps: [{http: {method: GET}}]",
        "steps: [{call: a b}]",
        "steps: [{python: os.system}]",
        "type: agent\nsteps: [x]",
        "max_active_steps: 0\nsteps: [x]",
        "env: [A]\nsteps: [x]",
        "env: {my-name: 1}\nsteps: [x]",
        "secrets: [{name: A, provider: vault, key: x}]\nsteps: [x]",
        "handler_on: {falure: x}\nsteps: [x]",
        "unknown: 1\nsteps: [x]",
    ],
)
def test_a_wrong_file_does_not_fit(text: str) -> None:
    [document] = values(text)
    assert list(VALIDATOR.iter_errors(document))
    assert any(each.severity == "error" for each in read_file(text, name="x").findings)


@pytest.mark.parametrize("table", KEY_TABLES)
def test_every_key_is_described_with_an_example(table: str) -> None:
    for row in key_rows(table):
        assert row.description.endswith(".") and row.type and "\n" not in row.example, row
        [value] = values(row.example)
        assert len(value) == 1, row


WRAPPED = {
    "notify": "notify: {{url: https://ops.example.org, {}}}\nsteps: [x]",
    "workflow": "{}\nsteps: [x]",
    "step": "steps: [{{command: x}}, {{{}}}]",
    "parameter": "params: [{{name: A, {}}}]\nsteps: [x]",
    "secret": None,
    "schedule": "schedule: {{{}}}\nsteps: [x]",
    "schedule_entry": "schedule: {{every: 1h, {}}}\nsteps: [x]",
    "condition": None,
    "handlers": "handler_on: {{{}}}\nsteps: [x]",
    "defaults": "defaults: {{{}}}\nsteps: [x]",
    "retry": "steps: [{{command: x, retry_policy: {{limit: 1, {}}}}}]",
    "limit": "limit: {{name: a, {}}}\nsteps: [x]",
    "run_retry": "retry_policy: {{limit: 1, {}}}\nsteps: [x]",
    "repeat": "steps: [{{command: x, repeat_policy: {{repeat: true, {}}}}}]",
    "continue_on": "steps: [{{command: x, continue_on: {{{}}}}}]",
    "parallel": "steps: [{{command: x, parallel: {{items: [a], {}}}}}]",
    "http": "steps: [{{http: {{url: 'https://h', {}}}}}]",
}
REPEATED = {"name", "limit", "items", "url", "repeat", "cron", "every", "at", "kind"}
"""Keys that the texts above have already."""


def test_every_table_is_tried() -> None:
    assert set(WRAPPED) == set(KEY_TABLES)


@pytest.mark.parametrize("table", [table for table, text in WRAPPED.items() if text is not None])
def test_the_examples_of_the_reference_are_valid(table: str) -> None:
    wrapped = WRAPPED[table] or ""
    for row in key_rows(table):
        example = "steps: [x]" if table == "workflow" and row.name == "steps" else row.example
        if row.name in REPEATED and table not in ("workflow", "step"):
            continue
        if table == "workflow":
            text = f"{example}\n" + ("" if row.name == "steps" else "steps: [x]\n")
        else:
            text = wrapped.format(flow(example, table, row.name))
        problems = [each for each in read_file(text, name="x").findings if each.severity == "error"]
        assert problems == [], text
        for document in values(text):
            assert list(VALIDATOR.iter_errors(document)) == [], text


def flow(example: str, table: str, name: str) -> str:
    """The example as an entry of a table in braces, beside what it needs."""
    [value] = values(example)
    [(key, content)] = value.items()
    beside = ""
    if table == "parameter" and name in ("minimum", "maximum"):
        beside = "type: integer, "
    elif table == "step" and name not in ACTIONS:
        beside = "command: x, "
    return f"{beside}{key}: {json.dumps(['step_1'] if name == 'depends' else content)}"
