"""``turnout dev``: the server for one developer: on this machine, with a sign-in link and a local worker."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

import typer

from turnout.cli.options import Database, LogLevel
from turnout.cli.orchestrate import Api, Hub, Launch, Quiet, Targets, run_orchestrator
from turnout.runner.server_settings import DEFAULT_HOST

log = logging.getLogger("turnout.server")

STOP_TIMEOUT = 10.0
"""Seconds that the worker gets to leave before it is killed."""


def dev(
    targets: Targets = None,
    port: Annotated[int | None, typer.Option(metavar="PORT", help="By default 8470, 0 for any free one.")] = None,
    hub: Hub = None,
    no_worker: Annotated[bool, typer.Option("--no-worker", help="Start no worker, and no hub for it.")] = False,
    log_level: LogLevel = None,
    quiet: Quiet = False,
    database: Database = None,
) -> int:
    """Drive runs and serve the API on this machine, with one local worker, until Ctrl-C.

    Changed workflow files are read again. The link that it prints signs a browser in once.

    \b
    turnout dev flows.py
    """
    return run_orchestrator(
        Launch(
            targets=tuple(targets or ()),
            hub=hub,
            database=database,
            log_level=log_level,
            quiet=quiet,
            reload=True,
            api=Api(options={"host": DEFAULT_HOST, "port": port}, link=True, worker=not no_worker),
        )
    )


@contextmanager
def local_worker(hub: str | None, targets: Sequence[str], *, secured: bool) -> Iterator[None]:
    """Runs a worker process for this hub while the block runs. A hub with keys gets none: the worker has no key."""
    if hub is None or secured:
        log.warning("no local worker is started: the hub has keys, and workers need one of their own")
        yield
        return
    imports = [part for target in targets for part in ("--import", target.partition(":")[0])]
    command = [sys.executable, "-m", "turnout", "worker", "--connect", hub, "--name", "dev", "--no-discover", *imports]
    # Ctrl-C in the terminal is for the orchestrator, which stops the worker when it is done with it.
    worker = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        yield
    finally:
        worker.send_signal(signal.SIGTERM)
        try:
            worker.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            log.warning("the local worker did not stop within %g s and is killed", STOP_TIMEOUT)
            worker.kill()
            worker.wait()
