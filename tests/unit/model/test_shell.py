"""Commands of shell tasks: templates, quoting, exit codes, bounded capture."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnout.errors import CommandFailed, InvalidInput, InvalidWorkflow
from turnout.model.shell import Captured, ShellSpec, check, outcome, render

texts = st.text(st.characters(exclude_characters="\x00", exclude_categories=("Cs",)))
words = st.one_of(texts, st.integers(), st.booleans())


def as_text(value: Any) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


@settings(deadline=None)
@given(st.lists(words, min_size=1))
def test_in_text_for_the_shell_every_value_stays_the_words_that_it_is(values: list[Any]) -> None:
    text = render(ShellSpec("run {values} end"), {"values": values}).argv[-1]
    assert shlex.split(text) == ["run", *map(as_text, values), "end"]


@settings(deadline=None)
@given(st.lists(words), words)
def test_in_a_list_a_value_is_one_word_and_a_list_as_many_as_it_has(values: list[Any], one: Any) -> None:
    argv = render(ShellSpec(("run", "--one={one}", "{values}")), {"values": values, "one": one}).argv
    assert argv == ["run", f"--one={as_text(one)}", *map(as_text, values)]


def test_environment_and_folder_are_templates_too() -> None:
    spec = ShellSpec(("run",), env={"A": "x{a}"}, cwd="/tmp/{b}")
    assert spec.placeholders() == ("a", "b")
    command = render(spec, {"a": 1, "b": "c"})
    assert (command.env, command.cwd) == ({"A": "x1"}, "/tmp/c")


def test_braces_of_the_command_itself_are_doubled() -> None:
    assert render(ShellSpec("awk '{{print $1}}' ${{HOME}}"), {}).argv[-1] == "awk '{print $1}' ${HOME}"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ((), "empty command"),
        ("  ", "empty command"),
        ("awk '{print $1}'", "which is not a name"),
        ("echo {x", "is not a template"),
        ("echo {x:>3}", "which is not a name"),
        ("echo '{x}'", "inside quotes"),
        ('echo "a \\" {x}"', "inside quotes"),
    ],
)
def test_a_command_that_cannot_work_is_refused(command: Any, why: str) -> None:
    with pytest.raises(InvalidWorkflow, match=why) as caught:
        check(ShellSpec(command), "t")
    assert caught.value.code == "bad_command"


@pytest.mark.parametrize("command", ["echo \\'{x}", "echo 'a' {x} \"b\"", ("echo", "'{x}'")])
def test_placeholders_beside_quotes_are_fine(command: Any) -> None:
    check(ShellSpec(command), "t")


@pytest.mark.parametrize("value", [None, {"a": 1}, [None], [[1]], "a\x00b"])
def test_a_value_that_cannot_be_part_of_a_command_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^x "):
        render(ShellSpec(("run", "{x}")), {"x": value})


@pytest.mark.parametrize("value", [[], [1, 2]])
def test_a_list_has_no_place_inside_a_word(value: list[int]) -> None:
    with pytest.raises(InvalidInput, match="x is a list"):
        render(ShellSpec(("run", "a{x}")), {"x": value})


@settings(deadline=None)
@given(st.lists(st.binary(max_size=40)), st.integers(1, 50))
def test_of_what_was_written_the_end_is_kept_and_the_rest_counted(parts: list[bytes], limit: int) -> None:
    captured = Captured(limit)
    for part in parts:
        captured.feed(part)
    captured.close()
    whole = b"".join(parts)
    assert captured.data == whole[-limit:]
    assert captured.lost == max(0, len(whole) - limit)


def captured(text: str) -> Captured:
    made = Captured(1_000_000)
    made.feed(text.encode())
    return made.close()


def test_a_failure_quotes_the_end_of_what_the_command_said() -> None:
    with pytest.raises(CommandFailed) as caught:
        outcome(ShellSpec("x"), 2, captured("out"), captured("a" * 5_000 + "the end\n"))
    assert caught.value.message.startswith("exit code 2: aaa")
    assert caught.value.message.endswith("the end")
    assert len(caught.value.message) < 2_100
    with pytest.raises(CommandFailed, match=r"^exit code 2: out$"):
        outcome(ShellSpec("x"), 2, captured("out"), captured(""))
