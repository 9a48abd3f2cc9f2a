"""Composes the configuration of a Runner: arguments, over the environment, over the file, over defaults."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from turnout.authoring.definition import NO_DEFAULTS, TaskDefaults
from turnout.authoring.workflow import DEFAULT_TENANT, Workflow
from turnout.contracts.executor import TaskExecutor
from turnout.dispatcher import PlacementSettings, RoutingConfig
from turnout.dispatcher.placement import MODE
from turnout.errors import InvalidSetting, MissingExtra, TurnoutError
from turnout.executors.pubsub.settings import PUBSUB, STEP_EXECUTION
from turnout.executors.workers.settings import HubSettings
from turnout.model.durations import seconds
from turnout.model.extras import optional_packages, require
from turnout.model.limits import LimitSize
from turnout.model.names import suggest
from turnout.model.values import MAX_BYTES
from turnout.orchestration.settings import EngineSettings
from turnout.orchestration.upkeep.log_writer import Observer
from turnout.runner.config import Config, Entry, read_config
from turnout.runner.config_schema import HUB, RULES
from turnout.runner.config_sources import CONFIG_VARIABLE
from turnout.runner.definitions.settings import DefinitionSettings
from turnout.runner.modules import search_in
from turnout.runner.notification_settings import NotificationSettings
from turnout.runner.server_access import ServerAccess, server_access
from turnout.telemetry.settings import TelemetrySettings

ConfigSource: TypeAlias = bool | str | Path | Config
"""True: the file that is found from the working directory upwards, and the environment. False: neither. A path: that
file, and the environment. A ``Config``: one that was read before."""


class RunnerConfig(msgspec.Struct, kw_only=True):
    """Everything that a Runner is made of."""

    database_url: str
    direct_database_url: str | None = None
    """The same database without the pooler, where the URL is that of a pooler in transaction mode."""
    routing: RoutingConfig | None = None
    rules_origin: str | None = None
    """The file or variable that the rules come from; None: the program gave them."""
    routing_given: bool = False
    """True if the program gave the rules: those that orchestrators share do not replace them."""
    executors: Mapping[str, TaskExecutor] = {}
    workflows: Iterable[Workflow[..., Any]] | None = None
    tenant: str = DEFAULT_TENANT
    dispatcher: bool = True
    polling: Iterable[str] = ()
    settings: EngineSettings = EngineSettings()
    placement: PlacementSettings = PlacementSettings()
    hub: HubSettings | None = None
    """The hub that workers connect to; None: no hub is configured."""
    listens: bool = True
    """False: the hub is another orchestrator's, and is not opened here."""
    max_output_bytes: int = MAX_BYTES
    task_defaults: TaskDefaults = NO_DEFAULTS
    """The timeout and retries of tasks that declare none."""
    on_output: Observer | None = None
    claims: Iterable[str] | None = None
    """Full names of the workflows whose stored runs it claims; None: all that it has the code for."""
    warnings: tuple[str, ...] = ()
    """What is doubtful about the configuration; logged at the start."""
    drives: bool = True
    """False: it starts nothing. It stores submissions for other orchestrators, and cancels, pauses and resumes."""
    schedules: bool = False
    """True: it decides the due times of the schedules of its workflows, polls their triggers, and starts the runs."""
    definitions: DefinitionSettings | None = None
    """How stored workflow definitions are used; None: they are not."""
    origin: str | None = None
    """How its runs are handed in, as it is stored with them; None: by a program."""
    limits: Mapping[str, LimitSize] = {}
    """The configured sizes of limits, by their declared names."""
    telemetry: TelemetrySettings | None = None
    """Where traces and metrics are sent; None: nowhere."""
    source: Config | None = None
    """The configuration that values come from which are not given."""


def configuration(source: ConfigSource = True) -> Config:
    """Returns the configuration of this process: the only place that reads its environment."""
    match source:
        case Config():
            return source
        case False:
            return Config(Path.cwd())
        case True:
            return read_config(Path.cwd(), os.environ)
        case _:
            return read_config(Path.cwd(), {**os.environ, CONFIG_VARIABLE: str(source)})


def use_config_file(file: str) -> None:
    """Makes this file the configuration of the process and of its child processes, as ``TURNOUT_CONFIG`` does."""
    if not Path(file).is_file():
        raise InvalidSetting(f"--config names {file!r}, which is no file", code="no_config_file")
    os.environ[CONFIG_VARIABLE] = str(Path(file).resolve())


