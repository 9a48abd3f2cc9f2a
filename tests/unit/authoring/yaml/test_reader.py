"""Files as a whole: every mistake at its place, several documents, inheritance, and texts that are no YAML."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.kit.workflow_text import error_of, errors_of, workflow_of
from turnout.authoring.yaml.findings import FINDING_CODES, MAX_FINDINGS
from turnout.authoring.yaml.key_reference import KEY_TABLES, key_rows
from turnout.authoring.yaml.marks import Mark
from turnout.authoring.yaml.reader import MAX_DOCUMENTS, FileReading, read_file
from turnout.authoring.yaml.step_forms import MAX_STEPS
from turnout.authoring.yaml.variables import Variable

TWELVE_MISTAKES = """\
name: nightly orders
descripton: Loads the orders of a day
params:
  - PATH=/opt/bin
  - name: DAYS
    type: integer
    default: one
schedule: "0 25 * * *"
env:
  - data-dir: /srv
steps:
  - name: extract
    comand: ./extract.sh
  - name: load
    command: ./load.sh
    depends: extrat
    retry_policy:
      limit: -1
  - name: load
    command: ./again.sh
    continue_on: faild
  - name: nothing
    description: This step has no command
"""


def test_a_file_with_twelve_mistakes_has_twelve_findings_at_their_lines() -> None:
    findings = [each for each in read_file(TWELVE_MISTAKES, name="orders").findings if each.severity == "error"]
    assert [(each.line, each.column, each.code) for each in findings] == [
        (1, 7, "bad_value"),
        (2, 1, "unknown_key"),
        (4, 5, "refused_name"),
        (7, 14, "bad_value"),
        (8, 11, "bad_schedule"),
        (10, 5, "bad_name"),
        (13, 5, "unknown_key"),
        (16, 14, "unknown_dependency"),
        (18, 14, "bad_value"),
        (19, 11, "duplicate_step"),
        (21, 18, "bad_value"),
        (22, 5, "no_action"),
    ]


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("steps: [a\nb: c", "malformed_yaml", 2, 2),
        ("steps:\n\t- a", "malformed_yaml", 2, 1),
        ("a: *nowhere", "malformed_yaml", 1, 4),
        ("steps: !!python/name:os.system x", "malformed_yaml", 1, 8),
        ("steps: !!set {a}", "malformed_yaml", 1, 8),
        ("? [a]\n: b", "malformed_yaml", 1, 3),
        ("<<: 5", "malformed_yaml", 1, 5),
        ("a: \x07", "malformed_yaml", 1, 4),
        ("a: \ud800", "malformed_yaml", 1, 4),
        ("", "empty_file", 1, 1),
        ("# nothing\n", "empty_file", 1, 1),
        ("---\n---\n", "empty_file", 1, 1),
        ("- a\n- b", "bad_value", 1, 1),
        ("just text", "bad_value", 1, 1),
        ("x" * ((1 << 20) + 1), "yaml_too_large", 1, 1),
        ("steps: " + "[" * 60 + "]" * 60, "yaml_too_large", 1, 57),
    ],
)
def test_a_text_that_is_no_workflow_has_one_finding(text: str, code: str, line: int, column: int) -> None:
    [finding] = read_file(text, name="orders").findings
    assert (finding.code, finding.line, finding.column) == (code, line, column)
    assert not finding.message.startswith("line ")


def test_repeated_keys_are_reported_with_everything_else() -> None:
    errors = errors_of("name: a\nname: b\nsteps:\n  - command: x\n    command: y\n    env: {A: 1, A: 2}\n  - foo: 1\n")
    assert [(each.line, each.code) for each in errors] == [
        (2, "duplicate_key"),
        (5, "duplicate_key"),
        (6, "duplicate_key"),
        (7, "unknown_key"),
    ]


def test_repeated_keys_deep_in_a_value_are_reported() -> None:
    assert error_of("steps: [{call: x, params: {a: [{b: 1, b: 2}]}}]").code == "duplicate_key"


def test_anchors_and_merge_keys_are_understood() -> None:
    document = workflow_of(
        """
        defaults: &d
          timeout_sec: 5
        steps:
          - <<: *d
            command: a
          - <<: [*d, {timeout_sec: 9, command: never}]
            command: b
        """
    )
    assert [(step.timeout_sec, step.command) for step in document.steps] == [(5, ("a",)), (5, ("b",))]


def test_marks_give_the_place_of_a_value() -> None:
    [marks] = read_file("steps:\n  - name: a\n    command:\n      - [ls, -l]\n      - make\n", name="x").marks
    assert marks.at("steps[0].command") == Mark(4, 7)
    assert marks.at("steps[0].name") == Mark(2, 11)
    assert marks.at("steps[0].command[0].deeper") == Mark(4, 7)
    assert marks.at("steps[0].env.NOWHERE") == Mark(2, 5)
    assert marks.at("env[3]") == Mark(1, 1)


def test_later_documents_are_sub_workflows() -> None:
    reading = read_file("steps: [{call: tidy}]\n---\nname: tidy\nsteps: [ls]\n---\n", name="orders")
    assert [each.name for each in reading.documents] == ["orders", "tidy"] and len(reading.marks) == 2


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("steps: [a]\n---\nsteps: [b]\n", "missing_key", 3),
        ("name: x\nsteps: [a]\n---\nname: x\nsteps: [b]\n", "duplicate_workflow", 4),
        ("steps: [a]\n---\nname: orders\nsteps: [b]\n", "duplicate_workflow", 3),
        ("steps: [a]\n---\nname: x\nstep: [b]\n", "unknown_key", 4),
        ("steps: [a]\n---\n- b\n", "bad_value", 3),
    ],
)
def test_wrong_sub_workflows_are_reported(text: str, code: str, line: int) -> None:
    errors = errors_of(text)
    assert (errors[-1].code, errors[-1].line) == (code, line)


def test_a_file_has_a_bounded_number_of_documents() -> None:
    text = "---\n".join(f"name: w{number}\nsteps: [a]\n" for number in range(MAX_DOCUMENTS + 1))
    assert "documents" in error_of(text).message


def test_a_file_has_a_bounded_number_of_findings() -> None:
    text = "steps:\n" + "".join(f"  - {{comand{number}: x}}\n" for number in range(MAX_FINDINGS + 50))
    findings = read_file(f"{text}---\nname: more\nsteps: [{{comand: x}}]\n", name="orders", base=text).findings
    assert [each.code for each in findings].count("too_many_findings") == 2
    assert len(findings) == 2 * (MAX_FINDINGS + 1)


def test_a_workflow_has_a_bounded_number_of_steps() -> None:
    assert f"{MAX_STEPS + 1:,} steps" in error_of("steps:\n" + "  - make\n" * (MAX_STEPS + 1)).message


BASE = """\
description: inherited
tags: [team=data]
env: [A=1, B=1]
secrets:
  - {name: TOKEN, provider: env, key: BASE}
  - {name: OTHER, provider: env, key: BASE}
