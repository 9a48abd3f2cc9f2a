"""``turnout config``: shows and checks the configuration."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from turnout.cli.options import Group, Json
from turnout.cli.output import print_json, print_line, print_rows
from turnout.errors import InvalidSetting
from turnout.model.texts import json_text

if TYPE_CHECKING:
    from turnout.runner.config import Config
    from turnout.runner.config_schema import Key


app = typer.Typer(cls=Group, rich_markup_mode=None, no_args_is_help=True, help="Show or check the configuration.")


@app.command()
def show(
    origin: Annotated[bool, typer.Option("--origin", help="Say where each value comes from.")] = False,
    as_json: Json = False,
) -> None:
    """Print every setting with its value, secrets left out."""
    found = effective_settings()
    if as_json:
        print_json(found)
        return
    print_rows(
        [
            [(each.spelling, ""), (json_text(each.value), "cyan"), (each.origin if origin else "", "dim")]
            for each in found
        ]
    )


@app.command()
def check(as_json: Json = False) -> None:
    """Check that an orchestrator would start with this configuration.

    The file is right, the database URL can be read, the executors can be made, and the rules can work with the
    workflows. Nothing connects to the database.
    """
    from turnout.runner.settings import configuration

    config = configuration()
    warnings = check_config(config)
    if as_json:
        print_json({"ok": True, "file": None if config.file is None else str(config.file), "warnings": warnings})
        return
    for warning in warnings:
        print_line([(f"warning: {warning}", "yellow")])
    print_line([("✓ ", "green"), (str(config.file or "no file: defaults and the environment"), "")])


SECRET = r"(?i)password|secret|token|credential|api_?key"
DEFAULT = "default"


class EffectiveSetting(msgspec.Struct, frozen=True):
    """One setting: its key, the key as spelled at its origin, its value, and its origin."""

    key: str
    spelling: str
    value: Any
    origin: str


def effective_settings() -> list[EffectiveSetting]:
    """Returns every setting, in the order of the documentation."""
    from turnout.runner.config_schema import FIELDS, NAMED_TABLES
    from turnout.runner.settings import configuration

    config = configuration()
    keys = [*FIELDS, *(key for key in config.entries if key[0] in NAMED_TABLES)]
    return [_effective(config, key) for key in keys]


def _effective(config: Config, key: Key) -> EffectiveSetting:
    from turnout.runner.config_schema import dotted

    entry = config.entries.get(key)
    value = _default(config, key) if entry is None else entry.value
    origin = DEFAULT if entry is None else entry.origin
    return EffectiveSetting(dotted(key), config.spelled(*key), _redacted(key, value), origin)


def _redacted(key: Key, value: Any) -> Any:
    from turnout.store.database import shown_url

    if key == ("database",):
        return shown_url(value)
    if isinstance(value, str) and re.search(SECRET, key[-1]):
        return "***"
    return shown_url(value) if isinstance(value, str) else value


def _default(config: Config, key: Key) -> Any:
    from turnout.executors.workers.settings import HubSettings
    from turnout.orchestration.settings import EngineSettings
    from turnout.runner.config_schema import HUB, ORCHESTRATION, WORKER
    from turnout.runner.settings import RunnerConfig, url_in
    from turnout.worker.settings import WorkerSettings

    if key == ("database",):
        return url_in(config)
    if key[0] == ORCHESTRATION:
        value: Any = EngineSettings()
        for part in key[1:]:
            value = getattr(value, part, None)
        return value
    defaults = {field.name: field.default for field in msgspec.structs.fields(RunnerConfig)}
    known: dict[Key, Any] = {
        ("routing", "default"): "default",
        ("routing", "rules"): [],
        ("default_execution_mode",): "local",
        ("strict_selectors",): False,
        ("default_retries",): 0,
    }
    if key[0] == WORKER:
        value = getattr(WorkerSettings(connect=()), key[1], None)
        return list(value) if isinstance(value, tuple | dict) else value
    if key[0] == HUB:
        # Without a configured hub there is no address; the other values are the defaults of a hub.
        settings = HubSettings() if config.hub is None else config.hub
        return None if config.hub is None and key[1] == "address" else getattr(settings, key[1], None)
    value = known.get(key, defaults.get(key[0]))
    return [] if value is None or value == () else value


def check_config(config: Config) -> list[str]:
    """Returns warnings. Raises what would keep ``turnout orchestrate`` from starting with this configuration."""
    from turnout.model.extras import optional_packages
    from turnout.runner.composition import Plan
    from turnout.runner.targets import configured_workflows
    from turnout.runner.worker_config import check_worker

    workflows = configured_workflows(config.get("workflows") or (), (config.root,))
    warnings = Plan(config).check_all(workflows)
    if config.hub is not None and config.hub.key_file is not None:
        with optional_packages():
            from turnout.executors.workers.curve_auth import CurveAuthenticator

        CurveAuthenticator.of(config.hub)
    check_worker(config, os.environ)
    _check_database(config)
    return [*config.warnings, *warnings]


def _check_database(config: Config) -> None:
    """Raises InvalidSetting if the configured database URL cannot be read. Does not connect."""
    from turnout.store import connect

    entry = config.entries.get(("database",))
    if entry is None or not entry.value:
        return
    try:
        connect(entry.value, create=False).close()
    except InvalidSetting as error:
        raise InvalidSetting(
            f"{entry.origin}: {config.spelled('database')}: {error.message}", code=error.code, key="database"
        ) from error
