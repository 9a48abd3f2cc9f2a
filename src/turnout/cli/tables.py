"""Which columns of a table fit the screen? The less important ones give way."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from turnout.cli.output import Line, Span
from turnout.model.printable import printable_line

GAP = 2


class Column(msgspec.Struct, frozen=True):
    title: str
    cells: Sequence[Span]
    rank: int = 0
    """Those with the highest rank give way first; 0 never does."""
    right: bool = False
    """Aligned to the right, as numbers are."""

    @property
    def width(self) -> int:
        return max(len(self.title), *(len(printable_line(text)) for text, _ in self.cells), 0)


def table(columns: Sequence[Column], width: int) -> list[Line]:
    """A header and the rows, no line of them wider than this."""
    kept = list(columns)
    while sum(column.width + GAP for column in kept) - GAP > width and any(column.rank for column in kept):
        kept.remove(max(kept, key=lambda column: column.rank))
    rows = [[(column.title, "dim") for column in kept], *zip(*(column.cells for column in kept), strict=True)]
    return [
        cut([_aligned(cell, column) for cell, column in zip(row, kept, strict=True)], width) for row in rows if kept
    ]


def _aligned(cell: Span, column: Column) -> Span:
    text, style = printable_line(cell[0]), cell[1]
    padded = f"{text:>{column.width}}" if column.right else f"{text:<{column.width}}"
    return padded + " " * GAP, style


def cut(line: Line, width: int) -> Line:
    """As much of the line as there is room for; blanks at its end need none."""
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
