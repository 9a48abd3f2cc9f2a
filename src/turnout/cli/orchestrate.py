"""``turnout orchestrate``: runs an orchestrator as a process of its own."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from turnout.cli.failure import Exit
from turnout.cli.format import format_count
from turnout.cli.options import Database, Json, LogLevel
from turnout.cli.output import configure_logging, print_json, print_line, stdout_for_json
from turnout.errors import HubUnavailable, InvalidSetting

if TYPE_CHECKING:
    from turnout.authoring.workflow import Workflow
    from turnout.executors.workers.settings import HubSettings
    from turnout.orchestration.settings import EngineSettings
    from turnout.runner import Runner
    from turnout.runner.config import Config


Targets = Annotated[
    list[str] | None,
    typer.Argument(metavar="TARGET", help="Modules and files with workflows; else `workflows` as configured."),
]


def orchestrate(
    targets: Targets = None,
    hub: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Where workers connect, as tcp://127.0.0.1:5890; else as configured."),
    ] = None,
    trace_wire: Annotated[
        bool, typer.Option("--trace-wire", help="Log every message between the hub and workers, what is in it masked.")
    ] = False,
    log_level: LogLevel = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not show here what tasks print.")] = False,
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
        tuple(targets or ()),
        hub,
        database,
        trace_wire=trace_wire,
        log_level=log_level,
        quiet=quiet,
        as_json=as_json,
    )


class Ready(msgspec.Struct, frozen=True):
    """The message that is printed once the orchestrator is ready."""

    orchestrator: str
    database: str
    hub: str | None
    public_key: str | None
    workflows: tuple[str, ...]

    def text(self) -> str:
        hub = f"hub {self.hub}" if self.hub else "no hub"
        key = f", public key {self.public_key}" if self.public_key else ""
        count = format_count(len(self.workflows), "workflow")
        return f"ready: orchestrator {self.orchestrator}, {count}, {hub}{key}, {self.database}"


def run_orchestrator(
    targets: Sequence[str],
    hub: str | None,
    database: str | None,
    *,
    trace_wire: bool,
    log_level: str | None,
    quiet: bool,
    as_json: bool,
) -> int:
    from turnout.cli.database import check_folder
    from turnout.orchestration.settings import EngineSettings
    from turnout.runner.settings import configuration, url_in

    configure_logging(log_level, ("turnout.hub", "turnout.wire", "turnout.runner", "turnout.claims"))
    config = configuration()
    check_folder(database or url_in(config))
    workflows = _workflows(config, targets)
    if not workflows and hub is None and config.hub is None:
        raise InvalidSetting(
            "there is nothing to drive here: name modules or files with workflows, or a hub, to whose workers runs of "
            "stored workflows can go",
            code="nothing_to_drive",
        )
    settings = config.orchestration or EngineSettings()
    if quiet:
        settings = msgspec.structs.replace(settings, logs=msgspec.structs.replace(settings.logs, echo=False))
    with (
        stdout_for_json(as_json),
        _stop_event() as stop,
        _runner(database, config, workflows, settings, _traced(config, hub) if trace_wire else hub) as runner,
    ):
        ready = _ready(runner)
        if as_json:
            print_json(ready)
        else:
            print_line(ready.text())
        stop.wait()
    return Exit.OK


def _runner(
    database: str | None,
    config: Config,
    workflows: Sequence[Workflow[..., Any]],
    settings: EngineSettings,
    hub: str | HubSettings | None,
) -> Runner:
    from turnout.runner import Runner

    try:
        return Runner(database, config=config, workflows=workflows, settings=settings, hub=hub, handle_sigterm=False)
    except HubUnavailable as error:
        error.fields["hint"] = "name another address with --hub; workers may have several hubs"
        raise


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


def _workflows(config: Config, targets: Sequence[str]) -> list[Workflow[..., Any]]:
    from turnout.runner.targets import configured_workflows

    return configured_workflows(targets or config.get("workflows") or (), (config.root,))


def _ready(runner: Runner) -> Ready:
    from turnout.store.database import shown_url

    core = runner.core
    authenticator = core.workers.authenticator if core.workers is not None else None
    return Ready(
        orchestrator=core.engine.session.id,
        database=shown_url(runner.url),
        hub=runner.hub,
        public_key=None if authenticator is None else authenticator.public_key,
        workflows=tuple(sorted(core.registry.workflows)),
    )


@contextmanager
def _stop_event() -> Iterator[threading.Event]:
    """Yields an event that the first stop signal sets."""
    from turnout.runtime.signals import StopSignals

    stop = threading.Event()

    def on_signal(number: int) -> None:
        if stop.is_set():
            # Running bodies are not waited for: other orchestrators see the process end and take over.
            os._exit(Exit.INTERRUPTED)
        os.write(sys.stderr.fileno(), b"handing over; once more to stop at once\n")
        stop.set()

    with StopSignals(on_signal):
        yield stop
