"""What input do ``-p key=value`` and ``--input file.json`` make?"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from turnout.authoring.workflow import Workflow
from turnout.errors import InvalidInput


def read_input(workflow: Workflow[..., Any] | None, given: Sequence[str], file: str | None) -> dict[str, Any]:
    """The file's object, with the single parameters over it."""
    return {**(_from_file(file) if file else {}), **_parameters(given)}


def _parameters(given: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in given:
        name, equals, text = each.partition("=")
        if not equals or not name:
            raise InvalidInput(f"-p {each!r} is no parameter: write -p NAME=VALUE", code="bad_parameter")
        found[name] = _value(text)
    return found


def _value(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _from_file(file: str) -> dict[str, Any]:
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}", code="bad_input_file") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file} is not UTF-8 text", code="bad_input_file") from error
    where = "standard input" if file == "-" else file
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise InvalidInput(f"{where} is not JSON: {error}", code="bad_input_file") from error
    if not isinstance(found, dict):
        raise InvalidInput(f"{where} holds no object with the parameters by name", code="bad_input_file")
    return found
