"""Declares the keys of a configuration, and converts their values by the types of the settings.

A configuration is flat here: ``("orchestration", "lease")`` is a key. Files have the keys in tables, and environment
variables with ``__`` between the parts.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, TypeVar, cast

import msgspec
from msgspec import Meta

from turnout.authoring.workflow import DEFAULT_TENANT
from turnout.errors import InvalidSetting
from turnout.executors.pubsub.settings import PubSubSettings
from turnout.executors.workers.settings import DEFAULT_HOST, DEFAULT_PORT, HubSettings
from turnout.model.names import suggest
from turnout.model.setting_types import (
    Count,
    Natural,
    NonNegativeSeconds,
    Seconds,
    Settings,
    converted,
    settings_in,
    types_of,
    without_none,
)
from turnout.model.texts import checked_text
from turnout.model.values import MAX_BYTES
from turnout.orchestration.settings import EngineSettings
from turnout.runner.notification_settings import NotificationSettings
from turnout.runner.server_settings import ServerSettings
from turnout.telemetry.settings import TelemetrySettings
from turnout.worker.settings import DEFAULT_CONCURRENCY, Concurrency

Key: TypeAlias = tuple[str, ...]
S = TypeVar("S", bound=Settings)

EXECUTORS, ORCHESTRATION, ROUTING, WORKER, HUB = "executors", "orchestration", "routing", "worker", "hub"
HUB_SPELLING = "coordinator"
LIMITS, QUEUES = "limits", "queues"
RULES: Key = (ROUTING, "rules")
LABELS: Key = (WORKER, "labels")
RULE_KEYS = ("pattern", "executor", "labels", "percent", "shadow", "resources")
RULE_SPELLINGS = {"worker_selector": "labels"}

Rules: TypeAlias = Annotated[list[dict[str, Any]], Meta(title="a list of rules with pattern and executor")]
LabelTexts: TypeAlias = Annotated[
    list[str], Meta(title='labels as { gpu = "true" }, or as a list of texts such as "gpu=true"')
]


class General(Settings, frozen=True, kw_only=True):
    """The keys outside of tables."""

    database: str | None = None
    """The URL of the database; by default the SQLite file ``.turnout/turnout.db`` of the project."""
    direct_database: str | None = None
    """The URL of the same database without the pooler, where ``database`` names a pooler in transaction mode."""
    tenant: str = DEFAULT_TENANT
    """The first part of the full names of workflows."""
    workflows: tuple[str, ...] = ()
    """Modules, Python and YAML files, and folders of files with workflows, for the command line."""
    polling: tuple[str, ...] = ()
    """Executor keys that pollers serve."""
    default_execution_mode: Literal["local", "distributed"] = "local"
    """Where tasks run that neither a rule nor a selector places."""
    strict_selectors: bool = False
    """Whether tasks that ask for labels are refused while no hub is configured."""
    max_output_bytes: Count = MAX_BYTES
    """Bytes of one output or input at most."""
    default_timeout: Seconds | None = None
    """The timeout of an attempt of tasks that declare none."""
    default_retries: Natural = 0
    """The retries of tasks that declare none."""


class RoutingTable(Settings, frozen=True, kw_only=True):
    """The default executor and the routing rules."""

    table: ClassVar[str] = ROUTING

    default: str = "default"
    """The executor of tasks that no rule matches."""
    rules: Rules = msgspec.field(default_factory=list[dict[str, Any]])
    """Rules with ``pattern`` and ``executor``, and optional ``labels``, ``resources``, ``percent``
    and ``shadow``."""


class WorkerTable(Settings, frozen=True, kw_only=True, rename={"import_": "import"}):
    """The options of ``turnout worker``."""

    table: ClassVar[str] = WORKER

    connect: tuple[str, ...] = ()
    """Addresses of hubs."""
    import_: tuple[str, ...] = ()
    """Modules with tasks and handlers."""
    name: str | None = None
    """The name that people see; by default the machine's name and the process id."""
    labels: LabelTexts = msgspec.field(default_factory=list[str])
    """Labels that tasks may ask for."""
    concurrency: Concurrency = DEFAULT_CONCURRENCY
    """How many steps run at once."""
    processes: bool = False
    """Whether each Python body runs in a child process instead of a thread."""
    grace: NonNegativeSeconds = 30.0
    """Seconds that running steps get to finish when the worker stops."""
    server_key: str | None = None
    """The public key of the hub."""
    key_file: str | None = None
    """The file with the worker's own pair of keys."""


class HubTable(HubSettings, frozen=True, kw_only=True):
    """The settings of a hub, whose address may also be given as host and port."""

    host: str = DEFAULT_HOST
    """The host of the address, where ``address`` is not given."""
    port: int = DEFAULT_PORT
    """The port of the address, where ``address`` is not given."""


TABLES: tuple[Settings, ...] = (
    General(),
    RoutingTable(),
    WorkerTable(),
    HubTable(),
    EngineSettings(),
    PubSubSettings(),
    ServerSettings(),
    NotificationSettings(),
    TelemetrySettings(),
)
"""Every table with its defaults, but those in ``NAMED_TABLES``."""


class Field(msgspec.Struct, frozen=True):
    """One key: the class that declares it, its type with bounds, and its default."""

    owner: type[Settings]
    name: str
    type: Any
    default: Any


