"""``turnout server``: runs an orchestrator with the API, and a hub if one is configured, as one process."""

from __future__ import annotations

from typing import Annotated

import typer

from turnout.cli.launch import Api, Launch
from turnout.cli.options import Database, Json, LogLevel
from turnout.cli.orchestrate import Hub, Quiet, Targets, TraceWire, run_orchestrator

Host = Annotated[str | None, typer.Option(metavar="ADDRESS", help="Where the API listens; by default 127.0.0.1.")]
Port = Annotated[int | None, typer.Option(metavar="PORT", help="Its port; by default 8470, 0 for any free one.")]
TlsCert = Annotated[str | None, typer.Option("--tls-cert", metavar="FILE", help="The certificate chain (PEM).")]
TlsKey = Annotated[str | None, typer.Option("--tls-key", metavar="FILE", help="The certificate's key (PEM).")]
BehindProxy = Annotated[bool, typer.Option("--behind-proxy", help="A proxy in front of the server ends TLS.")]
RootPath = Annotated[
    str | None,
    typer.Option("--root-path", metavar="PATH", help="The path below which a proxy serves it, as /turnout."),
]
InsecureLocal = Annotated[
    bool, typer.Option("--insecure-local", help="Let every caller on this machine in, without a token.")
]


def server(
    targets: Targets = None,
    host: Host = None,
    port: Port = None,
    hub: Hub = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    behind_proxy: BehindProxy = False,
    root_path: RootPath = None,
    insecure_local: InsecureLocal = False,
    trace_wire: TraceWire = False,
    log_level: LogLevel = None,
    quiet: Quiet = False,
    as_json: Json = False,
    database: Database = None,
) -> int:
    """Drive runs and serve the API, until SIGTERM or Ctrl-C.

    The first start shows an admin token once, or writes it to a file if there is no terminal.

    \b
    turnout server flows.py
    turnout server --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem
    """
    options = {
        "host": host,
        "port": port,
        "tls_certificate": tls_cert,
        "tls_key": tls_key,
        "behind_proxy": behind_proxy or None,
        "root_path": root_path,
        "insecure_local": insecure_local or None,
    }
    return run_orchestrator(
        Launch(
            targets=tuple(targets or ()),
            hub=hub,
            database=database,
            trace_wire=trace_wire,
            log_level=log_level,
            quiet=quiet,
            as_json=as_json,
            api=Api(options=options),
        )
    )
