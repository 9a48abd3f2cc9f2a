"""Reads the parameters of a run from a file, standard input or the command line."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from turnout.errors import InvalidInput
from turnout.model.values import load_json

INPUT_HINT = """--input FILE, --input - for standard input, or the JSON itself: --input '{"name": "Ada"}'"""


def input_file(file: str | None) -> Mapping[str, Any]:
    """Returns the parameters from a JSON file, standard input (``-``) or the option itself; empty for None."""
    if file is None:
        return {}
    is_json = file.lstrip()[:1] in ("{", "[")
    where = "standard input" if file == "-" else "--input" if is_json else file
    try:
        text = file if is_json else sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(
            f"{where} cannot be read: {error.strerror}", code="bad_input_file", hint=INPUT_HINT
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{where} is not UTF-8 text", code="bad_input_file") from error
    try:
        found = load_json(text, where)
    except msgspec.DecodeError as error:
        raise InvalidInput(f"{where} is not JSON: {error}", code="bad_input_file", hint=INPUT_HINT) from error
    if not isinstance(found, dict):
        raise InvalidInput(
            f"{where} holds no object with the parameters by name", code="bad_input_file", hint=INPUT_HINT
        )
    return found


def named_values(names: Sequence[str], positional: Sequence[str], arguments: Iterable[str]) -> list[str]:
    """Returns arguments as ``["key=value", …]``: one without a key gets that of the next positional parameter.

    Only a declared name before ``=`` is a key: ``a=b`` may be a value.

    >>> named_values(["day", "limit"], ["day", "limit"], ["monday", "limit=10"])
    ['day=monday', 'limit=10']
    """
    left, pairs = list(positional), list[str]()
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        if equals and name in names:
            pairs.append(argument)
            left = [each for each in left if each != name]
        elif left:
            pairs.append(f"{left.pop(0)}={argument}")
        else:
            message = f"{argument!r} is one argument too many: the workflow takes {len(names)}"
            raise InvalidInput(message, code="unknown_parameter", value=argument)
    return pairs


def untyped_parameters(pairs: Iterable[str], texts: Iterable[str] = ()) -> dict[str, Any]:
    """Returns ``["key=value", …]`` by name where the code of the workflow is elsewhere: JSON if it is JSON, else text.
    The parameters named in ``texts`` are always text.

    >>> untyped_parameters(["total=21", "customer=Ada", "zip=01234"], texts=["zip"])
    {'total': 21, 'customer': 'Ada', 'zip': '01234'}
    """
    plain, found = frozenset(texts), dict[str, Any]()
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip()
        if not equals or not name:
            raise InvalidInput(f"parameter {pair!r} has no value: write key=value", code="bad_parameter")
        if name in found:
            raise InvalidInput(f"parameter {name!r} is given twice: write a list as JSON", code="duplicate_parameter")
        found[name] = text if name in plain else _value(text)
    return found


def _value(text: str) -> Any:
    try:
        return load_json(text, "the parameter")
    except msgspec.DecodeError:
        return text