def server_of(server: str | None, token_file: str | None, database: str | None) -> ServerAccess | None:
    """Returns the server that a command with these options uses; None if it uses a database."""
    return server_access(server, token_file, database, os.environ)


def runner_config(config: ConfigSource = True, **arguments: Any) -> RunnerConfig:
    """Returns the given arguments, and configured values for those that are absent or None."""
    found = configuration(config)
    given = {name: value for name, value in arguments.items() if value is not None}
    if given.get("hub") is False:
        del given["hub"]
        given["listens"] = False
    elif "hub" in given:
        given["hub"] = hub_settings(given["hub"], found)
    strict = given.pop("strict_selectors", None)
    if strict is not None:
        placement = given.get("placement") or _placement(found) or PlacementSettings()
        given["placement"] = msgspec.structs.replace(placement, strict_selectors=strict)
    if "dispatcher" in arguments:
        given["dispatcher"] = bool(arguments["dispatcher"])
    configured: dict[str, Any] = {
        "source": found,
        "warnings": found.warnings,
        "database_url": url_in(found),
        "direct_database_url": direct_url_in(found, given.get("database_url")),
        "routing": found.routing,
        "routing_given": "routing" in given,
        "rules_origin": None if "routing" in given or RULES not in found.entries else found.entries[RULES].origin,
        "tenant": found.get("tenant"),
        "polling": found.get("polling"),
        "settings": found.orchestration,
        "placement": _placement(found),
        "hub": None if "hub" in given else found.hub,
        "max_output_bytes": found.get("max_output_bytes"),
        "limits": found.limits,
        "telemetry": found.telemetry,
        "task_defaults": _task_defaults(
            given.pop("default_timeout", found.get("default_timeout")),
            given.pop("default_retries", found.get("default_retries") or 0),
            given.pop("notifications", None) or found.notifications,
        ),
    }
    executors = {**configured_executors(found, without=given.get("executors", {})), **given.pop("executors", {})}
    return RunnerConfig(
        executors=executors, **{name: value for name, value in configured.items() if value is not None} | given
    )


def _task_defaults(timeout: Any, retries: Any, notifications: NotificationSettings) -> TaskDefaults:
    """Returns the defaults of tasks. Raises InvalidSetting for values that tasks cannot have."""
    number = None if timeout is None else seconds(timeout, "default_timeout")
    if number == 0:
        raise InvalidSetting(f"default_timeout is {timeout!r}: write a time above 0", code="bad_setting")
    if not isinstance(retries, int) or isinstance(retries, bool) or retries < 0:
        raise InvalidSetting(f"default_retries is {retries!r}: write a whole number from 0", code="bad_setting")
    notifications.check()
    return TaskDefaults(number, retries, notifications.notify, notifications.private_hosts, notifications.smtp)


def hub_settings(hub: str | HubSettings, config: Config) -> HubSettings:
    """Returns the given hub; for an address, the configured hub at that address."""
    if isinstance(hub, HubSettings):
        return hub
    entries = {key: entry for key, entry in config.entries.items() if key not in ((HUB, "host"), (HUB, "port"))}
    here = msgspec.structs.replace(config, entries={**entries, (HUB, "address"): Entry(hub, "the given hub")})
    settings = here.hub
    assert settings is not None
    return settings


def configured_executors(config: Config, without: Iterable[str] = ()) -> dict[str, TaskExecutor]:
    """Returns the executors of the configuration, but for these keys."""
    skipped = set(without)
    search_in(config.root)
    found = {
        key: make_executor(key, options, _origin(config, key))
        for key, options in config.executors.items()
        if key not in skipped
    }
    return found if PUBSUB in skipped else _with_pubsub(found, config)


def _with_pubsub(found: dict[str, TaskExecutor], config: Config) -> dict[str, TaskExecutor]:
    """Returns these executors, and the one of the table ``step_execution``."""
    settings = config.step_execution
    if settings is None:
        return found
    if PUBSUB in found:
        raise InvalidSetting(
            f"{_origin(config, PUBSUB)}: executors.{PUBSUB} and {STEP_EXECUTION} both make the executor {PUBSUB!r}; "
            "keep one of them, or give the first another name",
            code="bad_executor",
            key=PUBSUB,
        )
    with optional_packages():
        from turnout.executors.pubsub.executor import ZmqPubSubExecutor

    return {**found, PUBSUB: ZmqPubSubExecutor(settings)}


