"""Tables that fit the screen: the less important columns give way, and no line is too wide."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnout.cli.output import Column, cut, plain_text, table, table_of_rows

COLUMNS = [
    Column("name", [("short", ""), ("a longer one", "")]),
    Column("bar", [("█████", "green"), ("░░░░░", "green")], rank=2),
    Column("count", [("1", ""), ("1,000", "")], right=True),
    Column("note", [("fine", "dim"), ("open", "red")], rank=1),
]


def render(width: int) -> list[str]:
    return [plain_text(line) for line in table(COLUMNS, width)]


def test_with_room_all_columns_are_aligned() -> None:
    assert render(80) == [
        "name          bar    count  note",
        "short         █████      1  fine",
        "a longer one  ░░░░░  1,000  open",
    ]


def test_the_least_important_columns_give_way_one_by_one() -> None:
    assert render(31)[0] == "name          count  note"
    assert render(24)[0] == "name          count"
    assert render(14)[0] == "name         …", "and what never gives way is cut"


@given(st.lists(st.tuples(st.text("ab █", max_size=9), st.just("dim")), max_size=6), st.integers(1, 40))
def test_a_line_is_cut_to_the_width_and_says_so(line: list[tuple[str, str]], width: int) -> None:
    text, shown = plain_text(line), plain_text(cut(line, width))
    assert len(shown) <= width
    assert shown == text if len(text) <= width else shown.endswith("…")


def test_a_table_without_titles_has_no_header_and_no_trailing_blanks() -> None:
    rows = [[("a", ""), ("1", "")], [("bb", ""), ("", "")]]
    assert table_of_rows(rows) == [[("a   ", ""), ("1", "")], [("bb  ", ""), ("", "")]]


def test_a_header_alone_is_a_table_too() -> None:
    assert [plain_text(line) for line in table_of_rows([], ("run", "state"))] == ["run  state"]


@given(st.lists(st.tuples(st.text("ab\n█", max_size=9), st.text("c ", max_size=9)), max_size=5), st.integers(1, 40))
def test_no_line_of_a_table_is_wider_than_the_screen(cells: list[tuple[str, str]], width: int) -> None:
    columns = [Column("x", [(a, "") for a, _ in cells]), Column("y", [(b, "") for _, b in cells], rank=1, right=True)]
    lines = table(columns, width)
    assert len(lines) == len(cells) + 1 and all(len(plain_text(line)) <= width for line in lines)
