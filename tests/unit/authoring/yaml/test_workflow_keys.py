"""Keys of a workflow beside its parameters, variables, policies and steps."""

from __future__ import annotations

import pytest

from tests.kit.workflow_text import error_of, errors_of, keys_of
from turnout.authoring.yaml.limits import LimitDocument


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("name: nightly-orders", "name", "nightly-orders"),
        ("description: All of it", "description", "All of it"),
        ("description: 5", "description", "5"),
        ("group: Reports", "group", "Reports"),
        ("tags: nightly, data", "tags", ("nightly", "data")),
        ("tags: env=prod team=data", "tags", ("env=prod", "team=data")),
        ("tags: [nightly, team=data, {tier: 1}]", "tags", ("nightly", "team=data", "tier=1")),
        ("labels: {team: data, urgent: true}", "tags", ("team=data", "urgent=true")),
        ("dotenv: .env", "dotenv", (".env",)),
        ("dotenv: [a.env, b.env]", "dotenv", ("a.env", "b.env")),
        ("working_dir: /srv", "working_dir", "/srv"),
        ("workingDir: /srv", "working_dir", "/srv"),
        ("type: graph", "type", "graph"),
        ("max_active_steps: 4", "max_active_steps", 4),
        ("maxActiveSteps: 4", "max_active_steps", 4),
        ("max_active_runs: 1", "max_active_runs", 1),
        ("queue: nightly", "queue", "nightly"),
        ("priority: -5", "priority", -5),
        ("limit: database", "limits", (LimitDocument(name="database"),)),
        (
            'params: {c: 1}\nlimits: [database, {name: "c-${c}", at_most: 3, rate: 10, per: 1m}]',
            "limits",
            (LimitDocument(name="database"), LimitDocument(name="c-${c}", at_most=3, rate=10, per=60.0)),
        ),
        ("timeout_sec: 3600", "timeout_sec", 3600),
        ("timeoutSec: 0", "timeout_sec", None),
        ("hist_retention_days: 30", "hist_retention_days", 30),
        ("histRetentionDays: 0", "hist_retention_days", 0),
        ("history_retention_days: 30", "hist_retention_days", 30),
        ("hist_retention_runs: 100", "hist_retention_runs", 100),
        ("workerSelector: {gpu: true, zone: 7}", "worker_selector", {"gpu": "true", "zone": "7"}),
        ("worker_selector: local", "worker_selector", "local"),
        ("affinity: step", "affinity", "step"),
        ("affinity: run", "affinity", "run"),
        ("queue:", "queue", None),
    ],
)
def test_a_workflow_has_keys(text: str, field: str, value: object) -> None:
    assert getattr(keys_of(text), field) == value


def test_the_file_names_the_workflow() -> None:
    assert keys_of("").name == "orders"


@pytest.mark.parametrize(
    ("text", "code", "word"),
    [
        ("name: my flow", "bad_value", "begins with a letter"),
        ("name: ../etc", "bad_value", "begins with a letter"),
        ("type: agent", "bad_value", "'chain'"),
        ("max_active_steps: 0", "bad_limit", "from 1 to 1,000,000"),
        ("max_active_runs: many", "bad_limit", "from 1 to 1,000,000"),
        ("priority: 2.5", "bad_value", "a whole number"),
        ("limit: {name: a, at_most: 0}", "bad_limit", "from 1 to 1,000,000"),
        ("limit: {name: a, rate: 1, per: 0}", "bad_limit", "above 0"),
        ("limit: {name: a, rate: 1, per: soon}", "bad_limit", "such as `1m`"),
        ("limit: {at_most: 1}", "missing_key", "name"),
        ('limit: ""', "bad_value", "at least 1"),
        ("limit: {name: a, size: 1}", "unknown_key", "size"),
        ('limit: "c-${c}"', "unknown_parameter", "'c'"),
        ("limits: [a, a]", "bad_limit", "twice"),
        ("timeout_sec: 5m", "bad_value", "a number from 0"),
        ("hist_retention_days: -1", "bad_value", "from 0"),
        ("queue: [a]", "bad_value", "a list"),
        ("affinity: node", "bad_value", "'run'"),
        ("tags: [[a]]", "bad_value", "words"),
        ("workerSelector: {gpu: [1]}", "bad_value", "workerSelector.gpu".replace("workerSelector", "worker_selector")),
        ("wokerSelector: local", "unknown_key", "did you mean 'workerSelector'"),
        ("timeout_sec: 1\ntimeoutSec: 2", "duplicate_key", "one key"),
        ("queue: a\nqueue: b", "duplicate_key", "after line 1"),
        ("smtp: {host: localhost}", "unsupported_key", "`notify:`"),
        ("maxCleanUpTimeSec: 5", "unsupported_key", "`grace`"),
        ("logDir: /tmp", "unsupported_key", "turnout logs"),
        ("zzz: 1", "unknown_key", "the keys are name, description"),
        ('description: "a\\0b"', "bad_value", "text"),
    ],
)
def test_a_wrong_key_is_reported(text: str, code: str, word: str) -> None:
    error = error_of(f"{text}\nsteps: [make]\n")
    assert error.code == code and word in error.message


def test_a_file_name_that_is_no_identifier_needs_a_name() -> None:
    from turnout.authoring.yaml.reader import read_file

    assert [each.code for each in read_file("type: chain\nsteps: [a]", name="01 orders").findings] == ["bad_name"]
    assert read_file("name: orders\nsteps: [a]", name="01 orders").documents[0].name == "orders"


def test_limits_of_the_workflow_and_of_its_steps_are_reported_where_they_stand() -> None:
    text = """
params: {a: 1}
limit: "c-${customer}"
steps:
  - command: make
    limit: {name: "d-${nope}", at_most: 1}
"""
    found = [(each.code, each.line, each.where) for each in errors_of(text)]
    assert found == [("unknown_parameter", 3, "limits"), ("unknown_parameter", 6, "steps[0].limits")]