timeout_sec: 60
handler_on: {failure: ./base.sh, exit: ./base-exit.sh}
defaults:
  timeout_sec: 5
  signal_on_stop: SIGINT
  env: {C: 1}
"""


def test_a_file_inherits_from_its_base() -> None:
    document = workflow_of(
        """
        tags: [nightly]
        env: [B=2]
        timeout_sec: 30
        secrets: [{name: TOKEN, provider: file, key: own}]
        handler_on: {failure: ./own.sh}
        defaults: {timeout_sec: 9, env: {D: 1}}
        steps: [make]
        """,
        BASE,
    )
    [step] = document.steps
    assert (document.description, document.timeout_sec) == ("inherited", 30)
    assert document.tags == ("team=data", "nightly")
    assert document.env == (Variable("A", "1"), Variable("B", "1"), Variable("B", "2"))
    assert [(each.name, each.key) for each in document.secrets] == [("OTHER", "BASE"), ("TOKEN", "own")]
    assert document.handler_on.failure and document.handler_on.failure.command == ("./own.sh",)
    assert document.handler_on.exit and document.handler_on.exit.command == ("./base-exit.sh",)
    assert (step.timeout_sec, step.signal_on_stop) == (9, "SIGINT")
    assert step.env == (Variable("C", "1"), Variable("D", "1"))


def test_all_documents_inherit() -> None:
    reading = read_file("steps: [a]\n---\nname: b\nsteps: [b]\n", name="a", base=BASE)
    assert {each.description for each in reading.documents} == {"inherited"}


@pytest.mark.parametrize("base", ["", "# nothing\n"])
def test_an_empty_base_says_nothing(base: str) -> None:
    assert workflow_of("steps: [a]", base) == workflow_of("steps: [a]")


@pytest.mark.parametrize(
    ("base", "code"),
    [
        ("steps: [a]", "not_inherited"),
        ("name: a", "not_inherited"),
        ("queue: a\n---\nqueue: b", "not_inherited"),
        ("qeue: a", "unknown_key"),
        ("queue: [", "malformed_yaml"),
        ("- a", "bad_value"),
    ],
)
def test_a_wrong_base_is_reported_as_the_base(base: str, code: str) -> None:
    [error] = errors_of("steps: [a]", base)
    assert (error.code, error.source) == (code, "base")


def check(text: str, reading: FileReading) -> None:
    """What holds for every text: each finding has a known code and a place in the text."""
    lines = re.split(r"\r\n|[\r\n\x85\u2028\u2029]", text)
    for finding in reading.findings:
        assert finding.code in FINDING_CODES and finding.message
        assert 1 <= finding.line <= len(lines)
        assert 1 <= finding.column <= len(lines[finding.line - 1]) + 1
    assert bool(reading.documents) != any(each.severity == "error" for each in reading.findings)
    assert len(reading.documents) == len(reading.marks)


KEYS = [name for table in KEY_TABLES for row in key_rows(table) for name in (row.name, *row.also)]
WORDS = st.sampled_from([*KEYS, "re:(", "$A", "${A}", "PATH", "a", "b", "A=1", "until", "local", "@daily", "0 0 * * *"])
SCALARS = st.one_of(WORDS, st.integers(-5, 300), st.booleans(), st.none(), st.floats(), st.text(max_size=5))
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=5), max_leaves=25
)


@given(st.text())
@example("a:\r\n  b")
@example("steps: [\u2028a]")
@example("\ufeffsteps: [a]")
def test_no_text_makes_the_reader_raise(text: str) -> None:
    check(text, read_file(text, name="orders", base=text))


@given(st.text(alphabet="abs: -[]{}\n'\"#|>&*!%@`,?\t0"))
def test_no_text_of_yaml_signs_makes_the_reader_raise(text: str) -> None:
    check(text, read_file(text, name="orders"))


@given(VALUES)
def test_no_value_makes_the_reader_raise(value: object) -> None:
    import yaml

    text = yaml.safe_dump({"steps": value} if not isinstance(value, dict) else value)
    check(text, read_file(text, name="orders", base=text))


@given(st.sampled_from(TWELVE_MISTAKES.splitlines()), st.integers(0, 30), st.integers(0, 60))
def test_no_damage_to_a_file_makes_the_reader_raise(line: str, row: int, column: int) -> None:
    lines = TWELVE_MISTAKES.splitlines()
    lines.insert(row, line[:column])
    text = "\n".join(lines)
    check(text, read_file(text, name="orders"))
