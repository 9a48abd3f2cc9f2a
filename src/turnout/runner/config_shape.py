"""Which keys may a configuration have, and what do their values look like?

A configuration is flat here: ``("orchestration", "lease")`` is a key. Files and the environment say the same keys,
files in tables and the environment with ``__`` between the parts.
"""

from __future__ import annotations

import itertools
import math
import re
import types
import typing
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, TypeAlias, TypeVar, cast

import msgspec

from turnout.errors import DefinitionError, InvalidSetting
from turnout.executors.pubsub.settings import STEP_EXECUTION, PubSubSettings
from turnout.executors.workers.settings import HubSettings
from turnout.model.checks import Ratio
from turnout.model.durations import Duration, seconds
from turnout.model.names import suggest
from turnout.model.texts import checked_text
from turnout.orchestration.settings import EngineSettings

Key: TypeAlias = tuple[str, ...]
S = TypeVar("S", bound=msgspec.Struct)

EXECUTORS, ORCHESTRATION, ROUTING, WORKER, HUB = "executors", "orchestration", "routing", "worker", "hub"
HUB_SPELLING = "coordinator"
RULES: Key = (ROUTING, "rules")
RULE_KEYS = ("pattern", "executor", "labels", "percent", "shadow")
RULE_SPELLINGS = {"worker_selector": "labels"}


class Kind(Enum):
    """What a value must be, in the words of a message."""

    TEXT = "text"
    TEXTS = "a list of texts"
    LABELS = 'labels as { gpu = "true" }, or as a list of texts such as "gpu=true"'
    SECONDS = 'a number of seconds, or text such as "30s", "5m" or "1h30m"'
    RATIO = "a number above 0 and below 1"
    COUNT = "a whole number"
    FLAG = "true or false"
    MODE = '"local" or "distributed"'
    RULES = "a list of rules with pattern and executor"
    FREE = "a value"


def _settings(kind: type[msgspec.Struct], at: Key) -> dict[Key, Kind]:
    found: dict[Key, Kind] = {}
    for name, annotation in typing.get_type_hints(kind, include_extras=True).items():
        wanted = _without_none(annotation)
        if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
            found |= _settings(wanted, (*at, name))
        elif typing.get_origin(wanted) in (tuple, list):
            found[*at, name] = Kind.TEXTS
        else:
            found[*at, name] = next((kind for known, kind in _KINDS if wanted == known), Kind.FREE)
    return found


def overlaid(settings: S, said: Mapping[str, Any], path: str) -> S:
    """The settings with nested values, whose kinds were checked one by one, in place of their own."""
    hints = typing.get_type_hints(type(settings))
    values: dict[str, Any] = {}
    for name, value in said.items():
        wanted, at = _without_none(hints[name]), f"{path}.{name}"
        if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
            # Beside what was said stay the defaults of this very place: pools have defaults of their own.
            values[name] = overlaid(getattr(settings, name) or wanted(), value, at)
        elif typing.get_origin(wanted) in (tuple, list):
            try:
                values[name] = msgspec.convert(value, wanted)
            except msgspec.ValidationError as error:
                raise InvalidSetting(f"{at} is {value!r}: {error}", field=at) from error
        else:
            values[name] = value
    return msgspec.structs.replace(settings, **values)


def _without_none(annotation: Any) -> Any:
    """``float`` of ``float | None``."""
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        left = [each for each in typing.get_args(annotation) if each is not types.NoneType]
        return left[0] if len(left) == 1 else annotation
    return annotation


_KINDS: tuple[tuple[Any, Kind], ...] = (
    (float, Kind.SECONDS),
    (Duration, Kind.SECONDS),
    (Ratio, Kind.RATIO),
    (int, Kind.COUNT),
    (bool, Kind.FLAG),
    (str, Kind.TEXT),
)

SHAPE: Mapping[Key, Kind] = {
    ("database",): Kind.TEXT,
    ("tenant",): Kind.TEXT,
    ("workflows",): Kind.TEXTS,
    ("polling",): Kind.TEXTS,
    ("default_execution_mode",): Kind.MODE,
    ("strict_selectors",): Kind.FLAG,
    ("max_output_bytes",): Kind.COUNT,
    ("default_timeout",): Kind.SECONDS,
    ("default_retries",): Kind.COUNT,
    (ROUTING, "default"): Kind.TEXT,
    RULES: Kind.RULES,
    (WORKER, "connect"): Kind.TEXTS,
    (WORKER, "import"): Kind.TEXTS,
    (WORKER, "name"): Kind.TEXT,
    (WORKER, "labels"): Kind.LABELS,
    (WORKER, "concurrency"): Kind.COUNT,
    (WORKER, "processes"): Kind.FLAG,
    (WORKER, "grace"): Kind.SECONDS,
    (WORKER, "server_key"): Kind.TEXT,
    (WORKER, "key_file"): Kind.TEXT,
    **_settings(HubSettings, (HUB,)),
    (HUB, "host"): Kind.TEXT,
    (HUB, "port"): Kind.COUNT,
    **_settings(EngineSettings, (ORCHESTRATION,)),
    **_settings(PubSubSettings, (STEP_EXECUTION,)),
}
"""Every key but those of ``executors``, which are names and options of the user's own."""

