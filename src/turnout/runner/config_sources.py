"""Reads the keys of a configuration from its file and from environment variables.

The file is ``turnout.toml``, ``turnout.yaml`` (or ``.yml``), or ``[tool.turnout]`` in ``pyproject.toml``, in the
working directory or the nearest above it. A variable is ``TURNOUT_`` and the key in capitals, with ``__`` between the
parts.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from turnout.errors import InvalidSetting, InvalidYaml
from turnout.runner.config_schema import (
    EXECUTORS,
    FIELDS,
    HUB,
    NAMED_TABLES,
    NESTED,
    WORKER,
    Key,
    checked,
    dotted,
    short_form,
    snake,
    type_of,
    unknown,
    usual,
)

FILES = ("turnout.toml", "turnout.yaml", "turnout.yml")
PROJECT_FILE = "pyproject.toml"
YAML_SUFFIXES = (".yaml", ".yml")
CONFIG_VARIABLE = "TURNOUT_CONFIG"
"""Names the file, instead of looking for it."""
SERVER_VARIABLE, TOKEN_VARIABLE, TOKEN_FILE_VARIABLE = "TURNOUT_SERVER", "TURNOUT_TOKEN", "TURNOUT_TOKEN_FILE"
"""The server that commands use instead of a database, and the token for it."""
OWN_VARIABLES = frozenset({CONFIG_VARIABLE, SERVER_VARIABLE, TOKEN_VARIABLE, TOKEN_FILE_VARIABLE})
"""Variables that are no settings."""


def config_files_in(folder: Path) -> list[Path]:
    """Returns the configuration files in this folder; more than one is an error."""
    return [folder / name for name in FILES if (folder / name).is_file()]


def find_file(start: Path, environment: Mapping[str, str]) -> tuple[Path, Path | None]:
    """Returns the project's folder, and the file that is in force, if there is one."""
    here = start.resolve()
    named = environment.get(CONFIG_VARIABLE)
    if named:
        file = (here / named).resolve()
        if not file.is_file():
            raise InvalidSetting(f"{CONFIG_VARIABLE} names {named!r}, which is no file", code="no_config_file")
        return file.parent, file
    for folder in (here, *here.parents):
        match config_files_in(folder):
            case [file]:
                return folder, file
            case [first, second, *_]:
                raise InvalidSetting(
                    f"{folder} holds both {first.name} and {second.name}; keep one of them, or name one with "
                    f"{CONFIG_VARIABLE}",
                    code="several_config_files",
                )
            case _:
                pass
        if (folder / PROJECT_FILE).is_file() and "turnout" in _toml(folder / PROJECT_FILE).get("tool", {}):
            return folder, folder / PROJECT_FILE
    project = next((folder for folder in (here, *here.parents) if (folder / PROJECT_FILE).is_file()), here)
    return project, None


def keys_of_file(file: Path) -> dict[Key, tuple[Any, str]]:
    """Returns every key of the file, with its converted value, and as it is spelled there."""
    found: dict[Key, tuple[Any, str]] = {}
    for key, value, spelled in _flat(_content(file), (), (), file.name):
        if key in found:
            raise InvalidSetting(
                f"{file.name}: {dotted(key)} is given twice, in two spellings", code="bad_setting", key=dotted(key)
            )
        value = checked(key, value, file.name, dotted(spelled))  # noqa: PLW2901
        found[key] = _in_folder(key, value, file.parent), dotted(spelled)
    return found


def _content(file: Path) -> Mapping[str, Any]:
    if file.suffix in YAML_SUFFIXES:
        return _yaml(file)
    content = _toml(file)
    return content if file.name != PROJECT_FILE else content.get("tool", {}).get("turnout", {})


def _text(file: Path, kind: str) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidSetting(f"{file} is not {kind}: {error}", code=f"malformed_{kind.lower()}") from error
    except OSError as error:
        raise InvalidSetting(f"{file} cannot be read: {error.strerror}", code="no_config_file") from error


def _toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(file, "TOML"))
    except tomllib.TOMLDecodeError as error:
        raise InvalidSetting(f"{file} is not TOML: {error}", code="malformed_toml", file=str(file)) from error


def _yaml(file: Path) -> Mapping[str, Any]:
    from turnout.authoring.yaml_text import read_yaml

    try:
        content = read_yaml(_text(file, "YAML"))
    except InvalidYaml as error:
        raise InvalidSetting(f"{file}: {error.message}", code=error.code, file=str(file), **error.fields) from error
    if content is not None and not isinstance(content, dict):
        raise InvalidSetting(f"{file}: it is one {type(content).__name__}; write keys and values", code="bad_setting")
    return content or {}


