"""Environment variables in their three forms, and those that a parameter must not reach."""

from __future__ import annotations

import pytest

from tests.kit.workflow_text import error_of, errors_of, keys_of, step_of
from turnout.authoring.yaml.checks import references
from turnout.authoring.yaml.variables import Variable


@pytest.mark.parametrize(
    "text",
    [
        "env: {B: x, A: '${B}/1'}",
        "env: [{B: x}, {A: '${B}/1'}]",
        "env: ['B=x', 'A=${B}/1']",
        "env: [B=x, {A: '${B}/1'}]",
        "env: [{B: x, A: '${B}/1'}]",
    ],
)
def test_env_has_three_forms_and_keeps_the_order(text: str) -> None:
    assert keys_of(text).env == (Variable("B", "x"), Variable("A", "${B}/1"))
    assert step_of(text).env == (Variable("B", "x"), Variable("A", "${B}/1"))


def test_values_are_the_text_that_was_written() -> None:
    env = keys_of("env: {A: 1.10, B: true, C: , D: 0x1f, E: 'K=v'}").env
    assert [each.value for each in env] == ["1.10", "true", "", "0x1f", "K=v"]


def test_a_name_may_stand_twice_in_a_list() -> None:
    assert keys_of("env: [A=1, A=2]").env == (Variable("A", "1"), Variable("A", "2"))


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ("env: {my-name: x}", "bad_name", 7),
        ("env: [A]", "bad_value", 7),
        ("env: 5", "bad_value", 6),
        ("env: {A: [1]}", "bad_value", 10),
        ("env: {A: 1, A: 2}", "duplicate_key", 13),
        ("env: ['=x']", "bad_name", 7),
    ],
)
def test_a_wrong_variable_is_reported(text: str, code: str, column: int) -> None:
    error = error_of(f"{text}\nsteps: [make]\n")
    assert (error.code, error.line, error.column) == (code, 1, column)


def test_every_wrong_variable_is_reported() -> None:
    errors = errors_of("env:\n  - 1A=x\n  - B: {x: 1}\n  - C\nsteps: [make]\n")
    assert [(each.line, each.code) for each in errors] == [(2, "bad_name"), (3, "bad_value"), (4, "bad_value")]


def test_the_author_may_set_the_path() -> None:
    assert keys_of('env: {PATH: "/opt/bin:${PATH}"}').env == (Variable("PATH", "/opt/bin:${PATH}"),)


@pytest.mark.parametrize("value", ["${DIR}:${PATH}", "$DIR", "${raw:DIR}", "${DIR.sub}", "${THEN}"])
def test_a_parameter_must_not_reach_the_path(value: str) -> None:
    error = error_of(f"params: DIR=/bin\nenv:\n  - THEN: $DIR\n  - PATH: {value!r}\nsteps: [make]\n")
    assert (error.code, error.line, error.column) == ("refused_name", 4, 11)


def test_a_parameter_must_not_reach_the_path_of_a_step() -> None:
    error = error_of("params: [lib.so]\nsteps:\n  - command: make\n    env: {LD_PRELOAD: $1}\n")
    assert (error.code, error.line) == ("refused_name", 4) and "'1'" in error.message


def test_references_of_a_text() -> None:
    assert references("a $B ${C} ${D.x[0]} ${raw:E} $1 ${2} \\x $(date)") == {"B", "C", "D", "E", "1", "2"}


@pytest.mark.parametrize("text", ["output: ROWS", "output: $ROWS", "output: ${ROWS}"])
def test_an_output_is_a_variable(text: str) -> None:
    assert step_of(text).output == "ROWS"


@pytest.mark.parametrize("text", ["output: a-b", "output: [A]", "output: ${A", "output: $"])
def test_a_wrong_output_is_reported(text: str) -> None:
    assert error_of(f"steps:\n  - command: make\n    {text}\n").line == 3


def test_secrets_have_a_provider_and_a_key() -> None:
    [one, two, three] = keys_of(
        """
        secrets:
          - {name: A, provider: env, key: TOKEN}
          - {name: B, provider: file, key: /run/secrets/b}
          - {name: C, provider: command, key: pass show c}
        """
    ).secrets
    assert [one.provider, two.provider, three.provider] == ["env", "file", "command"]
    assert (three.name, three.key) == ("C", "pass show c")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("secrets: [{name: A, provider: vault, key: x}]", "bad_value"),
        ("secrets: [{name: A, provider: env}]", "missing_key"),
        ("secrets: [{name: A, provider: env, key: x}, {name: A, provider: env, key: y}]", "duplicate_variable"),
        ("params: A=1\nsecrets: [{name: A, provider: env, key: x}]", "duplicate_variable"),
        ("secrets: [{name: a-b, provider: env, key: x}]", "bad_value"),
    ],
)
def test_a_wrong_secret_is_reported(text: str, code: str) -> None:
    assert error_of(f"{text}\nsteps: [make]\n").code == code
