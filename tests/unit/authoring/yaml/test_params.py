"""Parameters in every form that a workflow file may have them, and the arguments of steps."""

from __future__ import annotations

import pytest
from msgspec import UNSET

from tests.kit.workflow_text import error_of, errors_of, keys_of, notes_of, step_of
from turnout.authoring.yaml.arguments import Arguments
from turnout.authoring.yaml.params import Parameter, problem_of
from turnout.model.variables import REFUSED_PREFIXES, REFUSED_VARIABLES, refused_variable


def defaults(text: str) -> dict[str, object]:
    return {each.name: each.default for each in keys_of(text).params}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('params: "input.csv 10"', {"1": "input.csv", "2": "10"}),
        ("params: 'REGION=eu DAYS=3'", {"REGION": "eu", "DAYS": "3"}),
        ("""params: 'first REGION="eu west" last'""", {"1": "first", "REGION": "eu west", "2": "last"}),
        ("params: 7", {"1": "7"}),
        ("params: [input.csv, REGION=eu]", {"1": "input.csv", "REGION": "eu"}),
        ("params: ['a b', \"K=v w\"]", {"1": "a b", "K": "v w"}),
        ("params: [{REGION: eu}, {DAYS: 3, FULL: true}]", {"REGION": "eu", "DAYS": "3", "FULL": "true"}),
        ("params: [5, 1.10]", {"1": "5", "2": "1.10"}),
        ("params: {REGION: eu, VERSION: 1.10, EMPTY: }", {"REGION": "eu", "VERSION": "1.10", "EMPTY": ""}),
        ("params: {ITEMS: [a, 1], PLACE: {x: 1}}", {"ITEMS": '["a",1]', "PLACE": '{"x":1}'}),
        ("params: {URL: 'http://h?a=b'}", {"URL": "http://h?a=b"}),
        ("params: ['URL=http://h?a=b']", {"URL": "http://h?a=b"}),
        ("params: []", {}),
        ("params:", {}),
    ],
)
def test_params_have_many_forms(text: str, expected: dict[str, object]) -> None:
    assert defaults(text) == expected


def test_positional_parameters_know_their_places() -> None:
    assert [(each.name, each.position) for each in keys_of("params: a K=b c").params] == [
        ("1", 1),
        ("K", None),
        ("2", 2),
    ]


@pytest.mark.parametrize(
    "text",
    [
        """
        params:
          - name: COUNT
            type: integer
            default: 3
            minimum: 1
            maximum: 10
            description: How many
        """,
        "params: {COUNT: {type: integer, default: 3, minimum: 1, maximum: 10, description: How many}}",
        "params: [{COUNT: {type: integer, default: '3', minimum: 1, maximum: 10, description: How many}}]",
    ],
)
def test_a_declaration_has_a_type_and_bounds(text: str) -> None:
    assert keys_of(text).params == (
        Parameter(name="COUNT", type="integer", default=3, minimum=1, maximum=10, description="How many"),
    )


def test_declarations_have_every_key() -> None:
    document = keys_of(
        """
        params:
          - {name: SIZE, enum: [small, large], default: small}
          - {name: RATE, type: number, default: 0.5}
          - {name: FULL, type: boolean, default: false}
          - {name: TAG, pattern: "^v[0-9]+$", minLength: 2, max_length: 5, default: v10}
          - {name: WHO, required: true}
          - {name: WHY, type: string}
          - {name: HOW, required: false}
        """
    )
    size, rate, full, tag, who, why, how = document.params
    assert size.enum == ("small", "large") and size.default == "small"
    assert rate.default == 0.5 and full.default is False
    assert (tag.pattern, tag.min_length, tag.max_length) == ("^v[0-9]+$", 2, 5)
    assert who.required and why.required and not how.required
    assert {who.default, why.default, how.default} == {UNSET}


@pytest.mark.parametrize(
    ("text", "code", "word"),
    [
        ("params: 'a \"b'", "bad_value", "no closing quotation"),
        ("params: {COUNT: {type: integer, default: three}}", "bad_value", "params.COUNT.default is 'three'"),
        ("params: {COUNT: {type: integer, default: 0, minimum: 1}}", "bad_value", "at least 1"),
        ("params: {COUNT: {type: integer, default: 9, maximum: 8}}", "bad_value", "at most 8"),
        ("params: {SIZE: {enum: [s, l], default: m}}", "bad_value", "one of s, l"),
        ("params: {SIZE: {default: m, min_length: 2}}", "bad_value", "at least 2 characters"),
        ("params: {SIZE: {default: mmm, max_length: 2}}", "bad_value", "at most 2 characters"),
        ("params: {TAG: {default: x, pattern: '^v'}}", "bad_value", "matches ^v"),
        ("params: {TAG: {pattern: '['}}", "bad_pattern", "no regular expression"),
        ("params: {TAG: {pattern: '(?=a)b'}}", "bad_pattern", "a lookaround"),
        (
            f"params: {{TAG: {{default: {'a' * 60_000}b, pattern: '^(a+)+$'}}}}",
            "bad_value",
            "at most 50,000 characters",
        ),
        ("params: {TAG: {minimum: 1}}", "bad_value", "is for numbers"),
        ("params: {TAG: {type: text}}", "bad_value", "'string'"),
        ("params: {TAG: {type: string, defaut: x}}", "unknown_key", "did you mean 'default'"),
        ("params: {TAG: {default: [1]}}", "bad_value", "a list"),
        ("params: [{name: A, default: 1}, A=2]", "duplicate_parameter", "'A' again"),
        ("params: [[a]]", "bad_value", "a list"),
        ("params: {my-name: 1}", "bad_name", "my-name"),
        ("params: {PATH: /bin}", "refused_name", "'PATH'"),
        ("params: 'LD_PRELOAD=x'", "refused_name", "'LD_PRELOAD'"),
        ("params: [{name: PYTHONPATH, default: x}]", "refused_name", "'PYTHONPATH'"),
    ],
)
def test_a_wrong_parameter_is_reported(text: str, code: str, word: str) -> None:
    error = error_of(f"{text}\nsteps: [make]\n")
    assert (error.code, error.line) == (code, 1) and word in error.message


