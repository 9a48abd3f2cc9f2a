"""What does the environment say? ``TURNOUT_``, the key in capitals, ``__`` between its parts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from turnout.errors import InvalidSetting
from turnout.runner.config_files import CONFIG_VARIABLE
from turnout.runner.config_shape import (
    EXECUTORS,
    SHAPE,
    TABLES,
    Key,
    checked,
    dotted,
    kind_of,
    short_form,
    unknown,
    usual,
)

PREFIX = "TURNOUT_"


def said_by_variables(environment: Mapping[str, str]) -> Iterator[tuple[Key, Any, str]]:
    """Each key that a variable sets, its checked value, and the variable's name."""
    for name in sorted(environment):
        key = _key(name)
        if key is not None:
            yield key, checked(key, _value(key, environment[name], name), name), name


def _key(name: str) -> Key | None:
    """The key that a variable sets; None if it is none of ours, however it is called.

    What begins with the name of a table, or looks like one of our keys with a slip in it, must be right. Other
    variables are left alone: clusters set ``TURNOUT_PORT`` for a service of that name.
    """
    if not name.startswith(PREFIX) or name == CONFIG_VARIABLE:
        return None
    parts = [part.lower() for part in name.removeprefix(PREFIX).split("__")]
    key: Key = short_form(usual(tuple(parts)))
    if kind_of(key) is not None:
        return key
    if len(key) > 1 and key in TABLES:
        inner = next(each for each in SHAPE if each[: len(key)] == key)
        raise InvalidSetting(
            f"the environment variable {name} is a table; set its keys one by one, as in "
            f"{PREFIX}{'__'.join(inner).upper()}",
            code="bad_setting",
            key=dotted(key),
        )
    if len(key) > 1 and key[:1] in TABLES:
        raise unknown(key, f"the environment variable {name}")
    near = get_close_matches(parts[0], [each[0] for each in SHAPE if len(each) == 1], n=1, cutoff=0.8)
    if len(key) == 1 and near:
        raise InvalidSetting(
            f"the environment variable {name} is no setting: did you mean {PREFIX}{near[0].upper()}?",
            code="unknown_setting",
            key=name,
        )
    return None


def _value(key: Key, text: str, name: str) -> Any:
    """Lists, tables and the free options of executors are JSON; everything else is plain text."""
    looks_like_json = text[:1] in ("[", "{") or (key[0] == EXECUTORS and key[2:] != ("use",))
    if not looks_like_json:
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        if key[0] == EXECUTORS:
            return text
        raise InvalidSetting(
            f"the environment variable {name} is not JSON: {error}", code="bad_setting", key=dotted(key)
        ) from error
