"""The input that ``-p key=value``, ``--input file.json`` and ``--input '{…}'`` make."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from turnout.errors import InvalidInput

HOW = """--input FILE, --input - for standard input, or the JSON itself: --input '{"name": "Ada"}'"""


def input_file(file: str | None) -> Mapping[str, Any]:
    """The parameters as JSON: in a file, on standard input (``-``), or in the option itself; None: there are none."""
    if file is None:
        return {}
    itself = file.lstrip()[:1] in ("{", "[")
    where = "standard input" if file == "-" else "--input" if itself else file
    try:
        text = file if itself else sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{where} cannot be read: {error.strerror}", code="bad_input_file", hint=HOW) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{where} is not UTF-8 text", code="bad_input_file") from error
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise InvalidInput(f"{where} is not JSON: {error}", code="bad_input_file", hint=HOW) from error
    if not isinstance(found, dict):
        raise InvalidInput(f"{where} holds no object with the parameters by name", code="bad_input_file", hint=HOW)
    return found
