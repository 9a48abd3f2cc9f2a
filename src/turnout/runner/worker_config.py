"""Composes the settings of a worker: options, over the variables of all workers, over the configuration."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from turnout.errors import InvalidSetting
from turnout.runner.config import Config
from turnout.runner.config_schema import WORKER
from turnout.runner.modules import load_module
from turnout.wire.keys import KeyPair, own_pair
from turnout.worker import settings as variables
from turnout.worker.handlers import Handlers
from turnout.worker.settings import CurveKeys, WorkerSettings, from_environment, labels_of

log = logging.getLogger("turnout.worker")

ANY_HUB = "tcp://127.0.0.1:5890"


def worker_settings(config: Config, environment: Mapping[str, str], options: Mapping[str, Any]) -> WorkerSettings:
    """Returns the settings in force; options that are None or empty were not given."""
    given = {name: value for name, value in options.items() if value is not None and value != ()}
    file = given.pop("key_file", None)
    server = given.pop("server_key", None) or environment.get(variables.SERVER_KEY) or config.get(WORKER, "server_key")
    found = from_environment(_without_lone_server_key(environment), server_key=server or "")
    changes: dict[str, Any] = {}
    for name, variable in _VARIABLES.items():
        value = None if variable is not None and environment.get(variable) else config.get(WORKER, name)
        if value is not None:
            changes[name] = _converted(name, value)
    changes.update(given)
    changes["keys"] = found.keys if file is None and found.keys is not None else _keys(config, server or "", file)
    return msgspec.structs.replace(found, **changes)


def handlers_of(config: Config, modules: Sequence[str], *, shell: bool = True) -> Handlers:
    """Returns the handlers of the modules named on the command line, else of those in the configuration."""
    names = tuple(modules) or tuple(config.get(WORKER, "import") or ())
    handlers = Handlers((load_module(name, (config.root,)) for name in names), shell=shell)
    if not handlers.names:
        raise InvalidSetting(
            "this worker could run nothing: name modules with tasks or handlers, as --import mypkg.tasks",
            code="no_handlers",
        )
    return handlers


def check_worker(config: Config, environment: Mapping[str, str]) -> None:
    """Raises what would keep a worker of this configuration from starting. Options may give what is absent."""
    if not any(key[0] == WORKER for key in config.entries):
        return
    try:
        settings = worker_settings(config, environment, {})
    except InvalidSetting as error:
        if error.code != "incomplete_keys":
            raise
    else:
        msgspec.structs.replace(settings, connect=settings.connect or (ANY_HUB,)).check()
    handlers_of(config, ())


_VARIABLES: Mapping[str, str | None] = {
    "connect": variables.CONNECT,
    "name": variables.NAME,
    "labels": variables.LABELS,
    "concurrency": variables.CONCURRENCY,
    "processes": None,
    "grace": None,
}


def _converted(name: str, value: Any) -> Any:
    match name:
        case "connect":
            return tuple(value)
        case "labels":
            return labels_of(value, "worker.labels")
        case _:
            return value


def _without_lone_server_key(environment: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the variables, without the hub's key where they do not name the worker's pair."""
    if any(environment.get(name) for name in (variables.PUBLIC_KEY, variables.SECRET_KEY, variables.KEY_FILE)):
        return environment
    return {name: value for name, value in environment.items() if name != variables.SERVER_KEY}


def _keys(config: Config, server: str, file: str | None) -> CurveKeys | None:
    """Returns the keys of the configuration; only the hub's key may come from another source than the pair."""
    pair = file or config.get(WORKER, "key_file")
    own = own_pair(Path(pair), log) if pair else KeyPair("", "")
    return CurveKeys.of(server, own.public, own.secret)
