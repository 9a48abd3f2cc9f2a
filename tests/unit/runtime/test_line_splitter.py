"""LineSplitter out of bytes, however they are cut."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from turnout.runtime.supervised_process import MAX_LINE_LENGTH, LineSplitter


def lines_of(*parts: bytes) -> list[str]:
    found: list[str] = []
    lines = LineSplitter(found.append)
    for part in parts:
        lines.feed(part)
    lines.flush()
    return found


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r")), st.lists(st.integers(0, 80)))
def test_the_lines_are_the_same_wherever_the_bytes_are_cut(text: str, cuts: list[int]) -> None:
    data = text.encode()
    ends = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    parts = [data[begin:end] for begin, end in pairwise(ends)]
    expected = text.split("\n")
    assert lines_of(*parts) == (expected if expected[-1] else expected[:-1])


def test_a_line_that_does_not_end_is_handed_on_in_pieces() -> None:
    pieces = lines_of(b"x" * (2 * MAX_LINE_LENGTH + 1))
    assert [len(piece) for piece in pieces] == [MAX_LINE_LENGTH, MAX_LINE_LENGTH, 1]


def test_bytes_that_are_no_text_are_replaced_and_windows_line_ends_taken_off() -> None:
    assert lines_of(b"a\xff\r\nb") == ["a�", "b"]
