"""``turnout worker``: run tasks for a hub elsewhere."""

from __future__ import annotations

from typing import Annotated

import typer

from turnout.cli.options import LogLevel

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
    concurrency: Annotated[int | None, typer.Option(metavar="N", help="Steps that run at once; 4 unless said.")] = None,
    processes: Annotated[
        bool | None,
        typer.Option("--processes/--threads", help="Python bodies in child processes, which can be killed."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="TEXT", help="A name for people; else host and process id.")
    ] = None,
    grace: Annotated[
        str | None, typer.Option(metavar="TIME", help="How long running steps get when it stops; 30s unless said.")
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
    from turnout.bodies.log_buffer import LogSettings
    from turnout.model.durations import seconds
    from turnout.model.extras import optional_packages
    from turnout.worker.settings import labels_of

    with optional_packages():
        from turnout.cli.working import work

    options = {
        "connect": tuple(connect or ()),
        "labels": labels_of(labels, "--label") if labels else None,
        "concurrency": concurrency,
        "processes": processes,
        "name": name,
        "grace": None if grace is None else seconds(grace, "--grace"),
        "discover": False if no_discover else None,
        "server_key": server_key,
        "key_file": key_file,
        "logs": LogSettings(echo=False) if quiet else None,
    }
    return work(
        options,
        tuple(modules or ()),
        shell=not no_shell,
        health_port=health_port,
        trace=trace_wire,
        log_level=log_level,
    )
