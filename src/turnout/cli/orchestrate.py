"""``turnout orchestrate``: runs an orchestrator as a process of its own."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from turnout.cli.collection import collection_paused
from turnout.cli.failure import Exit
from turnout.cli.format import format_count
from turnout.cli.launch import (
    Api,
    Launch,
    definition_settings,
    engine_settings,
    hub_of,
    python_files,
    targets_of,
    workflows_of,
)
from turnout.cli.options import Database, Json, LogLevel
from turnout.cli.output import configure_logging, print_json, print_line, stdout_for_json
from turnout.errors import HubUnavailable, InvalidSetting

if TYPE_CHECKING:
    from pathlib import Path

    from turnout.cli.serve import ApiProcess
    from turnout.runner import Runner
    from turnout.runner.config import Config


Targets = Annotated[
    list[str] | None,
    typer.Argument(metavar="TARGET", help="Modules, files and folders with workflows; else as configured."),
]
Hub = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Where workers connect, as tcp://127.0.0.1:5890; else as configured."),
]
TraceWire = Annotated[
    bool, typer.Option("--trace-wire", help="Log every message between the hub and workers, what is in it masked.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Do not show here what tasks print.")]
HANDING_OVER = "handing over; once more to stop at once"
LOGGERS = ("turnout.hub", "turnout.wire", "turnout.runner", "turnout.claims", "turnout.definitions")
"""Loggers that report on the service itself."""


def orchestrate(
    targets: Targets = None,
    hub: Hub = None,
    trace_wire: TraceWire = False,
    log_level: LogLevel = None,
    quiet: Quiet = False,
    as_json: Json = False,
    database: Database = None,
) -> int:
    """Drive runs as a process of its own, until SIGTERM or Ctrl-C.

    Then it hands them over to other orchestrators; a second signal does not wait for what runs.

    \b
    turnout orchestrate shop.orders --hub tcp://127.0.0.1:5890
    turnout orchestrate                       # everything as configured
    """
    return run_orchestrator(
        Launch(
            targets=tuple(targets or ()),
            hub=hub,
            database=database,
            trace_wire=trace_wire,
            log_level=log_level,
            quiet=quiet,
            as_json=as_json,
        )
    )


class Ready(msgspec.Struct, frozen=True):
    """The message that is printed once the orchestrator is ready."""

    orchestrator: str
    database: str
    hub: str | None
    public_key: str | None
    workflows: tuple[str, ...]
    url: str | None = None
    """The address of the API; None without one."""

    def text(self) -> str:
        api = f", API {self.url}" if self.url else ""
        hub = f"hub {self.hub}" if self.hub else "no hub"
        key = f", public key {self.public_key}" if self.public_key else ""
        count = format_count(len(self.workflows), "workflow")
        return f"ready: orchestrator {self.orchestrator}, {count}{api}, {hub}{key}, {self.database}"


def run_orchestrator(launch: Launch) -> int:
    """Runs an orchestrator, with the API if asked for, until a stop signal. Returns the exit code."""
    with ExitStack() as stack:
        collect_again = stack.enter_context(collection_paused())
        from turnout.cli.database import check_folder
        from turnout.runner.settings import configuration, url_in

        configure_logging(launch.log_level, LOGGERS)
        config = configuration()
        check_folder(launch.database or url_in(config))
        folders, targets = targets_of(config, launch.targets)
        workflows = workflows_of(config, targets, folders)
        stack.enter_context(stdout_for_json(launch.as_json))
        api = None if launch.api is None else stack.enter_context(_api(config, launch.api))
        stop = stack.enter_context(stop_event(HANDING_OVER))
        settings, shown = engine_settings(config, quiet=launch.quiet)
        options = {
            "workflows": workflows,
            "settings": settings,
            "hub": hub_of(config, launch),
            "on_output": shown,
            "schedules": True,
        }
        definitions = definition_settings(config, targets, folders, reload=launch.reload)
        runner = stack.enter_context(_runner(launch.database, config, definitions=definitions, **options))
        if launch.api is None:
            _refuse_idle(runner)
        server = None if api is None else stack.enter_context(api.served(runner.core))
        if launch.api is not None and launch.api.dev:
            stack.enter_context(_companion(runner, targets, python_files(folders), worker=launch.api.worker))
        ready = _ready(runner, None if server is None else server.url)
        if launch.as_json:
            print_json(ready)
        else:
            print_line(ready.text())
        collect_again()
        stop.wait()
        if server is not None:
            server.drain()
    return Exit.OK


def _api(config: Config, options: Api) -> AbstractContextManager[ApiProcess]:
    """Returns the API, whose socket is opened before any run is driven."""
    from turnout.cli.serve import ApiProcess, print_link

    return ApiProcess.of(config, options.options, link=print_link if options.dev else None)


def _companion(
    runner: Runner, targets: Sequence[str], files: Sequence[Path], *, worker: bool
) -> AbstractContextManager[object]:
    from turnout.cli.dev import companion

    return companion(runner, targets, files, worker=worker)


def _runner(database: str | None, config: Config, **options: Any) -> Runner:
    from turnout.runner import Runner

    try:
        return Runner(database, config=config, handle_sigterm=False, **options)
    except HubUnavailable as error:
        error.fields["hint"] = "name another address with --hub; workers may have several hubs"
        raise


def _refuse_idle(runner: Runner) -> None:
    """Raises InvalidSetting for an orchestrator that could never drive a run."""
    if not runner.core.registry.workflows and runner.core.workers is None:
        raise InvalidSetting(
            "there is nothing to drive here: name modules, files or folders with workflows, or a hub, to whose workers "
            "runs of stored workflows can go",
            code="nothing_to_drive",
        )


def _ready(runner: Runner, url: str | None) -> Ready:
    from turnout.store.database import shown_url

    core = runner.core
    return Ready(
        orchestrator=core.engine.session.id,
        database=shown_url(runner.url),
        hub=runner.hub,
        public_key=_public_key(runner),
        workflows=tuple(sorted(core.registry.workflows)),
        url=url,
    )


def _public_key(runner: Runner) -> str | None:
    workers = runner.core.workers
    return None if workers is None or workers.authenticator is None else workers.authenticator.public_key


@contextmanager
def stop_event(notice: str) -> Iterator[threading.Event]:
    """Yields an event that the first stop signal sets, with this notice. The second one ends the process."""
    from turnout.runtime.signals import StopSignals

    stop = threading.Event()

    def on_signal(number: int) -> None:
        if stop.is_set():
            # Running bodies are not waited for: other orchestrators see the process end and take over.
            os._exit(Exit.INTERRUPTED)
        os.write(sys.stderr.fileno(), f"{notice}\n".encode())
        stop.set()

    with StopSignals(on_signal):
        yield stop
