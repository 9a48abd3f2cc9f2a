"""``turnout enqueue``: stores a run for any orchestrator."""

from __future__ import annotations

from typing import Annotated

import typer

from turnout.cli.options import Json, Key, Parameters, ParametersFile, Priority, Target, Timeout
from turnout.cli.place import HERE, Place, placed


@placed
def enqueue(
    target: Target,
    parameters: Parameters = None,
    file: ParametersFile = None,
    key: Key = None,
    priority: Priority = 0,
    timeout: Timeout = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the run's id only.")] = False,
    as_json: Json = False,
    place: Place = HERE,
) -> int:
    """Store a run for any orchestrator, and print its id.

    Nothing runs in this process. Where its tasks run is decided by the orchestrator that claims it.

    \b
    turnout enqueue shop.orders:fulfil -p customer=Ada -p total=21
    turnout enqueue fulfil --input order.json --key order-7
    """
    from turnout.cli.service import Start, service_at

    start = Start(target, parameters or (), file, key, priority, timeout, waits=False)
    with service_at(place) as service:
        return service.runs.start(start, as_json=as_json, quiet=quiet)
