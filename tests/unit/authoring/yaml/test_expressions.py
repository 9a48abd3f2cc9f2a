"""References in texts and commands: found, checked, and never read as code."""

from __future__ import annotations

import os
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnout.authoring.yaml.expressions import Expressions
from turnout.authoring.yaml.scope import Scope
from turnout.authoring.yaml.shell_text import ShellTexts, is_posix
from turnout.model.interpolation import Reference, Substitution, filled
from turnout.model.step import Interpolated
from turnout.model.step_values import constant, is_constant

SCOPE = Scope(
    names=frozenset({"NAME", "OUT", "N", "A_1", "1"}),
    steps=frozenset({"fetch", "my-step"}),
    not_before={"LATER": "after", "after": "after"},
    numbers=frozenset({"N"}),
)


def line(text: str, scope: Scope = SCOPE) -> tuple[str, dict[str, Reference], list[tuple[str, str]]]:
    """The shell text, the variables that it needs, and the issues by severity and code."""
    expressions = Expressions(scope)
    texts = ShellTexts(expressions)
    parts = texts.line(text)
    shown = "".join(part if isinstance(part, str) else f"<{part.name}>" for part in parts)
    variables = {each.name: each.value[0] for each in texts.variables if isinstance(each.value[0], Reference)}
    return shown, variables, [(issue.severity, issue.code) for issue in expressions.issues]


@pytest.mark.parametrize(
    ("text", "shell"),
    [
        ("echo ${NAME}", 'echo "${NAME}"'),
        ("echo a${NAME}b", 'echo a"${NAME}"b'),
        ('echo "a ${NAME} b"', 'echo "a ${NAME} b"'),
        ('echo "$(cat ${NAME})"', 'echo "$(cat "${NAME}")"'),
        ('echo "a `cat ${NAME}` b"', 'echo "a `cat "${NAME}"` b"'),
        ("X=${NAME} env", 'X="${NAME}" env'),
        ("echo $NAME", "echo $NAME"),
        ("echo ${1} $2", 'echo "${1}" $2'),
        ("echo \\${NAME}", "echo \\${NAME}"),
        ("echo ${NAME:-x} ${#NAME} ${NAME%.*}", "echo ${NAME:-x} ${#NAME} ${NAME%.*}"),
        ("echo ${OTHER:-${NAME}}", "echo ${OTHER:-${NAME}}"),
        ("echo $(( ${N} + 1 ))", "echo $(( ${N} + 1 ))"),
        ("# ${NAME}\necho ${NAME}", '# ${NAME}\necho "${NAME}"'),
        ("echo a#${NAME}", 'echo a#"${NAME}"'),
        ("case ${NAME} in a) echo ${NAME};; esac", 'case "${NAME}" in a) echo "${NAME}";; esac'),
        ("cat <<< ${NAME}", 'cat <<< "${NAME}"'),
        ('cat <<E\n${NAME} "x"\nE\necho ${NAME}', 'cat <<E\n${NAME} "x"\nE\necho "${NAME}"'),
        ("cat <<-E\n\t${NAME}\n\tE\necho ${NAME}", 'cat <<-E\n\t${NAME}\n\tE\necho "${NAME}"'),
        ("awk '{print $1}' ${NAME}", "awk '{print $1}' \"${NAME}\""),
        ("echo ${raw:NAME}", "echo <NAME>"),
        ("x=(a b); echo ${x[1]} ${NAME}", 'x=(a b); echo ${x[1]} "${NAME}"'),
    ],
)
def test_a_reference_is_one_word_wherever_it_stands(text: str, shell: str) -> None:
    assert line(text)[0] == shell


def test_what_no_shell_can_name_becomes_a_variable_of_its_own_once() -> None:
    shell, variables, issues = line('echo ${fetch.stdout} "${OUT.a[0].b}" ${fetch.stdout} ${my-step.exit_code}')
    assert shell == 'echo "${TURNOUT_VALUE_1}" "${TURNOUT_VALUE_2}" "${TURNOUT_VALUE_1}" "${TURNOUT_VALUE_3}"'
    assert variables == {
        "TURNOUT_VALUE_1": Reference("fetch", ("stdout",)),
        "TURNOUT_VALUE_2": Reference("OUT", ("a", 0, "b")),
        "TURNOUT_VALUE_3": Reference("my-step", ("exit_code",)),
    }
    assert not issues


def test_a_script_keeps_the_names_that_a_shell_knows_and_gets_the_others() -> None:
    expressions = Expressions(SCOPE)
    texts = ShellTexts(expressions)
    assert texts.script("for x in ${NAME}; do echo ${x} ${fetch.stdout}; done") == (
        'for x in ${NAME}; do echo ${x} "${TURNOUT_VALUE_1}"; done',
    )


