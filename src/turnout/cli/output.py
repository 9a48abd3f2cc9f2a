"""Prints lines, tables, results and JSON on standard output, with colours on terminals; asks for confirmation; sets up
logging."""

from __future__ import annotations

import io
import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import Any, TextIO, TypeAlias, TypeVar

import msgspec

from turnout.errors import InvalidSetting
from turnout.model.texts import json_text, printable, printable_line

Span: TypeAlias = tuple[str, str]
"""Text and its style; an empty style is plain."""
Line: TypeAlias = list[Span]
T = TypeVar("T")

_ANSI = {
    "green": "32",
    "red": "31",
    "yellow": "33",
    "cyan": "36",
    "magenta": "35",
    "dim": "2",
    "bold": "1",
}


UNBOUNDED = 10_000
"""The width of lines outside of terminals."""


def is_terminal(stream: TextIO | None = None) -> bool:
    return (stream or sys.stdout).isatty() and os.environ.get("TERM") != "dumb"


def coloured(stream: TextIO | None = None) -> bool:
    """Returns True on a terminal, unless NO_COLOR is set."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def width_of(stream: TextIO | None = None) -> int:
    """Returns the width of the terminal, or UNBOUNDED in a pipe."""
    return shutil.get_terminal_size().columns if is_terminal(stream) else UNBOUNDED


def plain_text(line: Iterable[Span]) -> str:
    return "".join(printable(text) for text, _ in line).rstrip()


def with_colours(line: Iterable[Span]) -> str:
    return "".join(
        f"\x1b[{_ANSI[style]}m{printable(text)}\x1b[0m" if style else printable(text) for text, style in line
    )


def print_line(line: Iterable[Span] | str = "", *, to: TextIO | None = None) -> None:
    """Prints one line. Control characters are escaped, here or where the line gets its colours."""
    stream = sys.stdout if to is None else to
    text = printable(line) if isinstance(line, str) else (with_colours if coloured(stream) else plain_text)(line)
    try:
        print(text, file=stream, flush=True)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        print(text.encode(encoding, "replace").decode(encoding), file=stream, flush=True)


def print_json(value: Any) -> None:
    """Prints one JSON document to stdout. Structs keep every field, so that the shape does not depend on the values."""
    stream = sys.__stdout__ or sys.stdout
    print(json_text(plain(value), indent=2 if is_terminal(stream) else None), file=stream, flush=True)


def print_result(result: Any) -> None:
    """Prints a text as it is, any other value as JSON."""
    print_line(result if isinstance(result, str) else json_text(result, indent=2))


@contextmanager
def stdout_for_json(as_json: bool) -> Iterator[None]:
    """Reserves standard output for the JSON document: what tasks print goes to stderr."""
    with redirect_stdout(sys.stderr) if as_json else nullcontext():
        yield


def plain(value: Any) -> Any:
    match value:
        case msgspec.Struct():
            return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
        case Mapping():
            return {str(key): plain(each) for key, each in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(each) for each in value]
        case None | bool() | int() | float():
            return value
        case _:
            return str(value)


def confirmed(question: str, *, yes: bool) -> bool:
    """Returns True with ``yes``, without a terminal, or if the user confirms."""
    import typer

    if yes or not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        return True
    return typer.confirm(printable_line(question), err=True)


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


def print_list(
    found: Sequence[T], row: Callable[[T], Sequence[Span]], header: Sequence[str], *, empty: str, as_json: bool
) -> None:
    """Prints all as JSON, or a table with a row each; ``empty`` if there are none."""
    if as_json:
        print_json(found)
    elif found:
        print_rows([row(each) for each in found], header)
    else:
        print_line(empty)


def print_changed(value: Any, sentence: str, *, as_json: bool) -> None:
    """Prints what was changed as JSON, or a sentence about it."""
    if as_json:
        print_json(value)
    else:
        print_line(sentence)


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


LEVELS = ("debug", "info", "warning", "error", "critical")
DEFAULT_LEVEL = "warning"


class PrintableFormatter(logging.Formatter):
    """Formats records with control characters escaped: they may quote names of workers and runs."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def configure_logging(level: str | None, info_loggers: Iterable[str]) -> None:
    """Sets up stdout and logging. ``info_loggers`` report on the service itself, from info on."""
    # In a pipe or a file, Python would buffer some thousand characters.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    number = _number(DEFAULT_LEVEL if level is None else level)
    handler = logging.StreamHandler()
    handler.setFormatter(PrintableFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=number, handlers=[handler])
    for name in info_loggers:
        logging.getLogger(name).setLevel(min(number, logging.INFO))


def _number(level: str) -> int:
    if level.lower() not in LEVELS:
        raise InvalidSetting(
            f"--log-level is {level!r}: write {', '.join(LEVELS[:-1])} or {LEVELS[-1]}", field="log_level", value=level
        )
    return logging.getLevelNamesMapping()[level.upper()]
