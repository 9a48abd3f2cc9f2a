"""What is configured, and where was it said? The file, and the environment over it.

``turnout.toml``, or ``[tool.turnout]`` in ``pyproject.toml``, is looked for from the working directory upwards.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from turnout.dispatcher import RoutingConfig, RoutingRule
from turnout.errors import InvalidRouting, InvalidSetting
from turnout.orchestration.settings import EngineSettings
from turnout.runner.config_shape import (
    EXECUTORS,
    ORCHESTRATION,
    ROUTING,
    RULES,
    SHAPE,
    TABLES,
    WORKER,
    Key,
    built,
    checked,
    dotted,
    kind_of,
    snake,
    unknown,
)

FILE, PROJECT_FILE = "turnout.toml", "pyproject.toml"
PREFIX = "TURNOUT_"
CONFIG_VARIABLE = "TURNOUT_CONFIG"
"""Names the file, instead of looking for it."""


class Entry(msgspec.Struct, frozen=True):
    """One value, and who said it."""

    value: Any
    origin: str


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
        said: dict[str, Any] = {}
        for key, entry in self.entries.items():
            if key[0] == ORCHESTRATION:
                table = said
                for part in key[1:-1]:
                    table = table.setdefault(part, {})
                table[key[-1]] = entry.value
        if not said:
            return None
        try:
            settings = built(EngineSettings, said)
            settings.check()
        except (msgspec.ValidationError, InvalidSetting) as error:
            origins = {entry.origin: None for key, entry in self.entries.items() if key[0] == ORCHESTRATION}
            where = ", ".join(origins)
            raise InvalidSetting(f"{where}: {ORCHESTRATION}: {error}", code="bad_setting", where=where) from error
        return settings


def read_config(start: Path, environment: Mapping[str, str]) -> Config:
    """The configuration that counts for a program that is started in this folder with this environment."""
    root, file = _find(start, environment)
    entries: dict[Key, Entry] = {}
    if file is not None:
        for key, value in _flat(_content(file), (), file.name):
            entries[key] = Entry(_in_folder(key, checked(key, value, file.name), root), file.name)
    for name in sorted(environment):
        key = _variable_key(name)
        if key is not None:
            entries[key] = Entry(checked(key, _variable_value(key, environment[name], name), name), name)
    return Config(root, file, entries)


# -- the file -------------------------------------------------------------------------------------------------------
def _find(start: Path, environment: Mapping[str, str]) -> tuple[Path, Path | None]:
    here = start.resolve()
    named = environment.get(CONFIG_VARIABLE)
    if named:
        file = (here / named).resolve()
        if not file.is_file():
            raise InvalidSetting(f"{CONFIG_VARIABLE} names {named!r}, which is no file", code="no_config_file")
        return file.parent, file
    for folder in (here, *here.parents):
        if (folder / FILE).is_file():
            return folder, folder / FILE
        if (folder / PROJECT_FILE).is_file() and "turnout" in _toml(folder / PROJECT_FILE).get("tool", {}):
            return folder, folder / PROJECT_FILE
    project = next((folder for folder in (here, *here.parents) if (folder / PROJECT_FILE).is_file()), here)
    return project, None


def _toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSetting(f"{file} is not TOML: {error}", code="malformed_toml", file=str(file)) from error
    except OSError as error:
        raise InvalidSetting(f"{file} cannot be read: {error.strerror}", code="no_config_file") from error


def _content(file: Path) -> dict[str, Any]:
    content = _toml(file)
    return content if file.name != PROJECT_FILE else content.get("tool", {}).get("turnout", {})


def _flat(table: Mapping[str, Any], at: Key, where: str) -> Iterator[tuple[Key, Any]]:
    for name, value in table.items():
        # The names of executors, and the options of their classes, are the user's own words.
        key = (*at, name if at[:1] == (EXECUTORS,) else snake(name))
        if key in TABLES or (at == (EXECUTORS,)):
            if not isinstance(value, dict):
                raise InvalidSetting(
                    f"{where}: {dotted(key)} is {value!r}; it is a table, [{dotted(key)}]",
                    code="bad_setting",
                    key=dotted(key),
                )
            yield from _flat(value, key, where)
        elif kind_of(key) is None:
            raise unknown((*at, name), where)
        else:
            yield key, value


def _in_folder(key: Key, value: Any, root: Path) -> Any:
    """Paths in the file are relative to the file, wherever the program is started."""
    relative = "sqlite:///"
    if key == ("database",) and value.startswith(relative) and not value.startswith((f"{relative}/", f"{relative}:")):
        return f"{relative}{root}/{value.removeprefix(relative)}"
    if key in (("workflows",), (WORKER, "import")):
        return [str(root / each) if each.endswith(".py") else each for each in value]
    if key == (WORKER, "key_file"):
        return str(root / value)
    return value


# -- the environment ------------------------------------------------------------------------------------------------
def _variable_key(name: str) -> Key | None:
    """The key that a variable sets; None if it is none of ours, however it is called.

    What begins with the name of a table, or looks like one of our keys with a slip in it, must be right. Other
    variables are left alone: clusters set ``TURNOUT_PORT`` for a service of that name.
    """
    if not name.startswith(PREFIX) or name == CONFIG_VARIABLE:
        return None
    parts = [part.lower() for part in name.removeprefix(PREFIX).split("__")]
    key: Key = tuple(parts)
    if kind_of(key) is not None:
        return key
    if len(key) > 1 and (parts[0],) in TABLES:
        raise unknown(key, f"the environment variable {name}")
    near = get_close_matches(parts[0], [each[0] for each in SHAPE if len(each) == 1], n=1, cutoff=0.8)
    if len(key) == 1 and near:
        raise InvalidSetting(
            f"the environment variable {name} is no setting: did you mean {PREFIX}{near[0].upper()}?",
            code="unknown_setting",
            key=name,
        )
    return None


def _variable_value(key: Key, text: str, name: str) -> Any:
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
