"""``turnout orchestrate``: an orchestrator as a process of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from turnout.cli.options import Database, Json, LogLevel

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
    from turnout.cli.orchestrating import orchestrate_until_told

    return orchestrate_until_told(
        tuple(targets or ()),
        hub,
        database,
        trace_wire=trace_wire,
        log_level=log_level,
        quiet=quiet,
        as_json=as_json,
    )
