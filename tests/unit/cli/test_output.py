"""Output for people and for programs, and the exit code of every error."""

from __future__ import annotations

import io
import json
import logging
from pathlib import Path

import pytest

from turnout import errors, task, workflow
from turnout.cli.failure import Exit, exit_code, report_error
from turnout.cli.foreground import Hints
from turnout.cli.format import format_duration
from turnout.cli.graph import render
from turnout.cli.output import PrintableFormatter, plain, plain_text, print_line, table_of_rows, with_colours
from turnout.cli.run_input import input_file
from turnout.cli.watch import as_text
from turnout.model.states import RunState, TaskState
from turnout.runner.views import RunView
from turnout.store.database import shown_url


def test_columns_are_aligned() -> None:
    rows = [[("a", ""), ("bb", ""), ("c", "")], [("aaa", ""), ("b", ""), ("ccccc", "")]]
    assert [plain_text(line) for line in table_of_rows(rows)] == ["a    bb  c", "aaa  b   ccccc"]
    assert table_of_rows([]) == []


def test_colours_are_only_added() -> None:
    assert with_colours([("a", "red"), ("b", "")]) == "\x1b[31ma\x1b[0mb"


def test_text_from_outside_steers_no_terminal_however_it_is_drawn() -> None:
    evil = "\x1b[2J\x07\u202e"
    shown = r"\x1b[2J\x07\u202e"
    assert plain_text([(evil, "")]) == shown
    assert with_colours([(evil, "red"), (evil, "")]) == f"\x1b[31m{shown}\x1b[0m{shown}"
    assert as_text([[(f"[bold]{evil}", "")]]).plain == f"[bold]{shown}"
    assert [plain_text(line) for line in table_of_rows([[(evil, ""), ("a", "")], [("b\nc", ""), ("d", "")]])] == [
        rf"{shown}  a",
        r"b\nc" + " " * (len(shown) - 4) + "  d",
    ]


def test_records_of_services_steer_no_terminal() -> None:
    record = logging.LogRecord("turnout.hub", logging.WARNING, "", 1, "worker %s\nleft", ("\x1b[2J",), None)
    assert PrintableFormatter("%(message)s").format(record) == "worker \\x1b[2J\nleft"


def test_a_stream_that_cannot_say_a_mark_gets_another() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    print_line([("✓ done", "green")], to=stream)
    stream.seek(0)
    assert stream.read() == "? done\n"


def test_json_keeps_every_field_whatever_its_value() -> None:
    view = RunView(id="1", workflow="w", state=RunState.RUNNING)
    found = plain({"runs": (view,)})
    assert set(found["runs"][0]) == set(RunView.__struct_fields__)
    assert json.loads(json.dumps(found))["runs"][0]["state"] == "running"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.RunFailed("x"), Exit.FAILED),
        (errors.RunCancelled("x"), Exit.CANCELLED),
        (errors.RunTimedOut("x"), Exit.TIMED_OUT),
        (errors.RunNotFound("x"), Exit.USAGE),
        (errors.InvalidWorkflow("x"), Exit.USAGE),
        (errors.InvalidSetting("x"), Exit.USAGE),
        (errors.InvalidInput("x"), Exit.USAGE),
        (errors.NoExecutor("x"), Exit.USAGE),
        (errors.StoreUnreachable("x"), Exit.UNAVAILABLE),
        (errors.SchemaTooNew("x"), Exit.UNAVAILABLE),
        (errors.HubUnavailable("x"), Exit.UNAVAILABLE),
        (errors.TurnoutError("x"), Exit.FAILED),
    ],
)
def test_every_kind_of_error_has_its_exit_code(error: errors.TurnoutError, code: Exit) -> None:
    assert exit_code(error) == code


def test_an_error_is_one_message_with_its_code_and_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    report_error(errors.RunNotFound("there is no run x"), as_json=False)
    assert capsys.readouterr().err.splitlines() == [
        "error[run_not_found]: there is no run x",
        "hint: `turnout runs ls` lists the runs",
    ]
    report_error(errors.RunNotFound("there is no run x", hint="look elsewhere"), as_json=True)
    assert json.loads(capsys.readouterr().err) == {
        "error": {"code": "run_not_found", "message": "there is no run x", "hint": "look elsewhere"}
    }


def test_durations_take_few_characters() -> None:
    assert [format_duration(each) for each in (0, 0.9994, 0.9996, 59.94, 59.96, 3599.6, 86399, 86400)] == [
        "0 ms",
        "999 ms",
        "1.0 s",
        "59.9 s",
        "1m00s",
        "1h00m",
        "23h59m",
        "1d00h",
    ]


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:s3cret@db/turnout",
        "postgresql://ada:s3:cr/et@db/turnout",
        "postgresql://ada@db/turnout?password=s3cret&sslmode=require",
        "host=db user=ada password=s3cret",
        "host=db user=ada password='s3 cret'",
    ],
)
def test_a_password_is_never_shown(url: str) -> None:
    shown = shown_url(url)
    assert "ada" in shown and "db" in shown and "***" in shown
    assert "cret" not in shown and "et@" not in shown


def test_hints_can_be_typed_and_never_hold_a_password() -> None:
    again = Hints("my flows.py", "sqlite:///x.db")
    assert again.rerun("0199a3f2-3c4d-7abc-8def-000000000000") == (
        "turnout runs rerun 0199a3f2-3c4d-7abc-8def --target 'my flows.py' --database sqlite:///x.db"
    )
    assert Hints().logs("0199", "resize[3]") == "turnout logs 0199 'resize[3]'"
    assert "s3cret" not in Hints(None, "postgresql://ada:s3cret@db/turnout").rerun("0199")


def test_input_comes_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "input.json"
    file.write_text('{"a": 1, "b": 2}')
    assert input_file(str(file)) == {"a": 1, "b": 2}
    assert input_file(None) == {}


@pytest.mark.parametrize("content", ["[1]", "{", "\udcff"])
def test_input_that_is_no_object_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "input.json"
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(errors.InvalidInput) as raised:
        input_file(str(file))
    assert raised.value.code == "bad_input_file"


def test_a_drawn_run_marks_mapped_tasks_and_hooks_too() -> None:
    @task
    def numbers() -> list[int]:
        return [1]

    @task
    def double(number: int) -> int:
        return 2 * number

    @task
    def notify() -> None: ...

    @workflow(on_exit=notify)
    def hooked() -> list[int]:
        return double.map(numbers())

    states = {each.name: TaskState.COMPLETED for each in hooked.spec.tasks}
    marked = [plain_text(line) for line in render(hooked.spec, states, "ascii")]
    assert [line.split()[:2] for line in marked] == [["✓", "numbers"], ["✓", "double[…]"], [], ["✓", "on_exit.notify"]]
    for format in ("mermaid", "dot", "svg"):
        assert any("notify" in plain_text(line) for line in render(hooked.spec, states, format))
