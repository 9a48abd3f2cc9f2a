"""How does a worker run in a terminal or under a supervisor? With its say on stderr, and an exit code."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from turnout.cli.failure import Exit
from turnout.cli.output import say
from turnout.cli.service import write_as_a_service
from turnout.runner.settings import configuration
from turnout.runner.working import handlers_of, worker_settings
from turnout.wire.tracing import shown
from turnout.wire.translation import SHELL_HANDLER
from turnout.worker.health import HealthServer
from turnout.worker.worker import Worker

log = logging.getLogger("turnout.worker")


def work(
    options: Mapping[str, Any],
    modules: Sequence[str],
    *,
    shell: bool,
    health_port: int | None,
    trace: bool,
    log_level: str | None,
) -> int:
    """Run a worker until it is told to stop."""
    write_as_a_service(log_level, (log.name,))
    config = configuration()
    settings = worker_settings(config, os.environ, options)
    handlers = handlers_of(config, modules, shell=shell)
    worker = Worker(handlers, settings, trace=_print if trace else None)
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
    if tuple(names) == (SHELL_HANDLER,):
        return "commands only (--import names modules with tasks)"
    return "1 handler" if len(names) == 1 else f"{len(names)} handlers"


def _print(direction: str, address: str, frames: Sequence[bytes], codec: str) -> None:
    say(f"{direction} {address} {shown(frames, codec)}", to=sys.stderr)
