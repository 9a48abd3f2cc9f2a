"""Judgements about steps: conditions, repetitions, tolerated failures, outputs and arguments."""

from __future__ import annotations

from typing import Any

import pytest

from turnout.errors import CommandFailed, InvalidInput
from turnout.model.addresses import is_private_address, is_private_host, is_private_url
from turnout.model.dotenv import parse_dotenv
from turnout.model.interpolation import Reference, as_text, items_in, looked_up
from turnout.model.shell import Captured
from turnout.model.step import Check, Constant, Evaluation, Fields, Interpolated, Items, Line, Output, Repeat, Tolerance
from turnout.model.step_outcome import (
    evaluated,
    holds,
    output_value,
    repeat_delay,
    repeats,
    tolerates,
    unmet_reason,
)
from turnout.model.step_values import masked_value
from turnout.model.variables import refused_variable

COMMAND = Line(("test -f x",))


@pytest.mark.parametrize(
    ("check", "seen", "met"),
    [
        (Check("c", command=COMMAND), {"code": 0}, True),
        (Check("c", command=COMMAND), {"code": 1}, False),
        (Check("c", command=COMMAND, negate=True), {"code": 1}, True),
        (Check("c", text=("x",), expected="yes"), {"text": " yes\n"}, True),
        (Check("c", text=("x",), expected="yes"), {"text": "yes!"}, False),
        (Check("c", text=("x",), expected="yes", negate=True), {"text": "no"}, True),
        (Check("c", text=("x",), expected="re:^v[0-9]+$"), {"text": "v12"}, True),
        (Check("c", text=("x",), expected="re:^v[0-9]+$"), {"text": "xv12"}, False),
    ],
)
def test_a_condition_holds_by_its_exit_code_or_its_text(check: Check, seen: dict[str, Any], met: bool) -> None:
    assert holds(check, **seen) is met


def test_an_unmet_condition_is_shown_as_it_was_written() -> None:
    assert unmet_reason(Check("test -f\n  x")) == "test -f x failed"
    assert unmet_reason(Check("test -f x", negate=True)) == "test -f x succeeded"
    assert unmet_reason(Check("${A}", expected="b")) == "${A} is not b"
    assert unmet_reason(Check("${A}", expected="b", negate=True)) == "${A} is b"
    assert len(unmet_reason(Check("x" * 10_000))) == 207


@pytest.mark.parametrize(
    ("repeat", "code", "met", "executions", "again"),
    [
        (Repeat(), 0, None, 1, True),
        (Repeat(), 1, None, 1, False),
        (Repeat(exit_codes=(75,)), 75, None, 1, True),
        (Repeat(exit_codes=(75,)), 0, None, 1, False),
        (Repeat(until=True, exit_codes=(0,)), 1, None, 1, True),
        (Repeat(until=True, exit_codes=(0,)), 0, None, 1, False),
        (Repeat(check=Check("c")), 0, True, 1, True),
        (Repeat(check=Check("c")), 0, False, 1, False),
        (Repeat(until=True, check=Check("c")), 0, False, 1, True),
        (Repeat(until=True, check=Check("c")), 0, True, 1, False),
        (Repeat(limit=3), 0, None, 2, True),
        (Repeat(limit=3), 0, None, 3, False),
    ],
)
def test_a_step_is_repeated_while_or_until_its_condition(
    repeat: Repeat, code: int, met: bool | None, executions: int, again: bool
) -> None:
    assert repeats(repeat, code, met, executions) is again


def test_the_interval_of_repetitions_grows_up_to_its_limit() -> None:
    repeat = Repeat(interval=2, factor=3, max_interval=10)
    assert [repeat_delay(repeat, number) for number in (1, 2, 3, 9)] == [2, 6, 10, 10]


@pytest.mark.parametrize(
    ("tolerance", "code", "output", "tolerated"),
    [
        (Tolerance(failure=True), 1, "", True),
        (Tolerance(exit_codes=(3, 4)), 4, "", True),
        (Tolerance(exit_codes=(3, 4)), 5, "", False),
        (Tolerance(output=("no rows",)), 1, "there are no rows here", True),
        (Tolerance(output=("re:^no rows$",)), 1, "first\nno rows\n", True),
        (Tolerance(output=("re:^no rows$",)), 1, "there are no rows here", False),
    ],
)
def test_a_failure_is_tolerated_by_code_or_output(
    tolerance: Tolerance, code: int, output: str, tolerated: bool
) -> None:
    assert tolerates(tolerance, code, output) is tolerated


def captured(text: str, limit: int = 1000) -> Captured:
    found = Captured(limit)
    found.feed(text.encode())
    return found.close()


