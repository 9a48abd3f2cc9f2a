"""The table layout of all commands. Columns of lower importance are dropped where the screen is too narrow.

Rich's Table is not used: importing and drawing it would add a third to the start-up time of a command.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from turnout.cli.output import UNBOUNDED, Line, Span, print_line
from turnout.model.texts import printable_line

GAP = 2


class Column(msgspec.Struct, frozen=True):
    title: str
    cells: Sequence[Span]
    rank: int = 0
    """Columns with the highest rank are dropped first; those with 0 never are."""
    right: bool = False
    """Aligned to the right, as numbers are."""


def table(columns: Sequence[Column], width: int = UNBOUNDED) -> list[Line]:
    """Returns a header, if any column has a title, and the rows. No line is wider than ``width``."""
    kept = [(column, *_measured(column)) for column in columns]
    while _total(kept) > width and any(column.rank for column, _, _ in kept):
        kept.remove(max(kept, key=lambda each: each[0].rank))
    lines = [list(row) for row in zip(*(_aligned(*each) for each in kept), strict=True)]
    for line in lines:
        text, style = line[-1]
        line[-1] = text.rstrip(), style
    if not any(column.title for column, _, _ in kept):
        lines = lines[1:]
    return lines if _total(kept) <= width else [cut(line, width) for line in lines]


def table_of_rows(rows: Sequence[Sequence[Span]], header: Sequence[str] = ()) -> list[Line]:
    """Returns a table with these rows and no limit to its width."""
    titles = header or ("",) * (len(rows[0]) if rows else 0)
    cells = list(zip(*rows, strict=True)) if rows else [()] * len(titles)
    return table([Column(title, column) for title, column in zip(titles, cells, strict=True)])


def print_rows(rows: Sequence[Sequence[Span]], header: Sequence[str] = ()) -> None:
    for line in table_of_rows(rows, header):
        print_line(line)


def _measured(column: Column) -> tuple[list[Span], int]:
    """Returns the title and cells as they are printed, and the width of the widest."""
    cells = [(column.title, "dim"), *((printable_line(text), style) for text, style in column.cells)]
    return cells, max(len(text) for text, _ in cells)


def _total(kept: Sequence[tuple[Column, list[Span], int]]) -> int:
    return sum(width + GAP for _, _, width in kept) - GAP


def _aligned(column: Column, cells: list[Span], width: int) -> list[Span]:
    gap = " " * GAP
    if column.right:
        return [(f"{text:>{width}}{gap}", style) for text, style in cells]
    return [(f"{text:<{width}}{gap}", style) for text, style in cells]


def cut(line: Line, width: int) -> Line:
    """Returns as much of the line as fits; trailing blanks do not count."""
    line = [(printable_line(part), style) for part, style in line]
    text = "".join(part for part, _ in line).rstrip()
    room = width if len(text) <= width else width - 1
    kept: Line = []
    for part, style in line:
        kept.append((part[:room], style))
        room -= len(kept[-1][0])
        if room <= 0:
            break
    return kept if len(text) <= width else [*kept, ("…", "dim")]
