"""Holds the configuration of a program, the environment over the file, with the origin of each value."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from turnout.dispatcher import RoutingConfig, RoutingRule
from turnout.errors import InvalidRouting, InvalidSetting
from turnout.executors.pubsub.settings import STEP_EXECUTION, PubSubSettings
from turnout.executors.workers.settings import DEFAULT_HOST, DEFAULT_PORT, HubSettings
from turnout.model.limits import DEFAULT_PERIOD, QUEUE, LimitSize, check_size
from turnout.orchestration.settings import EngineSettings
from turnout.runner.config_schema import (
    EXECUTORS,
    HUB,
    LIMITS,
    ORCHESTRATION,
    QUEUES,
    ROUTING,
    RULES,
    Key,
    dotted,
    overlaid,
)
from turnout.runner.config_sources import find_file, foreign_variables, keys_of_file, keys_of_variables
from turnout.runner.notification_settings import NOTIFICATIONS, NotificationSettings
from turnout.runner.server_settings import SERVER, ServerSettings
from turnout.telemetry.settings import TELEMETRY, TelemetrySettings

S = TypeVar("S", EngineSettings, PubSubSettings, HubSettings, ServerSettings, NotificationSettings, TelemetrySettings)


class Entry(msgspec.Struct, frozen=True):
    """One value, and the file or variable that it comes from."""

    value: Any
    origin: str
    spelling: str = ""
    """The key as it was written, where that is another spelling."""


class Config(msgspec.Struct, frozen=True):
    """All values that are given; the classes of the settings have the defaults of others."""

    root: Path
    """The folder of the file, else of the nearest pyproject.toml, else the working directory."""
    file: Path | None = None
    entries: Mapping[Key, Entry] = {}
    warnings: tuple[str, ...] = ()
    """What is doubtful about the values, and read all the same."""

    def get(self, *key: str) -> Any:
        """Returns the value, or None if none is given."""
        entry = self.entries.get(key)
        return None if entry is None else entry.value

    def spelled(self, *key: str) -> str:
        """Returns the key as it is written where it is set."""
        entry = self.entries.get(key)
        return dotted(key) if entry is None else entry.spelling or dotted(key)

    @property
    def executors(self) -> dict[str, dict[str, Any]]:
        """Returns the options of each executor, ``use`` among them, by the executor's key."""
        found: dict[str, dict[str, Any]] = {}
        for key, entry in self.entries.items():
            if key[0] == EXECUTORS:
                found.setdefault(key[1], {})[key[2]] = entry.value
        return found

    @property
    def limits(self) -> dict[str, LimitSize]:
        """Returns the sizes of limits by their declared names; a queue is the limit ``queue:NAME``."""
        tables: dict[tuple[str, str], dict[str, Any]] = {}
        for key, entry in self.entries.items():
            if key[0] in (LIMITS, QUEUES):
                tables.setdefault((key[0], key[1]), {})[key[2]] = entry.value
        found: dict[str, LimitSize] = {}
        for (table, name), values in tables.items():
            at_most = values.get("max_active_runs") if table == QUEUES else values.get("at_most")
            size = LimitSize(at_most, values.get("rate"), values.get("per", DEFAULT_PERIOD))
            origin = next(entry.origin for key, entry in self.entries.items() if key[:2] == (table, name))
            check_size(f"{origin}: {table}.{name}", size, InvalidSetting)
            if not size.given:
                why = f"{origin}: {table}.{name} has no size: write at_most, or rate and per"
                raise InvalidSetting(why, code="bad_setting", key=f"{table}.{name}")
            found[f"{QUEUE}{name}" if table == QUEUES else name] = size
        return found

    @property
    def routing(self) -> RoutingConfig | None:
        rules, default = self.get(*RULES), self.get(ROUTING, "default")
        if rules is None and default is None:
            return None
        return RoutingConfig(default or "default", tuple(self._rule(*each) for each in enumerate(rules or (), 1)))

    def _rule(self, number: int, rule: dict[str, Any]) -> RoutingRule:
        at = f"{self.entries[RULES].origin}: routing.rules, rule {number}"
        try:
            return msgspec.convert(rule, RoutingRule)
        except (InvalidRouting, msgspec.ValidationError) as error:
            raise InvalidSetting(f"{at}: {error}", code="bad_setting", key=dotted(RULES)) from error

    @property
    def orchestration(self) -> EngineSettings | None:
        return self._checked(EngineSettings(), ORCHESTRATION, self._table(ORCHESTRATION))

    @property
    def step_execution(self) -> PubSubSettings | None:
        return self._checked(PubSubSettings(), STEP_EXECUTION, self._table(STEP_EXECUTION))

    @property
    def server(self) -> ServerSettings:
        """Returns the settings of the server; it has defaults for all of them."""
        return self._checked(ServerSettings(), SERVER, self._table(SERVER)) or ServerSettings()

    @property
    def workflow_places(self) -> tuple[str, ...]:
        """The modules, files and folders in which commands find workflows by their names: those of ``workflows``, and
        the workflow folders of the server."""
        named: Any = self.get("workflows") or ()
        known: set[Path] = {(self.root / each).resolve() for each in named}
        folders = [self.root / each for each in self.server.workflow_folders]
        return (*named, *(str(each) for each in folders if each.is_dir() and each.resolve() not in known))

    @property
    def notifications(self) -> NotificationSettings:
        """Returns the settings of notifications; none are sent by default."""
        default = NotificationSettings()
        return self._checked(default, NOTIFICATIONS, self._table(NOTIFICATIONS)) or default

    @property
    def telemetry(self) -> TelemetrySettings | None:
        """Returns the settings of telemetry; None if it is not enabled."""
        found = self._checked(TelemetrySettings(), TELEMETRY, self._table(TELEMETRY))
        return found if found is not None and found.enabled else None

    @property
    def hub(self) -> HubSettings | None:
        """Returns the settings of the hub; None if none is configured."""
        values = self._table(HUB)
        host, port = values.pop("host", None), values.pop("port", None)
        if host is not None or port is not None:
            if "address" in values:
                key = (HUB, "host" if host is not None else "port")
                raise InvalidSetting(
                    f"{self.entries[key].origin}: {dotted(key)} is another way to give hub.address, which is set too, "
                    f"by {self.entries[HUB, 'address'].origin}; keep one of them",
                    code="bad_setting",
                    key=dotted(key),
                )
            values["address"] = f"tcp://{host or DEFAULT_HOST}:{DEFAULT_PORT if port is None else port}"
        return self._checked(HubSettings(), HUB, values)

    def _checked(self, settings: S, table: str, values: dict[str, Any]) -> S | None:
        """Returns these settings with the given values; None if there are none."""
        if not values:
            return None
        settings = overlaid(settings, values)
        try:
            settings.check(table)
        except InvalidSetting as error:
            raise self._placed(error) from error
        return settings

    def _table(self, name: str) -> dict[str, Any]:
        """Returns the values of a table, nested as they are there."""
        values: dict[str, Any] = {}
        for key, entry in self.entries.items():
            if key[0] == name:
                table = values
                for part in key[1:-1]:
                    table = table.setdefault(part, {})
                table[key[-1]] = entry.value
        return values

    def _placed(self, error: InvalidSetting) -> InvalidSetting:
        """Returns the error about one or several settings, with the files and variables that set them."""
        names = [error.fields["field"], *error.fields.get("beside", ())]
        found = {name: self._entry(tuple(name.split("."))) for name in names}
        where = ", ".join(dict.fromkeys(entry.origin for entry in found.values() if entry is not None))
        left = [name.rpartition(".")[2] for name, entry in found.items() if entry is None]
        defaults = f" ({' and '.join(left)} by default)" if left else ""
        code = "bad_setting" if error.code == InvalidSetting.code else error.code
        return InvalidSetting(f"{where}: {error.message}{defaults}", code=code, key=names[0], where=where)

    def _entry(self, key: Key) -> Entry | None:
        """Returns the entry of a key; the hub's address may be given as host and port."""
        spelled = [key, (HUB, "host"), (HUB, "port")] if key == (HUB, "address") else [key]
        return next((self.entries[each] for each in spelled if each in self.entries), None)


def read_config(start: Path, environment: Mapping[str, str]) -> Config:
    """Returns the configuration of a program that is started in this folder with this environment."""
    root, file = find_file(start, environment)
    entries: dict[Key, Entry] = {}
    if file is not None:
        entries = {key: Entry(value, file.name, spelling) for key, (value, spelling) in keys_of_file(file).items()}
    for key, value, name in keys_of_variables(environment):
        entries[key] = Entry(value, name)
    return Config(root, file, entries, tuple(foreign_variables(environment)))
