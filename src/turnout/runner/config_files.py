"""Which file holds the configuration, and what does it say?

``turnout.toml``, ``turnout.yaml`` (or ``.yml``), or ``[tool.turnout]`` in ``pyproject.toml``, looked for from the
working directory upwards.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from turnout.errors import InvalidSetting, InvalidYaml
from turnout.runner.config_shape import (
    EXECUTORS,
    HUB,
    TABLES,
    WORKER,
    Key,
    checked,
    dotted,
    kind_of,
    short_form,
    snake,
    unknown,
    usual,
)

FILES = ("turnout.toml", "turnout.yaml", "turnout.yml")
PROJECT_FILE = "pyproject.toml"
YAML_SUFFIXES = (".yaml", ".yml")
CONFIG_VARIABLE = "TURNOUT_CONFIG"
"""Names the file, instead of looking for it."""


def config_files_in(folder: Path) -> list[Path]:
    """The files of ours in this folder; more than one is one too many."""
    return [folder / name for name in FILES if (folder / name).is_file()]


def find_file(start: Path, environment: Mapping[str, str]) -> tuple[Path, Path | None]:
    """The project's folder, and the file that counts, if there is one."""
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


def said_in(file: Path) -> dict[Key, tuple[Any, str]]:
    """Every key that the file has, with its checked value, and as it is spelled there."""
    said: dict[Key, tuple[Any, str]] = {}
    for key, value, spelled in _flat(_content(file), (), (), file.name):
        if key in said:
            raise InvalidSetting(
                f"{file.name}: {dotted(key)} is said twice, in two spellings", code="bad_setting", key=dotted(key)
            )
        value = checked(key, value, file.name, dotted(spelled))  # noqa: PLW2901
        said[key] = _in_folder(key, value, file.parent), dotted(spelled)
    return said


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
    """Each key of the table, its value, and the key as it is written."""
    for name, value in table.items():
        spelled = (*written, name)
        # The names of executors, and the options of their classes, are the user's own words.
        key = usual((*at, name if at[:1] == (EXECUTORS,) else snake(name)))
        if isinstance(value, str) and short_form(key) != key:
            yield short_form(key), value, spelled
        elif key in TABLES or (at == (EXECUTORS,)):
            # In YAML a table whose keys are all comments is nothing at all.
            if not isinstance(value, dict | None):
                raise InvalidSetting(
                    f"{where}: {dotted(spelled)} is {value!r}; it is a table with keys of its own",
                    code="bad_setting",
                    key=dotted(key),
                )
            yield from _flat(value or {}, key, spelled, where)
        elif kind_of(key) is None:
            raise unknown((*at, name), where)
        else:
            yield key, value, spelled


def _in_folder(key: Key, value: Any, root: Path) -> Any:
    """Paths in the file are relative to the file, wherever the program is started."""
    relative = "sqlite:///"
    if key == ("database",) and value.startswith(relative) and not value.startswith((f"{relative}/", f"{relative}:")):
        return f"{relative}{root}/{value.removeprefix(relative)}"
    if key in (("workflows",), (WORKER, "import")):
        return [str(root / each) if each.endswith(".py") else each for each in value]
    if key in ((WORKER, "key_file"), (HUB, "key_file"), (HUB, "workers_file")):
        return str(root / value)
    return value
