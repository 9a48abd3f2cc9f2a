"""``turnout worker``: runs tasks for a hub in another process."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from turnout.cli.failure import Exit
from turnout.cli.format import format_count
from turnout.cli.options import LogLevel
from turnout.cli.output import configure_logging, print_line
from turnout.model.durations import seconds

Connect = Annotated[
    list[str] | None,
    typer.Option("--connect", "-c", metavar="ADDRESS", help="A hub, as tcp://127.0.0.1:5890; may be repeated."),
]
Import = Annotated[
    list[str] | None,
    typer.Option("--import", "-i", metavar="MODULE", help="A module or file with tasks or handlers; may be repeated."),
]
Label = Annotated[
    list[str] | None,
    typer.Option("--label", "-l", metavar="NAME=VALUE", help="What worker_selector asks for; may be repeated."),
]


def worker(
    connect: Connect = None,
    modules: Import = None,
    labels: Label = None,
    concurrency: Annotated[int | None, typer.Option(metavar="N", help="Steps that run at once; by default 4.")] = None,
    processes: Annotated[
        bool | None,
        typer.Option("--processes/--threads", help="Python bodies in child processes, which can be killed."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="TEXT", help="A name for people; else host and process id.")
    ] = None,
    grace: Annotated[
        str | None, typer.Option(metavar="TIME", help="How long running steps get when it stops; by default 30s.")
    ] = None,
    no_shell: Annotated[bool, typer.Option("--no-shell", help="Run no commands.")] = False,
    no_discover: Annotated[
        bool, typer.Option("--no-discover", help="Connect to no hub that is not named here.")
    ] = False,
    server_key: Annotated[str | None, typer.Option(metavar="Z85", help="The hub's public key.")] = None,
    key_file: Annotated[str | None, typer.Option(metavar="FILE", help="This worker's own pair of keys.")] = None,
    health_port: Annotated[
        int | None, typer.Option(metavar="PORT", help="/healthz and /metrics on 127.0.0.1; 0: any free port.")
    ] = None,
    trace_wire: Annotated[
        bool, typer.Option("--trace-wire", help="Print every message, what is in it masked.")
    ] = False,
    once: Annotated[
        str | None,
        typer.Option(metavar="ATTEMPT", help="Take this attempt only, and end when its result is acknowledged."),
    ] = None,
    worker_id: Annotated[
        str | None, typer.Option(metavar="ID", help="With --once: the id under which the hub expects this worker.")
    ] = None,
    once_timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="With --once: how long to wait for the attempt; by default 10m.")
    ] = None,
    log_level: LogLevel = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not show here what tasks print.")] = False,
) -> int:
    """Run tasks for a hub elsewhere, until SIGTERM or Ctrl-C.

    A second signal does not wait for what runs.

    \b
    turnout worker --connect tcp://127.0.0.1:5890 --import shop.tasks --label gpu=true --concurrency 8
    turnout worker --import flows.py           # the hub in TURNOUT_CONNECT or turnout.toml
    turnout worker --import shop.images --processes --grace 2m --health-port 8080
    """
    from turnout.runtime.log_buffer import LogSettings
    from turnout.worker.settings import labels_of

    options = {
        "connect": tuple(connect or ()),
        "labels": labels_of(labels, "--label") if labels else None,
        "concurrency": 1 if once else concurrency,
        "processes": processes,
        "name": name,
        "grace": None if grace is None else seconds(grace, "--grace"),
        "discover": False if no_discover else None,
        "server_key": server_key,
        "key_file": key_file,
        "logs": LogSettings(echo=False) if quiet else None,
        "once": once,
        "worker_id": worker_id,
        "once_timeout": None if once_timeout is None else seconds(once_timeout, "--once-timeout"),
    }
    return run_worker(
        options,
        tuple(modules or ()),
        shell=not no_shell,
        health_port=health_port,
        trace=trace_wire,
        log_level=log_level,
    )


log = logging.getLogger("turnout.worker")


def run_worker(
    options: Mapping[str, Any],
    modules: Sequence[str],
    *,
    shell: bool,
    health_port: int | None,
    trace: bool,
    log_level: str | None,
) -> int:
    """Runs a worker until it is stopped."""
    from turnout.model.extras import optional_packages
    from turnout.runner.settings import configuration
    from turnout.runner.worker_config import handlers_of, worker_settings
    from turnout.worker.status import HealthServer

    with optional_packages():
        from turnout.worker.worker import Worker

    configure_logging(log_level, (log.name,))
    config = configuration()
    settings = worker_settings(config, os.environ, options)
    handlers = handlers_of(config, modules, shell=shell)
    worker = Worker(handlers, settings, trace=_print_message if trace else None)
    health = None
    if health_port is not None:
        health = HealthServer(health_port, lambda: worker.figures)
        health.start()
        log.info("health: http://127.0.0.1:%d/healthz", health.port)
    log.info(
        "worker %s: %s, %d at once, hubs %s",
        *(settings.shown_name, _ability(handlers.names), settings.concurrency, ", ".join(settings.connect)),
    )
    try:
        finished = worker.run()
    finally:
        if health is not None:
            health.close()
    log.info("stopped" if finished else "stopped before everything was finished")
    return Exit.OK if finished else Exit.FAILED


def _ability(names: Sequence[str]) -> str:
    from turnout.wire.step_codec import SHELL_HANDLER, STEP_HANDLER

    if {*names} == {SHELL_HANDLER, STEP_HANDLER}:
        return "commands only (--import names modules with tasks)"
    return format_count(len(names), "handler")


def _print_message(direction: str, address: str, frames: Sequence[bytes], codec: str) -> None:
    from turnout.wire.wire_log import shown

    print_line(f"{direction} {address} {shown(frames, codec)}", to=sys.stderr)