TABLES = {key[:length] for key in SHAPE for length in range(1, len(key))} | {(EXECUTORS,)}


def snake(name: str) -> str:
    """``defaultExecutionMode`` as ``default_execution_mode``: both spellings are understood."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def usual(key: Key) -> Key:
    """The key as it stands in ``SHAPE``: the hub may also be called the coordinator."""
    return (HUB, *key[1:]) if key[0] == HUB_SPELLING else key


def short_form(key: Key) -> Key:
    """``hub`` alone is its address."""
    return (HUB, "address") if key == (HUB,) else key


def dotted(key: Key) -> str:
    return ".".join(key)


def kind_of(key: Key) -> Kind | None:
    """What the key's value must be; None if there is no such key."""
    if key[0] == EXECUTORS and len(key) >= 3:
        return Kind.TEXT if key[2:] == ("use",) else Kind.FREE
    return SHAPE.get(key)


def unknown(key: Key, where: str) -> InvalidSetting:
    """The error for a key that does not exist, with what was probably meant."""
    known = next(length for length in range(len(key) - 1, -1, -1) if length == 0 or key[:length] in TABLES)
    siblings = {each[known] for each in (*SHAPE, (EXECUTORS,)) if each[:known] == key[:known] and len(each) > known}
    return InvalidSetting(
        f"{where}: there is no setting {dotted(key)!r}{suggest(key[known], siblings)}",
        code="unknown_setting",
        key=dotted(key),
        where=where,
    )


def checked(key: Key, value: Any, where: str, spelled: str = "") -> Any:
    """The value as its kind wants it: durations in seconds, numbers as numbers, also where they came as text. An error
    names the key as it was spelled."""
    kind = kind_of(key)
    assert kind is not None
    for text in _texts_in(value):
        checked_text(text, f"{where}: {dotted(key)}", error=InvalidSetting, key=dotted(key), where=where)
    good, result = _CHECKS[kind](value)
    if not good:
        shown = "empty" if value is None else repr(value)
        raise InvalidSetting(
            f"{where}: {spelled or dotted(key)} is {shown}; write {kind.value}",
            code="bad_setting",
            key=dotted(key),
            where=where,
        )
    return _rules(result, where) if kind is Kind.RULES else result


def _texts_in(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for each in itertools.chain.from_iterable(cast("dict[Any, Any]", value).items()):
                yield from _texts_in(each)
        case list():
            for each in cast("list[Any]", value):
                yield from _texts_in(each)
        case _:
            pass


def _text(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str) and bool(value), value


def _texts(value: Any) -> tuple[bool, Any]:
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    return isinstance(value, list) and all(isinstance(each, str) and each for each in value), value


def _labels(value: Any) -> tuple[bool, Any]:
    """As ``name=value`` each; YAML's true and 1 are the texts that they look like."""
    if not isinstance(value, dict):
        return _texts(value)
    found: dict[str, Any] = value
    texts = [f"{name}={str(each).lower() if isinstance(each, bool) else each}" for name, each in found.items()]
    return all(isinstance(each, str | int) and each != "" for each in found.values()), texts


def _seconds(value: Any) -> tuple[bool, Any]:
    try:
        return True, seconds(float(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else value)
    except DefinitionError:
        return False, math.nan


def _ratio(value: Any) -> tuple[bool, Any]:
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    return isinstance(value, int | float) and 0 < value < 1, value


def _count(value: Any) -> tuple[bool, Any]:
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        value = int(value)
    return isinstance(value, int) and not isinstance(value, bool), value


def _flag(value: Any) -> tuple[bool, Any]:
    if isinstance(value, str):
        value = {"true": True, "1": True, "false": False, "0": False}.get(value.lower())
    return isinstance(value, bool), value


def _mode(value: Any) -> tuple[bool, Any]:
    return value in ("local", "distributed"), value


def _is_list(value: Any) -> tuple[bool, Any]:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value), value


_NUMBER = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
_WHOLE = re.compile(r"-?\d+(?:_\d+)*")
_CHECKS = {
    Kind.TEXT: _text,
    Kind.TEXTS: _texts,
    Kind.LABELS: _labels,
    Kind.SECONDS: _seconds,
    Kind.RATIO: _ratio,
    Kind.COUNT: _count,
    Kind.FLAG: _flag,
    Kind.MODE: _mode,
    Kind.RULES: _is_list,
    Kind.FREE: lambda value: (True, value),
}


def _rules(rules: list[dict[str, Any]], where: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for number, rule in enumerate(rules, 1):
        at = f"{where}: routing.rules, rule {number}"
        read: dict[str, Any] = {}
        for name, value in rule.items():
            plain = RULE_SPELLINGS.get(snake(name), snake(name))
            if plain not in RULE_KEYS:
                raise InvalidSetting(
                    f"{at}: there is no key {name!r}{suggest(name, RULE_KEYS)}", code="unknown_setting", where=where
                )
            if plain in read:
                raise InvalidSetting(f"{at}: {name!r} is said twice", code="bad_setting", where=where)
            read[plain] = value
        missing = [name for name in ("pattern", "executor") if name not in read]
        if missing:
            raise InvalidSetting(f"{at}: {missing[0]} is missing", code="bad_setting", where=where)
        found.append(read)
    return found