def _origin(config: Config, executor: str) -> str:
    return next(entry.origin for key, entry in config.entries.items() if key[:2] == ("executors", executor))


def _placement(config: Config) -> PlacementSettings | None:
    values = {name: config.get(name) for name in (MODE, "strict_selectors")}
    settings = {name: value for name, value in values.items() if value is not None}
    return msgspec.convert({**settings, "mode_name": config.spelled(MODE)}, PlacementSettings) if settings else None


def url_in(config: Config) -> str:
    """Returns the configured database, else ``.turnout/turnout.db`` in the project."""
    return config.get("database") or f"sqlite:///{config.root / '.turnout' / 'turnout.db'}"


def direct_url_in(config: Config, given: str | None = None) -> str | None:
    """Returns the configured direct URL of this database; None for a database that is not the configured one."""
    return config.get("direct_database") if not given or given == url_in(config) else None


def database_url(given: str | None = None) -> str:
    """Returns the given URL, else the configured one."""
    return given or url_in(configuration())


def direct_database_url(given: str | None = None) -> str | None:
    """Returns the configured direct URL of the given database, or of the configured one."""
    return direct_url_in(configuration(), given)


BUILT_IN = {
    "kubernetes": "turnout.executors.kubernetes.executor:KubernetesExecutor.of",
    "dask": "turnout.executors.dask.executor:DaskExecutor",
    "process": "turnout.executors.process:ProcessExecutor",
    "ray": "turnout.executors.ray.executor:RayExecutor",
    "shell": "turnout.executors.shell:ShellExecutor",
    "thread": "turnout.executors.thread:ThreadExecutor",
    "zmq_pubsub": "turnout.executors.pubsub.executor:ZmqPubSubExecutor.of",
}
"""Short names of the executors that come with Turnout."""
PACKAGES = {"dask": "distributed", "ray": "ray"}
"""The packages that some of them need."""


def make_executor(key: str, options: Mapping[str, Any], where: str) -> TaskExecutor:
    """Returns the executor that the table ``executors.KEY`` describes."""
    at = f"{where}: executors.{key}"
    use = options.get("use")
    if use is None:
        raise InvalidSetting(
            f'{at} has no `use`: write a short name ({", ".join(sorted(BUILT_IN))}) or "module:Class"',
            code="bad_executor",
            key=key,
        )
    factory = _found(use, at)
    given = {name: value for name, value in options.items() if name != "use"}
    named = _with_name(factory, key, given, at)
    try:
        made = factory(**named)
    except TurnoutError as error:
        raise InvalidSetting(f"{at}: {error.message}", code="bad_executor", key=key) from error
    except Exception as error:
        raise InvalidSetting(
            f"{at}: {use} could not be made: {type(error).__name__}: {error}", code="bad_executor", key=key
        ) from error
    if not isinstance(made, TaskExecutor):
        raise InvalidSetting(
            f"{at}: {use} gives {type(made).__name__}, which is no task executor", code="bad_executor", key=key
        )
    return made


def _found(use: str, at: str) -> Callable[..., Any]:
    if (package := PACKAGES.get(use)) is not None:
        require(package)
    path = BUILT_IN.get(use, use)
    module, colon, name = path.partition(":")
    if not colon:
        raise InvalidSetting(
            f'{at}: there is no executor {use!r}{suggest(use, BUILT_IN)}; your own is "module:Class"',
            code="bad_executor",
        )
    try:
        with optional_packages():
            found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except MissingExtra as error:
        raise MissingExtra(f"{at}: {error.message}", **error.fields) from error
    except Exception as error:
        raise InvalidSetting(
            f"{at}: {use} cannot be imported: {type(error).__name__}: {error}", code="bad_executor"
        ) from error
    if not callable(found):
        raise InvalidSetting(f"{at}: {use} is no class and no function", code="bad_executor")
    return found


def _with_name(factory: Callable[..., Any], key: str, given: dict[str, Any], at: str) -> dict[str, Any]:
    """Returns the options, with the key as the executor's name where it takes one. Refuses unknown options."""
    try:
        parameters = inspect.signature(factory).parameters
    except ValueError:
        return given
    free = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())
    for name in given:
        if name not in parameters and not free:
            raise InvalidSetting(
                f"{at} has no option {name!r}{suggest(name, parameters)}", code="unknown_setting", key=f"{key}.{name}"
            )
    return {"name": key, **given} if "name" in parameters else given
