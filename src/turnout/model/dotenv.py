"""Reads the variables of a dotenv file."""

from __future__ import annotations

import re

_LINE = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?P<value>.*?)\s*")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "$": "$"}


def parse_dotenv(text: str) -> dict[str, str]:
    """Returns the variables in order. Values are taken as they are: nothing in them is expanded.

    >>> parse_dotenv("export A=1 # one\\nB='two words'\\n# nothing\\n")
    {'A': '1', 'B': 'two words'}
    """
    found: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None or line.lstrip().startswith("#"):
            continue
        value = match["value"]
        if value[:1] in ("'", '"'):
            quote = value[0]
            while not _closed(value, quote):
                more = next(lines, None)
                if more is None:
                    break
                value = f"{value}\n{more}"
            found[match["name"]] = _unquoted(value, quote)
        else:
            found[match["name"]] = re.split(r"(?:^|\s)#", value, maxsplit=1)[0].rstrip()
    return found


def _end(value: str, quote: str) -> int:
    """Returns the position of the closing quote; -1 if it is not there."""
    place = 1
    while place < len(value):
        if value[place] == "\\" and quote == '"':
            place += 2
            continue
        if value[place] == quote:
            return place
        place += 1
    return -1


def _closed(value: str, quote: str) -> bool:
    return _end(value, quote) >= 0


def _unquoted(value: str, quote: str) -> str:
    end = _end(value, quote)
    inner = value[1:end] if end >= 0 else value[1:]
    if quote == "'":
        return inner
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[0]), inner)