def _fields(settings: Settings, at: Key) -> Iterator[tuple[Key, Field]]:
    names = dict(zip(settings.__struct_fields__, settings.__struct_encode_fields__, strict=True))
    for name, annotation in types_of(type(settings)).items():
        default, nested = getattr(settings, name), settings_in(annotation)
        if nested is not None:
            yield from _fields(default or nested(), (*at, name))
        else:
            yield (*at, names[name]), Field(type(settings), name, annotation, default)


FIELDS: Mapping[Key, Field] = dict(
    itertools.chain.from_iterable(_fields(table, (table.table,) if table.table else ()) for table in TABLES)
)
"""Every key but those of ``NAMED_TABLES``."""

LIMIT_TYPES: Mapping[str, Any] = {"at_most": Count, "rate": Count, "per": Seconds}
QUEUE_TYPES: Mapping[str, Any] = {"max_active_runs": Count}
NAMED_TABLES: Mapping[str, Mapping[str, Any]] = {EXECUTORS: {}, LIMITS: LIMIT_TYPES, QUEUES: QUEUE_TYPES}
"""Tables of tables whose names are the user's own, with the types of their keys; those of ``executors`` are free."""

NESTED = {key[:length] for key in FIELDS for length in range(1, len(key))} | {(name,) for name in NAMED_TABLES}
"""Keys of tables."""


def overlaid(settings: S, values: Mapping[str, Any]) -> S:
    """Returns the settings with nested values, each converted before, in place of their own."""
    hints = types_of(type(settings))
    names = dict(zip(settings.__struct_encode_fields__, settings.__struct_fields__, strict=True))
    changes: dict[str, Any] = {}
    for key, value in values.items():
        name = names.get(key, key)
        nested = settings_in(hints[name])
        if nested is not None:
            # Values that are not given keep the defaults of this very table: pools have defaults of their own.
            changes[name] = overlaid(getattr(settings, name) or nested(), value)
        else:
            changes[name] = msgspec.convert(value, without_none(hints[name])) if isinstance(value, list) else value
    return msgspec.structs.replace(settings, **changes)


def snake(name: str) -> str:
    """Returns ``defaultExecutionMode`` as ``default_execution_mode``: both spellings are accepted."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def usual(key: Key) -> Key:
    """Returns the key as it is in ``FIELDS``: the hub may also be called the coordinator."""
    return (HUB, *key[1:]) if key[0] == HUB_SPELLING else key


def short_form(key: Key) -> Key:
    """Returns the full key: ``hub`` alone is its address."""
    return (HUB, "address") if key == (HUB,) else key


def dotted(key: Key) -> str:
    return ".".join(key)


def type_of(key: Key) -> Any:
    """Returns the type of the key's value; None if there is no such key."""
    if key[0] == EXECUTORS and len(key) >= 3:
        return str if key[2:] == ("use",) else Any
    if len(key) == 3 and key[0] in NAMED_TABLES:
        return NAMED_TABLES[key[0]].get(key[2])
    field = FIELDS.get(key)
    return None if field is None else field.type


def unknown(key: Key, where: str) -> InvalidSetting:
    """Returns the error for a key that does not exist, with the most similar one."""
    known = next(length for length in range(len(key) - 1, -1, -1) if length == 0 or key[:length] in NESTED)
    tables = ((name,) for name in NAMED_TABLES)
    siblings = {each[known] for each in (*FIELDS, *tables) if each[:known] == key[:known] and len(each) > known}
    if len(key) == 3 and key[0] in NAMED_TABLES:
        known, siblings = 2, set(NAMED_TABLES[key[0]])
    return InvalidSetting(
        f"{where}: there is no setting {dotted(key)!r}{suggest(key[known], siblings)}",
        code="unknown_setting",
        key=dotted(key),
        where=where,
    )


def checked(key: Key, value: Any, where: str, spelled: str = "") -> Any:
    """Returns the value converted to the key's type: durations in seconds, numbers also from text. An error names the
    file or variable, and the key as it was spelled."""
    for text in _texts_in(value):
        checked_text(text, f"{where}: {dotted(key)}", error=InvalidSetting, key=dotted(key), where=where)
    given = _label_texts(value) if key == LABELS else value
    try:
        result = converted(given, type_of(key), spelled or dotted(key))
    except InvalidSetting as error:
        raise InvalidSetting(f"{where}: {error.message}", code="bad_setting", key=dotted(key), where=where) from error
    return _rules(result, where) if key == RULES else result


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


def _label_texts(value: Any) -> Any:
    """Returns a table of labels as texts such as ``gpu=true``. YAML's true and 1 become the same texts."""
    if not isinstance(value, dict) or not all(isinstance(each, str | int) and each != "" for each in value.values()):
        return value
    labels = cast("dict[str, str | int]", value)
    return [f"{name}={str(each).lower() if isinstance(each, bool) else each}" for name, each in labels.items()]


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
                raise InvalidSetting(f"{at}: {name!r} is given twice", code="bad_setting", where=where)
            read[plain] = value
        missing = [name for name in ("pattern", "executor") if name not in read]
        if missing:
            raise InvalidSetting(f"{at}: {missing[0]} is missing", code="bad_setting", where=where)
        found.append(read)
    return found
