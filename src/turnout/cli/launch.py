"""The options of an orchestrator as a process, and what they and the configuration come to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from turnout.errors import InvalidSetting

if TYPE_CHECKING:
    from turnout.authoring.workflow import Workflow
    from turnout.executors.workers.settings import HubSettings
    from turnout.orchestration.settings import EngineSettings
    from turnout.orchestration.upkeep.log_writer import Observer
    from turnout.runner.config import Config
    from turnout.runner.definitions.settings import DefinitionSettings

ANY_PORT = "tcp://127.0.0.1:0"
"""The hub of a worker process beside the orchestrator."""


class Api(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the API, over those of the configuration."""

    options: dict[str, Any] = {}
    """Settings of the server by name."""
    dev: bool = False
    """True for ``turnout dev``: a link signs a browser in once, and changed targets are loaded again."""
    worker: bool = False
    """Whether a worker process is started beside it, with a hub if none is configured."""


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """The options of an orchestrator; with ``api``, it is a server."""

    targets: Sequence[str] = ()
    hub: str | None = None
    database: str | None = None
    trace_wire: bool = False
    log_level: str | None = None
    quiet: bool = False
    as_json: bool = False
    reload: bool = False
    """Whether changed files of workflow folders take effect at once, those in Python too."""
    api: Api | None = None


def targets_of(config: Config, given: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Returns the workflow folders, and the other targets: the given ones, else those that are configured."""
    folders: list[Path] = []
    others: list[str] = []
    for target in given or config.get("workflows") or ():
        there = next((path for root in (Path.cwd(), config.root) if (path := root / target).is_dir()), None)
        if there is None or (there / "__init__.py").is_file():
            others.append(target)
        else:
            folders.append(there)
    for name in () if given else config.server.workflow_folders:
        folder = config.root / name
        if not folder.is_dir():
            raise InvalidSetting(
                f"server.workflow_folders names {name!r}, and there is no folder {folder}",
                code="no_such_folder",
                field="server.workflow_folders",
            )
        folders.append(folder)
    return folders, others


def workflows_of(config: Config, targets: Sequence[str], folders: Sequence[Path]) -> list[Workflow[..., Any]]:
    """Returns the workflows of the targets, which may use tasks of the workflow folders."""
    from turnout.runner.targets import configured_workflows

    return configured_workflows(targets, (config.root,), map(str, folders))


def definition_settings(
    config: Config, targets: Sequence[str], folders: Sequence[Path], *, reload: bool
) -> DefinitionSettings:
    from turnout.runner.definitions.settings import DefinitionSettings
    from turnout.runner.targets import configured_modules

    return DefinitionSettings(
        modules=tuple(configured_modules(targets, (config.root,))),
        folders=tuple(folders),
        allow_local_execution=config.server.allow_local_execution,
        reload=reload,
    )


def python_files(folders: Sequence[Path]) -> list[Path]:
    from turnout.runner.workflow_files import files_of

    return [file for folder in folders for file in files_of(folder) if file.suffix == ".py"]


def engine_settings(config: Config, *, quiet: bool) -> tuple[EngineSettings, Observer | None]:
    """Returns the settings, and what shows the lines of tasks, each with its run; None if they are not shown."""
    from turnout.cli.logs import print_output
    from turnout.orchestration.settings import EngineSettings

    settings = config.orchestration or EngineSettings()
    shown = print_output if settings.logs.echo and not quiet else None
    logs = msgspec.structs.replace(settings.logs, echo=False)
    return msgspec.structs.replace(settings, logs=logs), shown


def hub_of(config: Config, launch: Launch) -> str | HubSettings | None:
    """Returns the hub that the orchestrator has; None: as configured."""
    if launch.trace_wire:
        return _traced(config, launch.hub)
    wanted = launch.hub is None and config.hub is None and launch.api is not None and launch.api.worker
    return ANY_PORT if wanted else launch.hub


def _traced(config: Config, given: str | None) -> HubSettings:
    """Returns the given or configured hub with the trace of messages on."""
    from turnout.runner.settings import hub_settings

    hub = config.hub if given is None else hub_settings(given, config)
    if hub is None:
        raise InvalidSetting(
            "--trace-wire follows the messages of a hub, and there is none here: give --hub ADDRESS, or configure one",
            code="no_hub",
        )
    return msgspec.structs.replace(hub, trace_wire=True)
