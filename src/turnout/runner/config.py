"""What is configured, and where was it said? The file, and the environment over it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from turnout.dispatcher import RoutingConfig, RoutingRule
from turnout.errors import InvalidRouting, InvalidSetting
from turnout.executors.pubsub.settings import STEP_EXECUTION, PubSubSettings
from turnout.executors.workers.settings import DEFAULT_HOST, DEFAULT_PORT, HubSettings
from turnout.orchestration.settings import EngineSettings
from turnout.runner.config_files import find_file, said_in
from turnout.runner.config_shape import (
    EXECUTORS,
    HUB,
    ORCHESTRATION,
    ROUTING,
    RULES,
    Key,
    dotted,
    overlaid,
)
from turnout.runner.config_variables import said_by_variables

S = TypeVar("S", EngineSettings, PubSubSettings, HubSettings)


class Entry(msgspec.Struct, frozen=True):
    """One value, and who said it."""

    value: Any
    origin: str
    spelling: str = ""
    """The key as it was written, where that is another spelling."""


class Config(msgspec.Struct, frozen=True):
    """Everything that was said; what was not has its default elsewhere."""

    root: Path
    """The folder of the file, else of the nearest pyproject.toml, else the working directory."""
    file: Path | None = None
    entries: Mapping[Key, Entry] = {}

    def get(self, *key: str) -> Any:
        """The value, or None where nothing was said."""
        entry = self.entries.get(key)
        return None if entry is None else entry.value

    def spelled(self, *key: str) -> str:
        """The key as whoever set it has written it."""
        entry = self.entries.get(key)
        return dotted(key) if entry is None else entry.spelling or dotted(key)

    @property
    def executors(self) -> dict[str, dict[str, Any]]:
        """The options of each executor, ``use`` among them, by the executor's key."""
        found: dict[str, dict[str, Any]] = {}
        for key, entry in self.entries.items():
            if key[0] == EXECUTORS:
                found.setdefault(key[1], {})[key[2]] = entry.value
        return found

    @property
    def routing(self) -> RoutingConfig | None:
        rules, default = self.get(*RULES), self.get(ROUTING, "default")
        if rules is None and default is None:
            return None
        return RoutingConfig(default or "default", tuple(self._rule(*each) for each in enumerate(rules or (), 1)))

    def _rule(self, number: int, said: dict[str, Any]) -> RoutingRule:
        at = f"{self.entries[RULES].origin}: routing.rules, rule {number}"
        try:
            return msgspec.convert(said, RoutingRule)
        except (InvalidRouting, msgspec.ValidationError) as error:
            raise InvalidSetting(f"{at}: {error}", code="bad_setting", key=dotted(RULES)) from error

    @property
    def orchestration(self) -> EngineSettings | None:
        return self._checked(EngineSettings(), ORCHESTRATION, self._table(ORCHESTRATION))

    @property
    def step_execution(self) -> PubSubSettings | None:
        return self._checked(PubSubSettings(), STEP_EXECUTION, self._table(STEP_EXECUTION))

    @property
    def hub(self) -> HubSettings | None:
        """Where workers connect, if that was said."""
        said = self._table(HUB)
        host, port = said.pop("host", None), said.pop("port", None)
        if host is not None or port is not None:
            if "address" in said:
                key = (HUB, "host" if host is not None else "port")
                raise InvalidSetting(
                    f"{self.entries[key].origin}: {dotted(key)} is another way to say hub.address, which is said too, "
                    f"by {self.entries[HUB, 'address'].origin}; keep one of them",
                    code="bad_setting",
                    key=dotted(key),
                )
            said["address"] = f"tcp://{host or DEFAULT_HOST}:{DEFAULT_PORT if port is None else port}"
        return self._checked(HubSettings(), HUB, said)

    def _checked(self, settings: S, table: str, said: dict[str, Any]) -> S | None:
        """These settings with what was said of them; None where nothing was."""
        if not said:
            return None
        try:
            settings = overlaid(settings, said, table)
            settings.check(table)
        except InvalidSetting as error:
            raise self._placed(error) from error
        return settings

    def _table(self, name: str) -> dict[str, Any]:
        """What was said in a table, nested as it is there."""
        said: dict[str, Any] = {}
        for key, entry in self.entries.items():
            if key[0] == name:
                table = said
                for part in key[1:-1]:
                    table = table.setdefault(part, {})
                table[key[-1]] = entry.value
        return said

    def _placed(self, error: InvalidSetting) -> InvalidSetting:
        """The error about one setting, or about how several go together, with who said them."""
        names = [error.fields["field"], *error.fields.get("beside", ())]
        said = {name: self._entry(tuple(name.split("."))) for name in names}
        where = ", ".join(dict.fromkeys(entry.origin for entry in said.values() if entry is not None))
        left = [name.rpartition(".")[2] for name, entry in said.items() if entry is None]
        defaults = f" ({' and '.join(left)} by default)" if left else ""
        code = "bad_setting" if error.code == InvalidSetting.code else error.code
        return InvalidSetting(f"{where}: {error.message}{defaults}", code=code, key=names[0], where=where)

    def _entry(self, key: Key) -> Entry | None:
        """Who said it; the hub's address may be said as host and port."""
        spelled = [key, (HUB, "host"), (HUB, "port")] if key == (HUB, "address") else [key]
        return next((self.entries[each] for each in spelled if each in self.entries), None)


def read_config(start: Path, environment: Mapping[str, str]) -> Config:
    """The configuration that counts for a program that is started in this folder with this environment."""
    root, file = find_file(start, environment)
    entries: dict[Key, Entry] = {}
    if file is not None:
        entries = {key: Entry(value, file.name, spelling) for key, (value, spelling) in said_in(file).items()}
    for key, value, name in said_by_variables(environment):
        entries[key] = Entry(value, name)
    return Config(root, file, entries)
