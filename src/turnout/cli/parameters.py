"""What input do ``-p key=value`` and ``--input file.json`` make?"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from turnout.errors import InvalidInput


def input_file(file: str | None) -> Mapping[str, Any]:
    """The parameters in a JSON file; ``-`` is standard input, None no file."""
    if file is None:
        return {}
    where = "standard input" if file == "-" else file
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{where} cannot be read: {error.strerror}", code="bad_input_file") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{where} is not UTF-8 text", code="bad_input_file") from error
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise InvalidInput(f"{where} is not JSON: {error}", code="bad_input_file") from error
    if not isinstance(found, dict):
        raise InvalidInput(f"{where} holds no object with the parameters by name", code="bad_input_file")
    return found
