"""Tables that fit the screen: the less important columns give way, and no line is too wide."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnout.cli.output import plain_text
from turnout.cli.tables import Column, cut, table

COLUMNS = [
    Column("name", [("short", ""), ("a longer one", "")]),
    Column("bar", [("█████", "green"), ("░░░░░", "green")], rank=2),
    Column("count", [("1", ""), ("1,000", "")], right=True),
    Column("note", [("fine", "dim"), ("open", "red")], rank=1),
]


def drawn(width: int) -> list[str]:
    return [plain_text(line) for line in table(COLUMNS, width)]


def test_with_room_all_columns_are_aligned() -> None:
    assert drawn(80) == [
        "name          bar    count  note",
        "short         █████      1  fine",
        "a longer one  ░░░░░  1,000  open",
    ]


def test_the_least_important_columns_give_way_one_by_one() -> None:
    assert drawn(31)[0] == "name          count  note"
    assert drawn(24)[0] == "name          count"
    assert drawn(14)[0] == "name         …", "and what never gives way is cut"


@given(st.lists(st.tuples(st.text("ab █", max_size=9), st.just("dim")), max_size=6), st.integers(1, 40))
def test_a_line_is_cut_to_the_width_and_says_so(line: list[tuple[str, str]], width: int) -> None:
    text, shown = plain_text(line), plain_text(cut(line, width))
    assert len(shown) <= width
    assert shown == text if len(text) <= width else shown.endswith("…")
