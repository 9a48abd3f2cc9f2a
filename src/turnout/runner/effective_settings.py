"""Lists every setting with its value and its origin, secrets left out."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from turnout.executors.workers.settings import HubSettings
from turnout.orchestration.settings import EngineSettings
from turnout.runner.config import Config
from turnout.runner.config_schema import FIELDS, HUB, NAMED_TABLES, ORCHESTRATION, WORKER, Key, dotted
from turnout.runner.server_settings import SERVER, ServerSettings
from turnout.runner.settings import RunnerConfig, url_in
from turnout.store.database import shown_url
from turnout.telemetry.settings import TELEMETRY, TelemetrySettings
from turnout.worker.settings import WorkerSettings

SECRET = re.compile(r"(?i)password|secret|token|credential|api_?key")
DEFAULT = "default"


class EffectiveSetting(msgspec.Struct, frozen=True):
    """One setting: its key, the key as spelled at its origin, its value, and its origin."""

    key: str
    spelling: str
    value: Any
    origin: str
    """The file or environment variable that it comes from, or ``default``."""


def effective_settings(config: Config) -> list[EffectiveSetting]:
    """Returns every setting, in the order of the documentation."""
    keys = [*FIELDS, *(key for key in config.entries if key[0] in NAMED_TABLES)]
    return [_effective(config, key) for key in keys]


def _effective(config: Config, key: Key) -> EffectiveSetting:
    entry = config.entries.get(key)
    value = _default(config, key) if entry is None else entry.value
    origin = DEFAULT if entry is None else entry.origin
    return EffectiveSetting(dotted(key), config.spelled(*key), _redacted(key, value), origin)


def _redacted(key: Key, value: Any) -> Any:
    if key == ("database",):
        return shown_url(value)
    if isinstance(value, str) and SECRET.search(key[-1]):
        return "***"
    return shown_url(value) if isinstance(value, str) else value


def _default(config: Config, key: Key) -> Any:
    if key == ("database",):
        return url_in(config)
    if key[0] == ORCHESTRATION:
        value: Any = EngineSettings()
        for part in key[1:]:
            value = getattr(value, part, None)
        return value
    if key[0] == SERVER:
        value = getattr(ServerSettings(), key[1], None)
        return list(value) if isinstance(value, tuple) else value
    if key[0] == WORKER:
        value = getattr(WorkerSettings(connect=()), key[1], None)
        return list(value) if isinstance(value, tuple | dict) else value
    if key[0] == HUB:
        # Without a configured hub there is no address; the other values are the defaults of a hub.
        settings = HubSettings() if config.hub is None else config.hub
        return None if config.hub is None and key[1] == "address" else getattr(settings, key[1], None)
    if key[0] == TELEMETRY:
        return getattr(TelemetrySettings(), key[1])
    defaults = {field.name: field.default for field in msgspec.structs.fields(RunnerConfig)}
    known: dict[Key, Any] = {
        ("routing", "default"): "default",
        ("routing", "rules"): [],
        ("default_execution_mode",): "local",
        ("strict_selectors",): False,
        ("default_retries",): 0,
        ("default_timeout",): None,
        ("workflows",): [],
        ("polling",): [],
        ("notifications", "targets"): [],
        ("notifications", "private_hosts"): [],
    }
    value = known.get(key, defaults.get(key[0]))
    return [] if value == () else value