def test_an_output_is_trimmed_text_or_a_part_of_its_json() -> None:
    assert output_value(Output("X"), captured("  a b \n\n")) == "a b"
    assert output_value(Output("X", ".a[1]"), captured('{"a": [1, 2]}')) == 2
    with pytest.raises(CommandFailed, match="not JSON"):
        output_value(Output("X", ".a"), captured("text"))
    with pytest.raises(CommandFailed, match="too many for a variable"):
        output_value(Output("X"), captured("x" * 2000, 100))


def test_arguments_are_evaluated_once_or_for_each_item() -> None:
    name = Interpolated((Reference("NAME"),))
    text = Interpolated(("<", Reference("ITEM"), ">"))
    values = {"NAME": 7, "LIST": '["a", "b"]'}
    once = Evaluation({"n": name, "m": Fields({"x": Items((name, Constant(None)))})})
    assert evaluated(once, values) == {"n": 7, "m": {"x": [7, None]}}
    listed = Evaluation({}, variable=(Reference("LIST"),), mapped=True)
    assert evaluated(listed, values) == {"items": ["a", "b"]}
    each = Evaluation({"t": text, "n": name}, items=(Constant("x"), Constant(2)), mapped=True)
    assert evaluated(each, values) == {"t": ["<x>", "<2>"], "n": [7, 7]}
    with pytest.raises(InvalidInput, match="no list"):
        evaluated(Evaluation({}, variable=(Reference("NAME"),), mapped=True), values)


def test_values_are_masked_at_any_depth() -> None:
    value = {"a": ["secret", {"b": "a secret!"}, 1, None]}
    assert masked_value(value, lambda text: text.replace("secret", "*")) == {"a": ["*", {"b": "a *!"}, 1, None]}


@pytest.mark.parametrize(
    ("value", "items"),
    [
        ("a b  c", ["a", "b", "c"]),
        ("a b\nc\n\n", ["a b", "c"]),
        ('["a b", 1]', ["a b", 1]),
        ("[not json", ["[not", "json"]),
        ("", []),
        (None, []),
        ([1, {"k": 2}], [1, {"k": 2}]),
        (5, None),
    ],
)
def test_items_come_from_lists_json_lines_and_words(value: Any, items: list[Any] | None) -> None:
    assert items_in(value) == items


def test_a_path_leads_into_json_and_into_text_that_is_json() -> None:
    values = {"T": '{"a": {"1": ["x"]}}', "V": {"b": '{"c": 1}'}, "N": None}
    assert looked_up(Reference("T", ("a", 1, 0)), values) == "x"
    assert looked_up(Reference("V", ("b", "c")), values) == 1
    assert looked_up(Reference("N", ("x",)), values) is None and looked_up(Reference("?"), values) is None
    with pytest.raises(
        InvalidInput, match=r"\$\{T\.b\}: there is nothing at \.b: there is an object with the keys 'a'"
    ):
        looked_up(Reference("T", ("b",)), values)
    assert [as_text(each) for each in (True, None, 1.5, ["ü"])] == ["true", "", "1.5", '["ü"]']


def test_dotenv_files_are_read_without_expanding_anything() -> None:
    text = (
        '# a comment\nA=1\nexport B = two words # not this\nC=\'single $A\'\nD="a \\"quoted\\"\\nline"\n'
        'E=a#b\nF=\n1BAD=x\nno equals\nG="first\nsecond"\nH=`id`\n'
    )
    assert parse_dotenv(text) == {
        "A": "1",
        "B": "two words",
        "C": "single $A",
        "D": 'a "quoted"\nline',
        "E": "a#b",
        "F": "",
        "G": "first\nsecond",
        "H": "`id`",
    }


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "192.168.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "::1",
        "fe80::1%eth0",
        "fd00::1",
        "::ffff:10.0.0.1",
        "2002:7f00:1::",
        "224.0.0.1",
        "nonsense",
    ],
)
def test_addresses_that_are_not_of_the_public_internet_are_private(address: str) -> None:
    assert is_private_address(address)


def test_hosts_and_urls_that_are_known_to_be_private() -> None:
    for host in ("localhost", "db", "printer.local", "[::1]", "2130706433", "0x7f000001", "127.1", "x.localhost."):
        assert is_private_host(host), host
    assert not is_private_host("example.com") and not is_private_address("93.184.216.34")
    assert is_private_url("http://127.0.0.1:80/") and is_private_url("nonsense") and is_private_url("http://[bad")
    assert not is_private_url("https://example.com/x")


@pytest.mark.parametrize(
    "name", ["PATH", "LD_PRELOAD", "BASH_ENV", "ENV", "PYTHONPATH", "IFS", "TURNOUT_RUN_ID", "DAG_NAME"]
)
def test_names_that_change_how_programs_start_are_refused(name: str) -> None:
    assert refused_variable(name) and not refused_variable(f"MY_{name}")
