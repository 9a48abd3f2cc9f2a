"""Lines, results and JSON on standard output, with colours on terminals; confirmation by the user."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import Any, TextIO, TypeAlias

import msgspec

from turnout.model.texts import json_text, printable, printable_line

Span: TypeAlias = tuple[str, str]
"""Text and its style; an empty style is plain."""
Line: TypeAlias = list[Span]

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