def _flat(table: Mapping[str, Any], at: Key, written: Key, where: str) -> Iterator[tuple[Key, Any, Key]]:
    """Yields each key of the table, its value, and the key as it is written."""
    for name, value in table.items():
        spelled = (*written, name)
        # Some names are the user's own, and so are the options of the classes of executors.
        own = at[:1] == (EXECUTORS,) or (len(at) == 1 and at[0] in NAMED_TABLES)
        key = usual((*at, name if own else snake(name)))
        if isinstance(value, str) and short_form(key) != key:
            yield short_form(key), value, spelled
        elif key in NESTED or (len(at) == 1 and at[0] in NAMED_TABLES):
            # In YAML a table whose keys are all comments is null.
            if not isinstance(value, dict | None):
                raise InvalidSetting(
                    f"{where}: {dotted(spelled)} is {value!r}; it is a table with keys of its own",
                    code="bad_setting",
                    key=dotted(key),
                )
            yield from _flat(value or {}, key, spelled, where)
        elif type_of(key) is None:
            raise unknown((*at, name), where)
        else:
            yield key, value, spelled


def _in_folder(key: Key, value: Any, root: Path) -> Any:
    """Returns the value with its paths made absolute: paths in the file are relative to the file."""
    relative = "sqlite:///"
    if key == ("database",) and value.startswith(relative) and not value.startswith((f"{relative}/", f"{relative}:")):
        return f"{relative}{root}/{value.removeprefix(relative)}"
    if key in (("workflows",), (WORKER, "import")):
        return [str(root / each) if each.endswith(".py") else each for each in value]
    if key in ((WORKER, "key_file"), (HUB, "key_file"), (HUB, "workers_file")):
        return str(root / value)
    return value


PREFIX = "TURNOUT_"


def variable_of(key: Key) -> str:
    """Returns the environment variable that sets a key."""
    return f"{PREFIX}{'__'.join(key).upper()}"


FOREIGN_VARIABLES: Mapping[str, Key] = {"DAGU_DEFAULT_EXECUTION_MODE": ("default_execution_mode",)}
"""Variables of another program that are read as well, with a warning. Turnout's own prevail."""


def keys_of_variables(environment: Mapping[str, str]) -> Iterator[tuple[Key, Any, str]]:
    """Yields each key that a variable sets, its converted value, and the variable's name; a later one of the same key
    prevails."""
    for name in sorted(environment, key=lambda name: (name not in FOREIGN_VARIABLES, name)):
        key = FOREIGN_VARIABLES.get(name) or _key(name)
        if key is not None:
            yield key, checked(key, _value(key, environment[name], name), name), name


def foreign_variables(environment: Mapping[str, str]) -> list[str]:
    """Returns a warning for each variable of another program that is read."""
    return [
        f"the environment variable {name} is read for {dotted(key)}: set {variable_of(key)} instead"
        for name, key in FOREIGN_VARIABLES.items()
        if name in environment
    ]


def _key(name: str) -> Key | None:
    """Returns the key that a variable sets; None if it is no variable of the configuration.

    A name that begins with a table, or that resembles a key, must be right. Other variables are ignored: clusters set
    ``TURNOUT_PORT`` for a service of that name.
    """
    if not name.startswith(PREFIX) or name in OWN_VARIABLES:
        return None
    parts = [part.lower() for part in name.removeprefix(PREFIX).split("__")]
    key: Key = short_form(usual(tuple(parts)))
    if type_of(key) is not None:
        return key
    if len(key) > 1 and key in NESTED:
        inner = next(each for each in FIELDS if each[: len(key)] == key)
        raise InvalidSetting(
            f"the environment variable {name} is a table; set its keys one by one, as in {variable_of(inner)}",
            code="bad_setting",
            key=dotted(key),
        )
    if len(key) > 1 and key[:1] in NESTED:
        raise unknown(key, f"the environment variable {name}")
    near = get_close_matches(parts[0], [each[0] for each in FIELDS if len(each) == 1], n=1, cutoff=0.8)
    if len(key) == 1 and near:
        raise InvalidSetting(
            f"the environment variable {name} is no setting: did you mean {PREFIX}{near[0].upper()}?",
            code="unknown_setting",
            key=name,
        )
    return None


def _value(key: Key, text: str, name: str) -> Any:
    """Returns the value of a variable: lists, tables and options of executors are JSON, everything else is text."""
    looks_like_json = text[:1] in ("[", "{") or (key[0] == EXECUTORS and key[2:] != ("use",))
    if not looks_like_json:
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        if key[0] == EXECUTORS:
            return text
        raise InvalidSetting(
            f"the environment variable {name} is not JSON: {error}", code="bad_setting", key=dotted(key)
        ) from error
