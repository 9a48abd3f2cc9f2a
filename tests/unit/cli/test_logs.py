"""Lines of tasks as people see them."""

from __future__ import annotations

from turnout.cli.logs import format_line, format_progress, progress_fraction
from turnout.cli.output import plain_text


def test_a_line_has_its_task_and_from_the_second_on_its_attempt() -> None:
    assert plain_text(format_line("charge", "stdout", "declined")) == "charge │ declined"
    assert plain_text(format_line("charge", "log", "declined", attempt=2)) == "charge#2 │ declined"


def test_progress_is_said_in_words() -> None:
    assert format_progress('{"done":3.0,"total":10.0,"message":"three files"}') == "3 of 10, three files"
    assert format_progress('{"done":2.5}') == "2.5"
    assert format_progress("not what a body says") == "not what a body says"
    assert progress_fraction('{"done":3,"total":4}') == 0.75 and progress_fraction('{"done":9,"total":4}') == 1.0
    assert (
        progress_fraction('{"done":3}')
        is progress_fraction('{"done":3,"total":0}')
        is progress_fraction("nonsense")
        is None
    )
    assert plain_text(format_line("copy", "progress", '{"done":1,"total":2}')) == "copy │ 1 of 2"