@pytest.mark.parametrize(
    ("text", "issues"),
    [
        ("echo ${HOME} ${x}; x=1", []),
        ("for f in *; do echo ${f}; done; read line; echo ${line}", []),
        ("echo ${NOPE}", [("warning", "unknown_variable")]),
        ("echo ${NOPE.x}", [("error", "unknown_reference")]),
        ("echo ${raw:NOPE}", [("error", "unknown_reference")]),
        ("echo ${fetch.output_file}", [("error", "unknown_reference")]),
        ("echo ${LATER}", [("error", "not_before")]),
        ("echo ${after.stdout}", [("error", "not_before")]),
        ("echo ${raw:NAME}", [("warning", "raw_value")]),
        ("echo '${NAME}'", [("note", "not_substituted")]),
        ("echo '${fetch.stdout}'", [("warning", "not_substituted")]),
        ("cat <<'E'\n${NAME}\nE", [("note", "not_substituted")]),
        ("echo $(( ${NAME} + 1 ))", [("warning", "arithmetic_value")]),
        ("echo $(( ${N} + 1 ))", []),
        ("all=(a b); echo ${all[1]} ${all[-1]} ${all[@]} ${#all[@]}", []),
        ("declare -A ages; ages[3]=5; echo ${ages[3]}", []),
        ("mapfile -t rows < data; echo ${rows[0]}", []),
        ("false | true; echo ${PIPESTATUS[0]}; [[ a =~ (.) ]]; echo ${BASH_REMATCH[1]}", []),
        ("echo ${rows[0]}", [("error", "unknown_reference")]),
        ("all=(a b); echo ${all.x} ${raw:all}", [("error", "unknown_reference")] * 2),
    ],
)
def test_what_is_doubtful_or_wrong_is_reported(text: str, issues: list[tuple[str, str]]) -> None:
    assert line(text)[2] == issues


def test_a_similar_name_is_suggested() -> None:
    expressions = Expressions(SCOPE)
    expressions.text("${fetsh.stdout} ${NAMEE}")
    first, second = expressions.issues
    assert "did you mean 'fetch'" in first.message and "did you mean 'NAME'" in second.message


def test_texts_that_no_shell_sees_are_filled_in() -> None:
    expressions = Expressions(SCOPE)
    assert expressions.text("a ${NAME} ${OUT.x[1]} \\${NAME} $NAME `id`") == (
        "a ",
        Reference("NAME"),
        " ",
        Reference("OUT", ("x", 1)),
        " ${NAME} $NAME `id`",
    )
    text = expressions.text("$NAME-`date +%Y` $(echo ${NAME} (x))", commands=True)
    assert text == (Reference("NAME"), "-", Substitution("date +%Y"), " ", Substitution("echo ${NAME} (x)"))
    assert filled(text, {"NAME": "n"}, ["2026\n", "two\n\n"]) == "n-2026 two"
    assert not expressions.issues
    expressions.text("${NAME:-x}")
    assert [issue.code for issue in expressions.issues] == ["bad_expression"]


def test_a_value_that_is_filled_in_is_not_looked_through_again() -> None:
    text = Expressions(SCOPE).text("<${NAME}>")
    assert filled(text, {"NAME": "${OUT} `id` $(id)", "OUT": "x"}) == "<${OUT} `id` $(id)>"


def test_values_of_a_table_keep_their_types_if_they_are_one_reference() -> None:
    expressions = Expressions(SCOPE)
    value = expressions.value({"a": "${N}", "b": ["x ${NAME}", 1, None], "c": "plain"})
    assert not is_constant(value)
    plain = expressions.value({"a": [1, "x"], "b": None})
    assert is_constant(plain) and constant(plain) == {"a": [1, "x"], "b": None}
    assert isinstance(expressions.value("${N}"), Interpolated)


@pytest.mark.parametrize(
    ("shell", "posix"),
    [(("/bin/sh",), True), (("bash", "-e"), True), (("/usr/bin/env", "zsh"), True), (("python3",), False)],
)
def test_shells_are_known_by_their_names(shell: tuple[str, ...], posix: bool) -> None:
    assert is_posix(shell) is posix


VALUES = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=40)
PLACES = [
    "printf '%s\\0' ${NAME}",
    "printf '%s\\0' \"${NAME}\"",
    "printf '%s\\0' pre${NAME}post",
    "printf '%s\\0' \"$(printf '%s.' ${NAME})\"",
    "set -- ${NAME}; printf '%s\\0' \"$@\"",
    "X=${NAME}; printf '%s\\0' \"$X\"",
    "printf '%s\\0' ${OUT.key}",
    "printf '%s\\0' ${fetch.stdout}",
    "f() { printf '%s\\0' \"$1\"; }; f ${NAME}",
    "if [ ${NAME} = x ]; then printf 'x\\0'; else printf '%s\\0' ${NAME}; fi",
]


@settings(max_examples=60, deadline=None)
@given(VALUES, st.sampled_from(PLACES))
def test_any_value_is_one_word_for_a_real_shell(value: str, place: str) -> None:
    shell, variables, _ = line(place)
    env = {**os.environ, "NAME": value, **dict.fromkeys(variables, value)}
    done = subprocess.run(["/bin/sh", "-c", shell], env=env, capture_output=True, check=False)
    words = done.stdout.decode().split("\0")[:-1]
    if value in ("!", "(", ")", "-a", "-o") and place.startswith("if"):
        return  # operators of test itself
    assert len(words) == 1, done.stderr
    if "." in place.partition("%s.")[1]:
        assert words == [f"{value}."]
    else:
        assert words == [place.count("pre") * "pre" + value + place.count("post") * "post"]