def test_every_wrong_parameter_is_reported() -> None:
    errors = errors_of("params:\n  - IFS=x\n  - {name: 1a}\n  - {name: N, type: integer, default: x}\nsteps: [make]\n")
    assert [(each.line, each.code) for each in errors] == [(2, "refused_name"), (3, "bad_name"), (4, "bad_value")]


@pytest.mark.parametrize(
    "name", ["PATH", "IFS", "ENV", "BASH_ENV", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONSTARTUP"]
)
def test_names_that_change_how_programs_start_are_refused(name: str) -> None:
    assert refused_variable(name)
    assert error_of(f"params: {{{name}: x}}\nsteps: [make]\n").code == "refused_name"
    assert error_of(f"steps: [{{command: make, output: {name}}}]\n").code == "refused_name"
    secret = f"secrets: [{{name: {name}, provider: env, key: X}}]\nsteps: [make]\n"
    assert error_of(secret).code == "refused_name"


def test_the_refused_names_are_a_list() -> None:
    assert {"NODE_OPTIONS", "RUBYOPT", "PERL5OPT", "JAVA_TOOL_OPTIONS", "GIT_SSH_COMMAND"} <= REFUSED_VARIABLES
    assert {"LD_", "DYLD_", "PYTHON", "TURNOUT_", "DAG_"} <= set(REFUSED_PREFIXES)
    assert not any(map(refused_variable, ["REGION", "path", "LDAP_HOST", "MY_PATH", "PATHS", "ENVIRONMENT"]))


def test_a_value_is_judged_by_its_parameter() -> None:
    number = Parameter(name="N", type="number", minimum=0.5, maximum=2)
    assert [problem_of(number, each) for each in (0.5, 2, 0.4, 3)] == [None, None, "at least 0.5", "at most 2"]
    assert problem_of(Parameter(name="N", enum=("a", "b")), "c") == "one of a, b"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("params: a K=b 'c d'", Arguments(("a", "c d"), {"K": "b"})),
        ("params: [a, K=b, {L: [1, 2]}, 5]", Arguments(("a", 5), {"K": "b", "L": [1, 2]})),
        ('params: {K: "${X}", N: 3, DEEP: {x: true}}', Arguments((), {"K": "${X}", "N": 3, "DEEP": {"x": True}})),
        ("params: 3", Arguments((3,))),
        ("params: []", Arguments()),
    ],
)
def test_a_step_passes_arguments_in_many_forms(text: str, expected: Arguments) -> None:
    assert step_of(f"call: other\n{text}").params == expected


def test_wrong_arguments_are_reported() -> None:
    assert error_of("steps: [{call: x, params: [[1]]}]").code == "bad_value"
    assert error_of('steps: [{call: x, params: "\'"}]').code == "bad_value"


@pytest.mark.parametrize(
    "text",
    [
        "params: FOO=1 BAR=`date +%F`",
        "params: FOO=1 BAR=$(date +%F)",
        "params: [FOO=1, 'BAR=`date +%F`']",
        "params: {BAR: '`date +%F`'}",
        "params: [{BAR: $(date +%F)}]",
    ],
)
def test_a_command_in_a_parameter_is_an_error_with_the_remedy(text: str) -> None:
    error = error_of(f"{text}\ntype: chain\nsteps: [make]\n")
    assert error.code == "command_in_value" and "date +%F" in error.message and "`env:`" in error.message


def test_a_text_with_backticks_can_be_declared_and_arguments_are_not_torn() -> None:
    assert defaults("params: {NOTE: {default: 'see `make`'}}") == {"NOTE": "see `make`"}
    assert notes_of("type: chain\nparams: {NOTE: 'see `make`'}\nsteps: [make]\n") == ["command_in_value"]
    error = error_of("type: chain\nsteps: [{call: sub, params: 'A=`date +%F`'}]\n")
    assert (error.code, error.where) == ("command_in_value", "steps[0].params")
