"""``turnout dev``: the server for one developer: on this machine, with a sign-in link and a local worker."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from turnout.cli.launch import Api, Launch
from turnout.cli.options import Database, LogLevel
from turnout.cli.orchestrate import Hub, Quiet, Targets, run_orchestrator

if TYPE_CHECKING:
    from turnout.cli.dev_companion import DevCompanion
    from turnout.runner import Runner

log = logging.getLogger("turnout.server")


def dev(
    targets: Targets = None,
    port: Annotated[int | None, typer.Option(metavar="PORT", help="By default 8470, 0 for any free one.")] = None,
    hub: Hub = None,
    no_worker: Annotated[bool, typer.Option("--no-worker", help="Start no worker, and no hub for it.")] = False,
    log_level: LogLevel = None,
    quiet: Quiet = False,
    database: Database = None,
) -> int:
    """Serve the API to one developer, with a local worker.

    Changed workflow files take effect at once, for new runs. The link that it prints signs a browser in once.

    \b
    turnout dev flows.py
    """
    from turnout.runner.server_settings import DEFAULT_HOST

    return run_orchestrator(
        Launch(
            targets=tuple(targets or ()),
            hub=hub,
            database=database,
            log_level=log_level,
            quiet=quiet,
            reload=True,
            api=Api(options={"host": DEFAULT_HOST, "port": port, "drain": 0.0}, dev=True, worker=not no_worker),
        )
    )


def companion(runner: Runner, targets: Sequence[str], files: Sequence[Path], *, worker: bool) -> DevCompanion:
    """Returns what runs beside the server: the reload of the targets that are Python files, and the worker. ``files``
    are those of workflow folders, which the server itself loads again."""
    from turnout.cli.dev_companion import DevCompanion
    from turnout.runner.definitions.python_files import PythonFiles

    own = [path.resolve() for target in targets if (path := Path(target.partition(":")[0])).suffix == ".py"]
    definitions = runner.core.definitions
    assert definitions is not None  # those of a server are followed
    python = PythonFiles(definitions.catalog, reload=True)
    for path in own:
        python.load(path)
    if not worker:
        return DevCompanion(own, files, python.load)
    modules = _modules(targets, files)
    check = [sys.executable, "-m", "turnout.cli.import_check", *modules] if modules else []
    return DevCompanion(own, files, python.load, worker_command(runner, modules, "dev"), check)


def _modules(targets: Sequence[str], files: Sequence[Path]) -> list[str]:
    """Returns what the worker imports."""
    from turnout.runner.workflow_files import is_workflow_file

    named = [*(target.partition(":")[0] for target in targets), *map(str, files)]
    return [each for each in named if not is_workflow_file(each)]


def worker_command(runner: Runner, modules: Sequence[str], name: str, labels: Sequence[str] = ()) -> list[str]:
    """Returns the command line of the worker; empty for a hub with keys, since the worker has none."""
    workers = runner.core.workers
    if runner.hub is None or (workers is not None and workers.authenticator is not None):
        log.warning("no local worker is started: the hub has keys, and each worker needs one of its own")
        return []
    imports = [part for module in modules for part in ("--import", module)]
    labelled = [part for label in labels for part in ("--label", label)]
    return [
        sys.executable,
        "-m",
        "turnout",
        "worker",
        "--connect",
        runner.hub,
        "--name",
        name,
        "--no-discover",
        *imports,
        *labelled,
    ]
